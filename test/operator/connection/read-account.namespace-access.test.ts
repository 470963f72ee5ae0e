import { describe, expect, test } from "vitest";
import { type NamespaceLabels, namespaceAccess } from "../../../src/operator/connection/read-account.ts";
import {
  allowsProject,
  parseClusterServiceConnection,
} from "../../../src/operator/resources/cluster-service-connection.ts";
import { type ComputeFields, compute } from "../../support/builders.ts";
import { connection } from "../../support/connections.ts";

function fleet(namespaceSelector: object, allowedProjects = ["*"]) {
  const spec = {
    baseURL: "https://a.test/api/v2",
    apiKeySecretRef: { name: "key" },
    namespaceSelector,
    allowedProjects,
  };
  const parsed = parseClusterServiceConnection({ metadata: { name: "fleet", uid: "fleet" }, spec });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

const through = { connectionRef: { kind: "ClusterServiceConnection", name: "fleet" } };
const access = (selector: object, labels: ReturnType<NamespaceLabels>, fields: ComputeFields = {}) =>
  namespaceAccess(fleet(selector), compute({ namespace: "shop", spec: through, ...fields }), () => labels);
const selector = { matchLabels: { fleet: "yes" } };

describe("the access of a namespace to a connection", () => {
  test("access is granted by a ServiceConnection, and by {} whatever can be read", () => {
    expect(namespaceAccess(connection(), compute(), () => "unread")).toBe("granted");
    for (const labels of ["unread", "unknown", {}] as const) expect(access({}, labels)).toBe("granted");
  });

  test("access is granted by the labels of a namespace, and refused with what to do", () => {
    expect(access(selector, { fleet: "yes" })).toBe("granted");
    expect(access(selector, { fleet: "no" })).toMatchObject({ refused: expect.stringContaining('namespace "shop"') });
    expect(access(selector, "unread")).toMatchObject({ refused: expect.stringContaining("may not read namespaces") });
  });

  test("access is unknown while the namespace is, also where a selector would match no labels at all", () => {
    expect(access({ matchExpressions: [{ key: "fleet", operator: "DoesNotExist" }] }, "unknown")).toBe("unknown");
    expect(access(selector, "unknown", { deleting: true })).toBe("unknown");
  });

  test("outlives the namespace for what a Compute left that was linked through the connection", () => {
    const linked = { status: { clusterConnection: "fleet" } };
    expect(access(selector, "unknown", { ...linked, deleting: true })).toBe("granted");
    expect(access(selector, "unknown", linked)).toBe("unknown");
    expect(access(selector, "unknown", { status: { clusterConnection: "other" }, deleting: true })).toBe("unknown");
  });
});

describe("allowedProjects", () => {
  test.each([
    [["shop"], "shop", true],
    [["shop"], "billing", false],
    [[], "shop", false],
    [["*"], "shop", true],
    [["billing", "*"], "shop", true],
  ])("%j of a ClusterServiceConnection allows %s: %s", (allowed, project, expected) => {
    expect(allowsProject(fleet({}, allowed), project)).toBe(expected);
  });

  test("a ServiceConnection allows all projects where allowedProjects is left out", () => {
    expect(allowsProject(connection(), "shop")).toBe(true);
    expect(allowsProject(connection({ spec: { allowedProjects: ["shop"] } }), "billing")).toBe(false);
  });
});
