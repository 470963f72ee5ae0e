import type { Endpoint } from "../../api/endpoint.ts";
import type { ConnectionSecrets, Occasion } from "../connection-secret/connection-secret.ts";
import { isElsewhere, placeOfSecret, secretInStatus } from "../connection-secret/place.ts";
import { isStillFor, nextRotationAt } from "../connection-secret/rotation.ts";
import { ClusterError } from "../kube/errors.ts";
import { atOnce } from "../life/outcome.ts";
import { shownReason, timestamp } from "../objects/conditions-of.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { ListerAccess } from "../project/service-access.ts";
import type { Compute, SecretStatus } from "../resources/compute.ts";
import type { Annotations } from "./observe/annotations.ts";
import { allowedFrom, type Moment } from "./observe/moment.ts";
import type { Outcome } from "./outcome.ts";
import type { ReconcileState } from "./reconcile-state.ts";
import { leftSecret } from "./words/events.ts";
import { meaningOf } from "./words/failures.ts";

export interface BindTools {
  secrets: Pick<
    ConnectionSecrets,
    "keep" | "standing" | "ownerless" | "remove" | "recorded" | "recordedNow" | "noteReset" | "readSoon"
  >;
  /** True if the spec is not what the Compute's pool or Branch declares: the owner is about to put it back. */
  awaitsOwner: (compute: Compute) => boolean;
}

type BindAnnotations = Pick<Annotations, "pausedForMs" | "reconcileRequested" | "passwordRotationAt">;
type BindSubject = { annotations: BindAnnotations; moment?: Moment | undefined; serviceNow: number };
type PasswordMemory = Pick<ReconcileState, "known" | "passwordRead">;

/** Result of a reconcile with that of its connection Secret. */
export interface Bound {
  outcome: Outcome;
  /** The connection Secret that goes with the Compute. */
  secret: SecretStatus | undefined;
  /** A Secret stands that could not be checked now, so a requested reconcile is not handled yet. */
  unchecked: boolean;
  /** The API server could not be asked, or has another version of the Secret: the reconcile is to be retried. */
  failed?: { error: unknown };
}

/** The connection Secret of a Compute that has an endpoint; if it cannot be written, the Compute is not ready. */
export async function bind(
  outcome: Outcome,
  endpoint: Endpoint | undefined,
  { annotations, moment, serviceNow }: BindSubject,
  { access, memory }: { access: ListerAccess | undefined; memory: PasswordMemory },
  { secrets, awaitsOwner }: BindTools,
): Promise<Bound> {
  const { pausedForMs, reconcileRequested } = annotations;
  const { compute, condition } = outcome;
  const before = secretInStatus(compute);
  if (condition.kind === "released") {
    const left = secrets.ownerless(compute).map(leftSecret);
    return { outcome: { ...outcome, events: [...outcome.events, ...left] }, secret: before, unchecked: false };
  }
  const isPaused = pausedForMs !== undefined;
  const isKept = isBeingDeleted(compute) || isPaused || awaitsOwner(compute);
  if (endpoint === undefined || access === undefined || isKept) return { outcome, secret: before, unchecked: false };
  const turn = turnOf(compute, endpoint, annotations, { access, memory }, serviceNow);
  if (turn === "resetting") return { outcome, secret: before, unchecked: false };
  const { client, reservation, gate } = access;
  const affordable = () => !gate.isWaiting && reservation.tryTake("read");
  const settled = outcome.effect.kind === "settled";
  const wasRejected = settled && shownReason(compute) === "Rejected";
  const binding = await secrets.keep(compute, endpoint, {
    client,
    affordable,
    wasRejected,
    requested: reconcileRequested,
    turn,
  });
  const standing = standingSecret(compute, secrets, moment);
  const unchecked = standing?.uid !== undefined;
  switch (binding.kind) {
    case "none": {
      const { left = [] } = binding;
      const secret = standing === undefined ? undefined : before;
      return { outcome: { ...outcome, events: [...outcome.events, ...left] }, secret, unchecked: false };
    }
    case "bound": {
      const { event, left = [], isStored } = binding;
      if (isStored !== undefined) memory.passwordRead(isStored, turn);
      const events = [...outcome.events, ...(event === undefined ? [] : [event]), ...left];
      // A rotation that waited for this reading is planned now.
      const requeue = isStored !== undefined && turn?.reveals === true ? atOnce : outcome.requeue;
      return { outcome: { ...outcome, events, requeue }, secret: standing, unchecked: false };
    }
    case "later":
      return { outcome: putOff(outcome), secret: before, unchecked };
    case "unread":
    case "failed": {
      const meaning = binding.kind === "failed" ? binding : meaningOf(binding.failure, binding.doing);
      const failed = {
        ...outcome,
        condition: { kind: "shown", reason: meaning.reason, message: meaning.message },
      } as const;
      const secret = isGone(before, compute, secrets) ? (unchecked ? standing : undefined) : before;
      return { outcome: settled ? failed : outcome, secret, unchecked };
    }
  }
}

