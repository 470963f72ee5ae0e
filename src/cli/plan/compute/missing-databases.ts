import { secretRejected } from "../../../operator/connection-secret/messages.ts";
import type { TrackedCompute } from "../tracked.ts";
import { linkedEndpoint } from "./linked.ts";

/**
 * Warnings by Compute: the database or the role of its connection Secret is not at the service. One call for each that
 * has an endpoint; what it reveals is dropped. A key that may not read passwords, and a service without the call, are
 * no warning.
 */
export async function missingDatabases(
  tracked: readonly TrackedCompute[],
  signal: AbortSignal,
): Promise<ReadonlyMap<TrackedCompute, string>> {
  const found = await Promise.all(
    tracked.map(async (each): Promise<[TrackedCompute, string][]> => {
      const { object: compute, project, pruned } = each;
      const { connectionSecret: wanted, projectID } = compute.spec;
      if (wanted?.database === undefined || wanted.role === undefined || pruned !== undefined) return [];
      const endpoint = linkedEndpoint(each);
      if (endpoint === undefined) return [];
      const { id, branch_id } = endpoint;
      const query = { database_name: wanted.database, role_name: wanted.role, endpoint_id: id, pooled: "false" };
      const answer = await project.client.connectionURI(projectID, query, signal);
      if (answer.kind !== "notFound" || !/database|role/i.test(answer.message)) return [];
      return [[each, secretRejected.notFound(wanted, branch_id, answer.message)]];
    }),
  );
  return new Map(found.flat());
}
