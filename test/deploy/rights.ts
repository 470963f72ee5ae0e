import { z } from "zod";
import { type AuditedRequest, installedOperator, requestsBy } from "../control-plane/audit.ts";
import type { Rendered } from "./render.ts";

const role = z.object({
  rules: z.array(
    z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});

/** Roles for users, not for the operator. */
const forPeople = /^compute-operator-(view|edit)$/;

/** Every right that the objects give the operator, e.g. `patch computes/status.compute-operator.dev`. */
export function grantedRights(objects: readonly Rendered[]): Set<string> {
  const roles = objects.filter(({ kind, metadata }) => /^(Cluster)?Role$/.test(kind) && !forPeople.test(metadata.name));
  const rights = roles.flatMap((object) =>
    role
      .parse(object)
      .rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) => verbs.map((verb) => nameOf(verb, resource, group))),
        ),
      ),
  );
  return new Set(rights);
}

export interface UsedRights {
  /** What was asked for and granted. */
  used: Set<string>;
  /** What was asked for and refused for want of a right. */
  refused: Set<string>;
}

/** What the operator asked of the API server. */
export function usedRights(auditLogFile: string): UsedRights {
  const requests = requestsBy(installedOperator, auditLogFile);
  const named = (some: readonly AuditedRequest[]) =>
    new Set(
      some.flatMap(({ verb, objectRef }) => {
        if (objectRef === undefined) return [];
        const { resource, subresource, apiGroup = "" } = objectRef;
        return nameOf(verb, subresource === undefined ? resource : `${resource}/${subresource}`, apiGroup);
      }),
    );
  const isRefused = ({ responseStatus }: AuditedRequest) => responseStatus?.code === 403;
  return {
    used: named(requests.filter((request) => !isRefused(request))),
    refused: named(requests.filter(isRefused)),
  };
}

function nameOf(verb: string, resource: string, group: string): string {
  return `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
}
