import { isOurs, type Observation } from "../../../operator/branch/observation.ts";
import { isSameEnd } from "../../../operator/branch/plan/expiry.ts";
import { timestamp } from "../../../operator/objects/conditions-of.ts";
import { type Branch, expiryInWords } from "../../../operator/resources/branch.ts";
import { millisecondsOf } from "../../../operator/resources/duration.ts";

// A command has no status that says which end was applied last, so it cannot tell an edit of the manifest from what
// somebody decided at the service. Each run has to come to the same end, and none may cut short a branch that somebody
// gave more time:
//
//   the service's end | what follows
//   ------------------+--------------------------------------------
//   as declared       | nothing; a lease is renewed when it is due
//   sooner            | the declared end is sent
//   later, or none    | it is kept, and shown as drifted

/** Ends of one create differ by as much: the request takes time, and the furthest one lies a minute before 30 days. */
const toleranceMs = 61_000;

/** Further ahead no end is sent at once, in milliseconds: it is renewed on the way there. */
const horizonMs = 30 * 24 * 3_600_000;

/** The Branch with the end that counts as applied; `after` counts from the branch's creation, or its last reset. */
export function withAssumedEnd(
  object: Branch,
  { listed, by }: NonNullable<Observation["linked"]>,
  serviceNow: number,
): Branch {
  const { spec, status } = object;
  const { expiry } = spec;
  if (!isOurs(by) || status.appliedExpiry !== undefined) return object;
  const { expires_at: theirs } = listed;
  const applied = (appliedEnd: string | undefined): Branch => ({
    ...object,
    status: { ...status, appliedExpiry: expiryInWords(expiry), appliedEnd },
  });
  if ("never" in expiry) return theirs === undefined ? applied(undefined) : object;
  const begun = Date.parse(listed.last_reset_at ?? listed.created_at ?? "");
  const declared =
    "at" in expiry ? Date.parse(expiry.at) : begun + millisecondsOf("after" in expiry ? expiry.after : expiry.lease);
  if (!Number.isFinite(declared)) return object;
  if (theirs === undefined) return applied(timestamp(declared));
  const end = Date.parse(theirs);
  if ("lease" in expiry) {
    const latest = serviceNow + millisecondsOf(expiry.lease) + toleranceMs;
    return applied(end <= latest ? theirs : timestamp(declared));
  }
  const isAsFarAsCanBe = "at" in expiry && declared > serviceNow + horizonMs && end <= declared;
  if (isAsFarAsCanBe || isSame(end, declared, expiry)) return applied(theirs);
  if (end > declared) return applied(timestamp(declared));
  // An end that is over is never sent: the branch keeps the one that it has.
  if (declared <= serviceNow) return "at" in expiry ? object : applied(theirs);
  return "at" in expiry ? object : { ...object, spec: { ...spec, expiry: { at: timestamp(declared) } } };
}

function isSame(end: number, declared: number, expiry: Branch["spec"]["expiry"]): boolean {
  if ("at" in expiry) return isSameEnd(timestamp(end), timestamp(declared));
  return Math.abs(end - declared) <= toleranceMs;
}
