import type { ListedBranch } from "../../../api/branch.ts";
import { backingOff } from "../../life/back-off.ts";
import { generationOf } from "../../objects/object.ts";
import { branchNameOf } from "../../resources/branch.ts";
import { noteKeys } from "../../resources/names.ts";
import { soonMs } from "../../runtime/waits.ts";
import { type BranchAction, type CreateBody, identityOf } from "../action.ts";
import type { ReadonlyMemory } from "../memory.ts";
import { isOfFormerBranch, notedUID, type Observation } from "../observation.ts";
import { adoption, creating, taken } from "../words.ts";
import { wantedEnd } from "./expiry.ts";

/** Nothing is linked: adopts what the spec names, or creates. The name is the identity until then. */
export function linkOrCreate(o: Observation, memory: ReadonlyMemory): BranchAction {
  const { object, listing } = o;
  const { adopt } = object.spec;
  if (adopt !== undefined && "branchID" in adopt) return adopted(o, listing.byID(adopt.branchID), adopt.branchID);
  const name = branchNameOf(object);
  const [named] = listing.named(name);
  if (adopt !== undefined && "byName" in adopt) return adopted(o, named, `"${name}"`);
  if (named !== undefined) return former(o, named) ?? occupied(named, name);
  return create(o, memory, name);
}

function adopted(o: Observation, listed: ListedBranch | undefined, what: string): BranchAction {
  if (listed === undefined) {
    return { kind: "show", reason: "AdoptionRefused", message: adoption.notFound(what) };
  }
  if (notedUID(listed) !== undefined) {
    return { kind: "show", reason: "AdoptionRefused", message: adoption.noted(listed.id, makerOf(listed)) };
  }
  return take(o, listed, "adopted");
}

/** Takeover of the branch that a former Branch of this fleet, namespace and name made, unless that one lives. */
function former(o: Observation, listed: ListedBranch): BranchAction | undefined {
  const { object, fleet, lives } = o;
  const { adopt } = object.spec;
  if (adopt === undefined || !("former" in adopt)) return undefined;
  if (fleet === undefined) return { kind: "show", reason: "AdoptionRefused", message: adoption.noFleet };
  if (!isOfFormerBranch(listed, object, fleet) || lives(notedUID(listed) ?? "")) return undefined;
  return take(o, listed, "former");
}

function take({ object, fingerprint }: Observation, listed: ListedBranch, by: "adopted" | "former"): BranchAction {
  const { uid } = object.metadata;
  const message = adoption[by](listed.id);
  return {
    kind: "note",
    news: { branchID: listed.id, proof: { uid, branchID: listed.id, by }, observedThrough: fingerprint },
    event: { type: "Normal", reason: "Adopted", message },
  };
}

function occupied(listed: ListedBranch, name: string): BranchAction {
  const message = taken.listed(name, listed.id, makerOf(listed), listed.expires_at);
  return { kind: "show", reason: "BranchExists", message, news: { takenUntil: listed.expires_at } };
}

function makerOf({ note }: ListedBranch): string {
  const { [noteKeys.uid]: uid, [noteKeys.object]: place } = note ?? {};
  if (typeof uid === "string" && typeof place === "string") return taken.byFormer(place, uid);
  return note === undefined ? taken.byNobody : taken.byOther;
}

function create(o: Observation, memory: ReadonlyMemory, name: string): BranchAction {
  const { object, serviceNow } = o;
  const wanted = wantedEnd(object, serviceNow);
  if (wanted.kind === "past") return { kind: "show", reason: "Expired", message: creating.expired(wanted.at) };
  const held = heldByName(o, memory, name);
  if (held !== undefined) return held;
  const parent = parentOf(o);
  if (parent.kind === "missing") {
    const message = creating.parentNotFound(parent.named, object.spec.projectID);
    return { kind: "show", reason: "BranchNotFound", message };
  }
  const { at, lsn, schemaOnly } = object.spec.parent ?? {};
  const body: CreateBody = {
    name,
    parent_id: parent.id,
    parent_timestamp: at,
    parent_lsn: lsn,
    ...(schemaOnly === true ? { init_source: "schema-only" } : {}),
    protected: object.spec.protected,
    expires_at: wanted.end.at,
  };
  return { kind: "write", write: { op: "create", name, body, end: wanted.end } };
}

/** The service said that the name is taken: a list that began ten seconds later may show who has it. */
function heldByName({ object, now, listing, fingerprint }: Observation, { failed }: ReadonlyMemory, name: string) {
  if (failed?.reason !== "BranchExists") return undefined;
  const write = identityOf({ op: "create", name }, generationOf(object));
  const isLooking = failed.failures === 0 && listing.startedAt < failed.until;
  const held = backingOff(failed, write, fingerprint, isLooking ? listing.startedAt : now);
  if (held === undefined) return undefined;
  return isLooking
    ? ({ kind: "show", reason: "Creating", message: taken.looking(name), afterMs: soonMs } as const)
    : ({ kind: "show", reason: held.reason, message: held.message, afterMs: held.until - now } as const);
}

/** `id` is undefined for the project's default branch, which the service takes where none is named. */
export function parentOf({ object, listing }: Pick<Observation, "object" | "listing">) {
  const { branchID, branchName } = object.spec.parent ?? {};
  if (branchID !== undefined) {
    return listing.byID(branchID) === undefined
      ? ({ kind: "missing", named: branchID } as const)
      : ({ kind: "found", id: branchID } as const);
  }
  if (branchName === undefined) return { kind: "found", id: undefined } as const;
  const [named] = listing.named(branchName);
  return named === undefined
    ? ({ kind: "missing", named: `"${branchName}"` } as const)
    : ({ kind: "found", id: named.id } as const);
}
