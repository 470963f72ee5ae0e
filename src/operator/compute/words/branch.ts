// Messages about `spec.branchName`. `kept`: the branch that the endpoint is on.

export const branchName = {
  notFound: (name: string, projectID: string, kept: string | undefined): string =>
    `Project ${projectID} has no branch named ${quoted(name)}, so ${consequence(kept)}. Create or rename the branch, or name another in spec.branchName.`,
  ambiguous: (name: string, projectID: string, ids: readonly string[], kept: string | undefined): string =>
    `Project ${projectID} has more than one branch named ${quoted(name)} (${ids.slice(0, 5).join(", ")}), so ${consequence(kept)}. Rename all but one, or set spec.branchID instead.`,
  notListed: (doing: string, said: string): string =>
    `The service could not ${doing}, which spec.branchName needs: ${said}. Set spec.branchID instead; retried automatically.`,
  followed: (name: string, before: string, id: string): string =>
    `The branch named ${quoted(name)} was ${before} and is ${id} now. The endpoint is moved there because driftPolicy is Correct.`,
};

/** Messages about `spec.branchRef`. */
export const branchRef = {
  absent: (name: string) => `This namespace has no Branch ${quoted(name)}, so nothing is created or moved. Create it.`,
  elsewhere: (name: string) =>
    `Branch ${quoted(name)} has another projectID or connectionRef than this Compute. Give both the same.`,
  deleted: (name: string) =>
    `Branch ${quoted(name)} is being deleted, so nothing is created or moved. Delete this Compute, or name another Branch.`,
  expired: (name: string) =>
    `Expired: Branch ${quoted(name)} came to its end, and so did the endpoint of this Compute. Delete this Compute, or do what the condition of the Branch says to have a fresh one.`,
  endedElsewhere: (name: string, kept: string) =>
    `The branch of Branch ${quoted(name)} came to its end, so the endpoint stays on branch ${kept}. Name another Branch, or do what the condition of this one says to have a fresh one.`,
  ended: (name: string) =>
    `The branch of Branch ${quoted(name)} is gone, so nothing is created or moved. The condition of the Branch says what to do.`,
  notReady: (name: string) =>
    `Branch ${quoted(name)} is not ready, so nothing is created or moved. The condition of the Branch says why.`,
};

export const branchGone = (branchID: string, endpointID: string): string =>
  `Branch ${branchID} no longer exists, and its endpoint ${endpointID} ended with it, so nothing is created. Delete this Compute, or name another branch in its spec.`;

function consequence(kept: string | undefined): string {
  return kept === undefined ? "no endpoint is created" : `the endpoint stays on branch ${kept}`;
}

/** A name may hold anything; quoted, it shows where it ends. */
function quoted(name: string): string {
  return JSON.stringify(name);
}
