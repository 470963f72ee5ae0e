import type { ListedBranch } from "../../api/branch.ts";
import { type Facts, type Shown, type Stop, stopOf } from "../life/guard.ts";
import { declaresRetain } from "../objects/deletion-policy.ts";
import { isBeingDeleted, olderFirst, placeOf } from "../objects/object.ts";
import { type Branch, branchNameOf } from "../resources/branch.ts";
import { areOfOneService } from "../resources/fingerprint.ts";
import { noteKeys } from "../resources/names.ts";
import { hourlyMs } from "../runtime/waits.ts";
import type { BranchAction, BranchWrite } from "./action.ts";
import type { Observation, Unobserved } from "./observation.ts";
import * as words from "./words.ts";

// The facts that the last guard needs of a Branch: read from its metadata, spec and status, from ids, names and notes
// in the list, and from the Branches that want the same one. `linked`, which the rules use, is not used.

/** The stop of a planned write that lacks proof or claim; `undefined`: the action passes. */
export function guard(action: BranchAction, o: Observation | Unobserved): Stop | undefined {
  if (action.kind !== "write") return undefined;
  const onlyObserves = o.object.spec.managementPolicy === "Observe";
  return stopOf({ ...factsOf(action.write, o), onlyObserves }, isBeingDeleted(o.object));
}

/** The action in place of a stopped write: a condition, or for `Retain` the release that it asks for all the same. */
export function insteadOf({ message }: Stop, { object }: Observation | Unobserved): BranchAction {
  if (!declaresRetain(object)) return { kind: "show", reason: "Conflict", message, afterMs: hourlyMs };
  const { branchID, expiresAt } = object.status;
  const kept = branchID === undefined ? words.released.none : words.released.retained(branchID, expiresAt);
  return { kind: "release", event: "Released", message: kept };
}

function factsOf(write: BranchWrite, o: Observation | Unobserved): Facts {
  const target = write.op === "create" ? write.name : write.id;
  const row = rowOf(write, o.object);
  // A branch that no list shows is nobody's.
  if (o.kind !== "observed") return { write: row, target, shown: "stranger" };
  if (write.op === "create") {
    const shown = write.body.name === branchNameOf(o.object) ? absence(o) : "stranger";
    return { write: row, target, shown, rival: rivalFor(undefined, o) };
  }
  const listed = o.listing.byID(write.id);
  if (listed === undefined) return { write: row, target, shown: "stranger" };
  const shown = shownOf(listed, o);
  const isRetainedDelete = write.op === "delete" && declaresRetain(o.object);
  // A branch is deleted with its object alone.
  const isKept = write.op === "delete" && !isBeingDeleted(o.object);
  return {
    write: row,
    target,
    shown: isKept ? "none" : shown,
    rival: rivalFor(listed, o),
    isRetained: isRetainedDelete,
  };
}

/** Every PATCH but one of what the spec says of `protected` counts as one of the branch's end. */
function rowOf(write: BranchWrite, { spec }: Branch): Facts["write"] {
  switch (write.op) {
    case "create":
      return "branch create";
    case "reset":
      return "branch reset";
    case "delete":
      return "branch delete";
    case "patch": {
      const isDeclared = spec.protected !== undefined && write.body.protected === spec.protected;
      return isDeclared && Object.keys(write.body).length === 1 ? "branch protection" : "branch end";
    }
  }
}

function uidIn({ note }: ListedBranch): string | undefined {
  const uid = note?.[noteKeys.uid];
  return typeof uid === "string" ? uid : undefined;
}

/** The evidence of whose a branch is. A note outranks the status, unless a former object's branch was taken over. */
function shownOf(listed: ListedBranch, { object, lives, fingerprint }: Observation): Shown {
  const { uid } = object.metadata;
  const { proof, observedThrough } = object.status;
  const noted = uidIn(listed);
  if (noted === uid) return "signature";
  if (proof?.uid !== uid || proof.branchID !== listed.id) return linkIn(object) === listed.id ? "none" : "stranger";
  // The same id at another service is another branch.
  const isElsewhere = observedThrough !== undefined && !areOfOneService(observedThrough, fingerprint);
  if (isElsewhere && proof.by !== "adopted") return "none";
  if (proof.by === "former") return noted !== undefined && lives(noted) ? "foreign" : "former";
  if (noted !== undefined) return "foreign";
  return proof.by === "created" || proof.by === "adopted" ? proof.by : "none";
}

/** A create needs that no list shows our note or name, that nothing is linked and nothing is to be adopted. */
function absence({ object, listing }: Observation): Shown {
  const { adopt } = object.spec;
  const name = branchNameOf(object);
  const isThere = [...listing.all].some((one) => one.name === name || uidIn(one) === object.metadata.uid);
  const adopts = adopt !== undefined && !("former" in adopt);
  return isThere || adopts || isBeingDeleted(object) || linkIn(object) !== undefined ? "stranger" : "absent";
}

/** The id of the branch that an object is linked to, unless that is proved gone. */
function linkIn({ status: { branchID, gone } }: Branch): string | undefined {
  return branchID === gone?.branchID ? undefined : branchID;
}

/** Another object whose claim on the branch, or on the name of one that is to be made, is the better one. */
function rivalFor(listed: ListedBranch | undefined, { object, others }: Observation): string | undefined {
  if (listed !== undefined && uidIn(listed) === object.metadata.uid) return undefined;
  const rival = others.find((other) => {
    const wanted = wantedBy(other);
    const isSame =
      listed === undefined
        ? wanted === undefined && branchNameOf(other) === branchNameOf(object)
        : wanted === listed.id;
    return isSame && (rankOf(object) - rankOf(other) || olderFirst(other, object)) < 0;
  });
  return rival && placeOf(rival.metadata);
}

function wantedBy(other: Branch): string | undefined {
  const { adopt } = other.spec;
  return linkIn(other) ?? (adopt !== undefined && "branchID" in adopt ? adopt.branchID : undefined);
}

/** The more, the stronger: a link with a proof, one without, a wish. */
function rankOf(object: Branch): number {
  const id = linkIn(object);
  const { proof } = object.status;
  if (id === undefined) return 0;
  return proof?.uid === object.metadata.uid && proof.branchID === id ? 2 : 1;
}
