import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const ClusterRole = z.object({
  metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()) }),
  rules: z.array(
    z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});

/** Written by hand: what people with a cluster's own roles may do, as `role: resource verbs`. */
const rights = [
  "view: computes get list watch",
  "view: serviceconnections get list watch",
  "view: computepools get list watch",
  "view: branches get list watch",
  "edit, admin: computes create update patch delete deletecollection",
  "edit, admin: serviceconnections create update patch delete deletecollection",
  "edit, admin: branches create update patch delete deletecollection",
  "edit, admin: computepools create update patch delete deletecollection",
  // `kubectl scale` needs it.
  "edit, admin: computepools/scale get update patch",
];

/** The roles of a text in which all templates of Helm are gone, as such lines. */
function rightsIn(text: string): string[] {
  const roles = parseAllDocuments(text.replaceAll("{{ $name }}", "compute-operator").replaceAll(/^.*\{\{.*$/gm, ""))
    .map((document) => ClusterRole.safeParse(document.toJS()))
    .flatMap(({ data }) => (data !== undefined && /-(view|edit)$/.test(data.metadata.name) ? [data] : []));
  return roles.flatMap(({ metadata, rules }) => {
    const to = Object.entries(metadata.labels).flatMap(
      ([label, value]) =>
        (value === "true" ? /^rbac\.authorization\.k8s\.io\/aggregate-to-(.*)$/.exec(label)?.[1] : undefined) ?? [],
    );
    return rules
      .filter(({ apiGroups }) => apiGroups.join() === "compute-operator.dev")
      .flatMap(({ resources, verbs }) => resources.map((name) => `${to.join(", ")}: ${name} ${verbs.join(" ")}`));
  });
}

describe("people with the roles view, edit and admin of a cluster have these rights to the operator's kinds", () => {
  it.each(["deploy/base/shared/rbac/people.yaml", "deploy/helm/compute-operator/templates/rbac.yaml"])(
    "and no others, by %s",
    (file) => {
      expect(rightsIn(readFileSync(file, "utf8")).toSorted()).toEqual(rights.toSorted());
    },
  );
});
