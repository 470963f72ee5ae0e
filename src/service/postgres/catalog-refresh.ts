import type { Fleet } from "./fleet.ts";

const branchCall = /^\/api\/v2\/projects\/[^/]+\/branches\/([^/]+)\/(?:databases|roles|schema|compare_schema)\b/;
const projectCall = /^\/api\/v2\/projects\/([^/]+)\/connection_uri$/;

/** Lets a call that shows or needs roles and databases of branches find them as clients have changed them with SQL. */
export async function refreshBefore(path: string, fleet: Fleet): Promise<void> {
  const branchId = branchCall.exec(path)?.[1];
  const projectId = projectCall.exec(path)?.[1];
  const meant = fleet
    .running()
    .filter(({ endpoint }) => endpoint.branchId === branchId || endpoint.projectId === projectId)
    .map(({ endpoint }) => endpoint.branchId);
  await Promise.all([...new Set(meant)].map((one) => fleet.refresh(one)));
}
