import { createApiClient, EndpointType } from "@neondatabase/api-client";

/** What the vendor's GitHub action for a branch of a pull request is given. */
export interface ActionInputs {
  apiKey: string;
  apiHost: string;
  projectId: string;
  branchName: string;
  database: string;
  role: string;
  ssl: string;
}

export interface ActionOutputs {
  branchId: string;
  created: boolean;
  url: string;
  pooledUrl: string;
}

/**
 * The requests of `neondatabase/create-branch-action` 6.1.1, in its order and through the client that it uses, and the
 * addresses as it builds them. The action itself is published in no registry that the tests use.
 */
export async function createBranchAction(inputs: ActionInputs): Promise<ActionOutputs> {
  const { apiKey, apiHost, projectId, branchName, database, role, ssl } = inputs;
  const client = createApiClient({ apiKey, baseURL: apiHost, timeout: 10_000 });
  const { data: found } = await client.listProjectBranches({ projectId, search: branchName, limit: 10_000 });
  const known = found.branches.find(({ name, id }) => name === branchName || id === branchName);
  const branch =
    known ??
    (
      await client.createProjectBranch(projectId, {
        endpoints: [{ type: EndpointType.ReadWrite, suspend_timeout_seconds: 0 }],
        branch: { name: branchName },
        annotation_value: { "github-commit-repo": "acme/shop", "github-commit-ref": "refs/heads/topic" },
      })
    ).data.branch;
  const { data: computes } = await client.listProjectBranchEndpoints(projectId, branch.id);
  const endpoint = computes.endpoints.find(({ type }) => type === EndpointType.ReadWrite);
  if (!endpoint) throw new Error("No read_write endpoint found for branch");
  await client.getProjectBranchDatabase(projectId, branch.id, database);
  await client.getProjectBranchRole(projectId, branch.id, role);
  const { data: secret } = await client.getProjectBranchRolePassword(projectId, branch.id, role);
  const address = (host: string) => {
    const url = new URL(`postgresql://${host}`);
    Object.assign(url, { pathname: database, username: role, password: secret.password });
    url.searchParams.set("sslmode", ssl);
    return url.toString();
  };
  return {
    branchId: branch.id,
    created: known === undefined,
    url: address(endpoint.host),
    pooledUrl: address(endpoint.host.replace(endpoint.id, `${endpoint.id}-pooler`)),
  };
}
