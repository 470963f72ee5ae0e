import { branchIDOf, type Compute } from "../resources/compute.ts";
import { millisecondsOf } from "../resources/duration.ts";
import type { Secret } from "../resources/secret.ts";
import type { RolePassword } from "../service-client/role-password.ts";
import { handledKey, originIn, rotatedAtKey, sentKey } from "./kept-secret.ts";

// A connection Secret records its own rotation, in the write that brings the password. So a death at any instant, a
// wiped status and a restored Compute leave a Secret whose record is about the password in it.
//
//   two roles | the reset changes the role that the Secret does not hold: until the Secret is written nobody uses that
//             | role, so a lost reply or a death only has it reset once more
//   one role  | the reset changes the password in use: after a death or a lost reply the password is read first. Where
//             | the service shows none, the Secret says beforehand that a reset is sent: then it is sent again at once

type Wanted = NonNullable<Compute["spec"]["connectionSecret"]>;

/** The record of a rotation, as a connection Secret holds it. */
export interface PasswordRecord {
  /** The role whose password the Secret holds. */
  role: string;
  /** Milliseconds since the epoch; `undefined`: not recorded yet, which counts as now. */
  rotatedAt: number | undefined;
  /** The value of `passwordRotationAt` that was last carried out. */
  handled: string | undefined;
  /** A reset was sent whose answer the Secret does not hold: where nothing shows the password, it may be dead. */
  isSent?: boolean;
}

/** A rotation that is due. `request`: the value of `passwordRotationAt` that it answers; `undefined`: of its age. */
export interface DueRotation {
  role: string;
  request: string | undefined;
}

/** The roles that a spec names, in its order; empty where it names none. */
export function rolesOf({ role, roles }: Pick<Wanted, "role" | "roles">): readonly string[] {
  return roles ?? (role === undefined ? [] : [role]);
}

/** A reset that the service accepted. */
export interface AnsweredReset extends DueRotation {
  branchID: string;
  password: RolePassword;
  /** Ids of its operations: until they have ended, the old password holds. */
  operations: readonly string[];
}

/** True if a reset is of a role that the Secret is still to hold. */
export function isStillFor(
  { role, branchID }: AnsweredReset,
  wanted: Wanted,
  endpoint: { branch_id: string },
): boolean {
  return branchID === endpoint.branch_id && rolesOf(wanted).includes(role);
}

/** True if another version of a Secret brought another password of its own. */
export function isRotated(before: Secret, after: Secret): boolean {
  const [from, to] = [before, after].map(({ metadata }) => metadata.annotations?.[rotatedAtKey]);
  return from !== undefined && to !== undefined && from !== to;
}

/** Other Computes whose Secrets may hold the password of a role that this one's holds. */
export function sharingRole(rotated: Compute | undefined, all: readonly Compute[]): Compute[] {
  if (rotated === undefined) return [];
  const { projectID, connectionSecret = {} } = rotated.spec;
  const roles = rolesOf(connectionSecret);
  const branchID = branchIDOf(rotated);
  return all.filter(
    (one) =>
      one.metadata.uid !== rotated.metadata.uid &&
      one.spec.projectID === projectID &&
      branchIDOf(one) === branchID &&
      rolesOf(one.spec.connectionSecret ?? {}).some((role) => roles.includes(role)),
  );
}

/** The record in a Secret; `undefined` where the Secret holds no password of a role that the spec names. */
export function recordIn({ metadata }: Pick<Secret, "metadata">, wanted: Wanted): PasswordRecord | undefined {
  const { annotations = {} } = metadata;
  const { role } = originIn(metadata);
  if (role === undefined || !rolesOf(wanted).includes(role)) return undefined;
  const { [rotatedAtKey]: written = "" } = annotations;
  // Years of more digits reach the end of time, beyond which no next rotation can be written.
  const rotatedAt = /^[0-9]{4}-/.test(written) ? Date.parse(written) : Number.NaN;
  return {
    role,
    rotatedAt: Number.isNaN(rotatedAt) ? undefined : rotatedAt,
    handled: annotations[handledKey],
    ...(annotations[sentKey] !== undefined && { isSent: true }),
  };
}

/** The part of a record that a Secret's own annotations hold. */
export type Rotated = Pick<PasswordRecord, "rotatedAt" | "handled">;

/** The annotations of a Secret with this record. */
export function annotationsOf({ rotatedAt, handled }: Rotated): Record<string, string> {
  if (rotatedAt === undefined) return {};
  const time = new Date(rotatedAt).toISOString();
  return { [rotatedAtKey]: time, ...(handled === undefined ? {} : { [handledKey]: handled }) };
}

/** The time at which the password is due by its age; `undefined`: never. */
export function nextRotationAt(
  { rotation }: Wanted,
  { rotatedAt }: Pick<PasswordRecord, "rotatedAt">,
): number | undefined {
  if (rotation === undefined || rotatedAt === undefined) return undefined;
  return rotatedAt + millisecondsOf(rotation.every);
}

/** A rotation that this term carried out: its request, and the service's time in milliseconds since the epoch. */
export interface CarriedOut {
  request: string | undefined;
  at: number;
}

/**
 * The rotation that is due. `requested`: the value of `passwordRotationAt`; `now`: by the service's clock. A request
 * outranks the age, because it waits for no window. `last`: a rotation of this term counts as well as the record, which
 * others may take away or put back each time that it is written.
 */
export function dueRotation(
  wanted: Wanted,
  record: PasswordRecord,
  requested: string | undefined,
  now: number,
  last?: CarriedOut,
): DueRotation | undefined {
  if (record.rotatedAt === undefined) return undefined;
  const role = rolesOf(wanted).find((each) => wanted.roles === undefined || each !== record.role);
  if (role === undefined) return undefined;
  const isHandled = requested === record.handled || requested === last?.request;
  if (requested !== undefined && !isHandled) return { role, request: requested };
  const rotatedAt = Math.max(record.rotatedAt, last?.at ?? 0);
  const dueAt = nextRotationAt(wanted, { rotatedAt }) ?? Number.POSITIVE_INFINITY;
  return now >= dueAt ? { role, request: undefined } : undefined;
}

/** An occasion to write a password into a Secret. `requested`: the value of `passwordRotationAt`. */
export interface Turn {
  /** The service's time, in milliseconds since the epoch. */
  now: number;
  requested: string | undefined;
  /** A reset that has ended. */
  reset?: AnsweredReset | undefined;
  /** The password is read because a reset of the role in use may have taken effect without an answer. */
  reveals?: boolean;
}

/** The record of a Secret with a password that was just read. `isOther`: it is another than the Secret held. */
export function recordAfter(wanted: Wanted, before: PasswordRecord | undefined, isOther: boolean, turn: Turn): Rotated {
  const { now, requested, reset, reveals = false } = turn;
  if (before?.rotatedAt === undefined) return { rotatedAt: now, handled: requested };
  if (reset !== undefined) return { rotatedAt: now, handled: reset.request ?? before.handled };
  if (!isOther) return before;
  // The password that a reset without an answer made is the one that was asked for.
  const due = reveals ? dueRotation(wanted, before, requested, now) : undefined;
  return { rotatedAt: now, handled: due?.request ?? before.handled };
}
