import type { Reached } from "../../http/reached.ts";
import type { Fleet } from "./fleet.ts";

/** The part of the fleet that is asked. */
export interface RefreshingFleet extends Pick<Fleet, "refresh"> {
  running(): readonly { endpoint: { projectId: string; branchId: string } }[];
}

/** Of the API and of the console, where the page of a compute says how to connect. */
const ofBranch =
  /^(?:\/app)?\/projects\/\{project_id\}\/branches\/\{branch_id\}\/(?:(?:databases|roles|schema|compare_schema|query)\b|computes\/\{endpoint_id\}$)/;
const ofProject = "/projects/{project_id}/connection_uri";

/** Lets a call that shows or needs roles and databases of branches find them as clients have changed them with SQL. */
export async function refreshBefore({ path, params }: Reached, fleet: RefreshingFleet): Promise<void> {
  const isOfBranch = ofBranch.test(path);
  if (!isOfBranch && path !== ofProject) return;
  const meant = fleet
    .running()
    .map(({ endpoint }) => endpoint)
    // The caller's right is one in the project of the path; the branch of the path may be another project's.
    .filter(({ projectId }) => projectId === params["project_id"])
    .filter(({ branchId }) => !isOfBranch || branchId === params["branch_id"])
    .map(({ branchId }) => branchId);
  await Promise.all([...new Set(meant)].map((one) => fleet.refresh(one)));
}
