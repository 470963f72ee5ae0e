import { mostLagMs } from "../../../api/list-lag.ts";
import type { Difference } from "../../fields/compare.ts";
import { branchIDOf, givenName, resolvedID } from "../../resources/compute.ts";
import { isObserved } from "../../resources/management-policy.ts";
import type { Observation } from "../observe/observation.ts";
import { branchRef, branchName as messages } from "../words/branch.ts";
import { meaningOf, requests } from "../words/failures.ts";
import type { Action, PlanRule } from "./action.ts";

// `spec.branchName` and `spec.branchRef`. What either comes to is recorded in the status first, and counts as
// `spec.branchID` would from then on: each rule of creates, moves and claims treats a name that is followed as an edit.
// It is recorded in a reconcile of its own, so that all of them see the change before anything is sent.

/**
 * Resolves the name: before the endpoint is there, after an edit, and where the name has come to be another branch's
 * and the endpoint may follow. Without a branch to be on, nothing is sent.
 */
export const resolveBranch: PlanRule = (o) => {
  const { compute, named, links } = o;
  const name = givenName(compute.spec);
  if (name === undefined) return undefined;
  if (named === undefined) return { kind: "noop" };
  const before = resolvedID(compute);
  const isKept = before !== undefined && links.link?.endpoint.branch_id === before;
  if (named.kind === "unusable") {
    if (isKept) return undefined;
    const { reason, message } = named;
    const elsewhere = reason === "Expired" ? links.link?.endpoint.branch_id : undefined;
    if (elsewhere === undefined) return { kind: "blocked", reason, message };
    // The endpoint runs on, so nothing is over.
    return { kind: "blocked", reason: "BranchNotReady", message: branchRef.endedElsewhere(name, elsewhere) };
  }
  const [id, ...others] = named.kind === "listed" ? named.ids : [];
  // An endpoint that is on its branch stays there, and other changes are sent: `unfollowed` says what is wrong.
  if (id === undefined || others.length > 0) {
    if (isKept) return undefined;
    // A resolution that was not carried out yet no longer counts, and claims no branch.
    const isOver = before !== undefined && named.kind === "listed";
    return isOver ? { kind: "resolve", branch: undefined } : unresolved(name, o);
  }
  if (id === before) return undefined;
  const follows = compute.spec.driftPolicy !== "Report" && !isObserved(compute);
  if (isKept && (!isBelieved(o) || !follows)) return undefined;
  const moves = isKept ? { moves: messages.followed(name, before, id) } : {};
  return { kind: "resolve", branch: { name, id }, ...moves };
};

/** The Branch that the spec names came to its end, and the endpoint with it. */
export function branchEnd(named: Observation["named"]): Action | undefined {
  if (named?.kind !== "unusable" || named.reason !== "Expired") return undefined;
  return { kind: "blocked", reason: "Expired", message: named.message };
}

/** As `branchEnd`, unless somebody moved the endpoint to another branch. */
export const endedBranch: PlanRule = (o) => {
  const { link } = o.links;
  return link !== undefined && link.endpoint.branch_id !== resolvedID(o.compute) ? undefined : branchEnd(o.named);
};

/** The difference or message that the name leaves where everything else is as declared. */
export function unfollowed(o: Observation): Action | Difference | undefined {
  const { compute, named } = o;
  const name = givenName(compute.spec);
  if (name === undefined || named?.kind !== "listed") return undefined;
  const [id, ...others] = named.ids;
  if (id === resolvedID(compute) && others.length === 0) return undefined;
  // Until lists agree the status stays as it is: what it says may be right.
  if (!isBelieved(o)) return { kind: "noop" };
  if (id === undefined || others.length > 0) return unresolved(name, o);
  return { field: "branchName", ours: `${name} (${id})`, theirs: branchIDOf(compute) };
}

/** True if lists agree on the branch that a name resolves to. */
function isBelieved({ named }: Observation): boolean {
  return named?.kind === "listed" && named.forMs >= mostLagMs;
}

function unresolved(name: string, { compute, named, links }: Observation): Action {
  const { projectID } = compute.spec;
  if (named?.kind === "failed") {
    const { failure } = named;
    const doing = requests.listBranches(projectID);
    // The endpoints of the project were listed just now.
    if (failure.kind === "notFound" || failure.kind === "refused") {
      return { kind: "blocked", reason: "BranchNotFound", message: messages.notListed(doing, failure.message) };
    }
    return { kind: "wait", ...meaningOf(failure, doing) };
  }
  const ids = named?.kind === "listed" ? named.ids : [];
  const kept = links.link?.endpoint.branch_id;
  const message =
    ids.length > 1 ? messages.ambiguous(name, projectID, ids, kept) : messages.notFound(name, projectID, kept);
  return { kind: "blocked", reason: "BranchNotFound", message };
}