/** The Secret that the spec names, with the uid that it has; `undefined`: it names none. */
function standingSecret(
  compute: Compute,
  secrets: BindTools["secrets"],
  moment: Moment | undefined,
): SecretStatus | undefined {
  const place = placeOfSecret(compute);
  if (place === undefined) return undefined;
  return { ...place, uid: secrets.standing(place, compute)?.metadata.uid, ...passwordShown(compute, secrets, moment) };
}

/** The password in the Secret, as the Secret records it: whose it is, since when, and when it is changed by its age. */
function passwordShown(compute: Compute, secrets: BindTools["secrets"], moment: Moment | undefined): SecretStatus {
  const wanted = compute.spec.connectionSecret;
  const record = secrets.recorded(compute);
  if (wanted === undefined || record === undefined) return {};
  const next = nextRotationAt(wanted, record);
  return {
    role: record.role,
    ...(record.rotatedAt === undefined ? {} : { rotatedAt: timestamp(record.rotatedAt) }),
    ...(next === undefined ? {} : { nextRotation: timestamp(allowedFrom(next, moment)) }),
  };
}

/**
 * The rotation of the password in this reconcile; `resetting`: an accepted reset is not over, and its role's old
 * password still holds. A Compute of another type records no password.
 */
function turnOf(
  { spec: { connectionSecret: wanted, type } }: Compute,
  endpoint: Endpoint,
  { passwordRotationAt: requested }: BindAnnotations,
  { access: { lister }, memory }: { access: ListerAccess; memory: PasswordMemory },
  now: number,
): Occasion["turn"] | "resetting" {
  if (wanted?.database === undefined || type !== "read_write") return undefined;
  const { role, rotation } = wanted;
  const { state = "doubted", reset: accepted } = memory.known.password ?? {};
  const reset = accepted && isStillFor(accepted, wanted, endpoint) ? accepted : undefined;
  const { followed } = lister.operations;
  if (reset?.operations.some((id) => followed.inProgress.has(id)) === true) return "resetting";
  // The old password holds: the reading that follows each reset finds it, and the rotation is due again then.
  if (reset?.operations.some((id) => followed.failureOf(id) !== undefined) === true) return { now, requested };
  const mayBeReset = role !== undefined && (rotation !== undefined || requested !== undefined);
  return { now, requested, reset, reveals: state === "doubted" && reset === undefined && mayBeReset };
}

/** One in another namespace counts until the one that takes its place stands: nothing else knows where it is. */
function isGone(before: SecretStatus | undefined, compute: Compute, secrets: BindTools["secrets"]): boolean {
  if (before === undefined) return true;
  const { namespace = "", name = "" } = before;
  return !isElsewhere(before, compute) && secrets.standing({ namespace, name }, compute) === undefined;
}

/** A reconcile whose Secret could not be kept: its own write counts all the same. */
export function unbound(outcome: Outcome, error: unknown): Bound {
  // Without an answer nothing is known of this term either: the reconcile ends.
  if (!(error instanceof ClusterError)) throw error;
  const secret = secretInStatus(outcome.compute);
  return { outcome: putOff(outcome), secret, unchecked: true, failed: { error } };
}

/** A Compute at rest is not shown as ready before its Secret is. */
function putOff(outcome: Outcome): Outcome {
  if (outcome.effect.kind !== "settled") return outcome;
  return { ...outcome, condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } };
}
