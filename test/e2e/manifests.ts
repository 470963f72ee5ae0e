// The objects that the tests apply, as short as they can be; each call gives what differs.

const apiVersion = "compute-operator.dev/v1alpha1";

/** One project of the service under test, with its branches besides the default one. */
export interface Project {
  id: string;
  branches: readonly string[];
}

/** The default branch of every project: it comes with a primary of its own, which no test touches. */
export const defaultBranch = "br-default";

/** The key that works at the service under test. */
export const goodKey = "org-key";

/** The personal key of an administrator of the organization, who makes and revokes its keys. */
export const administratorsKey = "ana-key";

/** What the service starts with: one organization that has these projects and `goodKey`. */
export function seedOf(projects: readonly Project[]): string {
  return JSON.stringify({
    accounts: [
      {
        id: "acc-ana",
        email: "ana@example.com",
        plan: "scale",
        apiKeys: [{ name: "laptop", key: administratorsKey }],
      },
    ],
    organizations: [
      {
        id: "org-shop",
        name: "Shop",
        plan: "scale",
        members: [{ account: "acc-ana", role: "admin" }],
        apiKeys: [{ name: "ci", key: goodKey }],
      },
    ],
    projects: projects.map(({ id, branches }) => ({
      id,
      name: id,
      owner: "org-shop",
      regionID: "aws-us-east-2",
      pgVersion: 17,
      branches: [
        { id: `${defaultBranch}-${id}`, name: "main", default: true },
        ...branches.map((branch) => ({ id: branch, name: branch })),
      ],
    })),
  });
}

export function compute(name: string, spec: { projectID: string; branchID: string } & Record<string, unknown>): object {
  return { apiVersion, kind: "Compute", metadata: { name }, spec };
}

export function connection(baseURL: string, spec: Record<string, unknown> = {}): object {
  return {
    apiVersion,
    kind: "ServiceConnection",
    metadata: { name: "default" },
    spec: { baseURL, apiKeySecretRef: { name: "service-api-key" }, refreshInterval: "5s", ...spec },
  };
}

/** The Secret that `connection` names. */
export function keySecret(key: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "service-api-key" },
    type: "compute-operator.dev/api-key",
    stringData: { "api-key": key },
  };
}
