import type { ListedBranch } from "../../../api/branch.ts";
import { nextProof } from "../../life/gone.ts";
import { type Branch, branchNameOf } from "../../resources/branch.ts";
import type { BranchAction, StatusNews } from "../action.ts";
import type { ReadonlyMemory } from "../memory.ts";
import type { Observation } from "../observation.ts";
import { observed as messages } from "../words.ts";

/** `managementPolicy: Observe`: the branch that `spec.adopt` names is shown; nothing of it is this object's. */
export function planObserved({ object, linked, missing, listing }: Observation, memory: ReadonlyMemory): BranchAction {
  if (linked === undefined) {
    // A list that lags may lack what was shown before.
    const step = missing === undefined ? undefined : nextProof(memory.missing, listing.startedAt);
    if (missing !== undefined && step?.kind === "ask") return { kind: "probe", id: missing };
    if (step?.kind === "wait") return { kind: "noop", afterMs: step.forMs };
    const { adopt } = object.spec;
    const named = adopt !== undefined && "branchID" in adopt ? adopt.branchID : `"${branchNameOf(object)}"`;
    return { kind: "show", reason: "AdoptionRefused", message: messages.notFound(named), news: nothing };
  }
  const { listed } = linked;
  const { id, current_state: state = "ready" } = listed;
  const news = { branchID: id };
  if (state !== "ready" && state !== "archived") {
    const reason = state === "init" ? "Creating" : "Updating";
    return { kind: "show", reason, message: messages.busy(state, id), news };
  }
  const message = messages.atRest(differencesOf(object, listed), id);
  return { kind: "show", reason: "Observed", message, news };
}

/** Changes that Manage would make: of protection alone, for an adopted branch keeps its name and its end. */
export function differencesOf({ spec }: Branch, listed: ListedBranch): string[] {
  const { protected: ours } = spec;
  const theirs = listed.protected;
  return ours === undefined || theirs === undefined || ours === theirs
    ? []
    : [`protected (ours ${ours}, theirs ${theirs})`];
}

const nothing = {
  branchID: undefined,
  branchName: undefined,
  parentID: undefined,
  createdAt: undefined,
  expiresAt: undefined,
  currentState: undefined,
  protected: undefined,
  default: undefined,
  children: undefined,
  logicalSize: undefined,
} satisfies StatusNews;
