import { after } from "../../life/outcome.ts";
import { patched, patchOf, withStatus } from "../../life/patching.ts";
import { timestamp } from "../../objects/conditions-of.ts";
import { generationOf } from "../../objects/object.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import type { Compute, WriteRecord } from "../../resources/compute.ts";
import { clusterConnectionOf } from "../../resources/connection-user.ts";
import { finalizers } from "../../resources/names.ts";
import { hourlyMs } from "../../runtime/waits.ts";
import { hasFinalizer } from "../observe/observation.ts";
import { type Outcome, shown } from "../outcome.ts";
import { identityOf, type WriteAction } from "../plan/action.ts";
import { isSameRecord, nextRecord, noted } from "../record.ts";
import { outdatedCRD } from "../words/conditions.ts";
import { conditionsOf } from "../words/reasons.ts";
import { EndpointAttempt } from "./attempt.ts";
import type { ExecuteContext } from "./context.ts";
import { computePatches, statusCarrying } from "./patch-metadata.ts";

/** The requests that are recorded, and what of the record follows from them. */
type Fields = Omit<WriteRecord, "uid" | "n" | "by" | "since" | "through">;

export interface RecordedWrite extends Fields {
  /** The message of reason Creating, if the status shows that from now on, and the entry of the schedule in force. */
  creating?: { message: string; entry: string };
  /** The request makes or takes over an endpoint: a deletion has to wait for it. */
  holds?: true;
  /** The request disables the endpoint: the status notes that this operator did. */
  disables?: boolean;
}

/**
 * Writes the record, then the finalizer: a request leaves only after answers that show both, so that the next term
 * knows that it may have been sent. Nothing is patched where both stand already, as after a refusal. `undefined`: the
 * API server dropped the record; else the attempt that sends the request.
 */
export async function writeRecord(
  { creating, holds, disables, ...fields }: RecordedWrite,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<EndpointAttempt | undefined> {
  const { client } = access;
  const { compute, cluster, clock, state } = context;
  const { write } = state.known;
  const since = timestamp(clock.now());
  const record = nextRecord(
    compute,
    { write, term: state.term, since },
    { ...fields, through: client.account.baseURL },
  );
  state.changeWrite((before) => noted(record, before));
  let latest = compute;
  const isNoted =
    (disables !== true || compute.status.disabledByUs === true) &&
    (creating === undefined || entryOf(creating, compute) === compute.status.appliedEntry);
  if (!isSameRecord(compute.status.pendingWrite, record) || !isNoted) {
    const status = {
      ...statusCarrying(compute, state),
      pendingWrite: record,
      ...(disables === true ? { disabledByUs: true } : {}),
      ...(creating === undefined ? {} : creatingStatus(creating, context, client.fingerprint)),
    };
    latest = await withStatus(computePatches, cluster, status, compute);
  }
  if (holds === true) {
    const patch = patchOf(latest).addFinalizer(finalizers.endpoint);
    latest = await patched(computePatches, cluster, patch, latest);
    if (!hasFinalizer(latest)) return undefined;
  }
  if (!isSameRecord(latest.status.pendingWrite, record)) return undefined;
  const { operation, endpointID } = record;
  const target = operation === "create" || endpointID === undefined ? {} : { endpointID };
  return new EndpointAttempt({ compute: latest, isRecorded: true, ...target }, context, access);
}

/**
 * The status of a create under way. Whatever it makes has the spec of this generation, also if nothing tells that it
 * did. `fingerprint`: of the base URL and key that will show what is made, so that a later loss is not one seen through
 * others. The connection is in use from now on, whether its namespace keeps the access or not.
 */
function creatingStatus(
  { message, entry }: { message: string; entry: string },
  { compute, clock }: ExecuteContext,
  fingerprint: string,
): Partial<Compute["status"]> {
  const conditions = conditionsOf(compute, "Creating", message, { now: clock.now(), compared: false });
  return {
    conditions,
    appliedGeneration: generationOf(compute),
    appliedEntry: entryOf({ entry }, compute),
    waiting: undefined,
    state: "Creating",
    observedThrough: fingerprint,
    clusterConnection: clusterConnectionOf(compute),
  };
}

/** The entry as a status names it. */
function entryOf({ entry }: { entry: string }, { spec }: Compute): string | undefined {
  return spec.schedule === undefined ? undefined : entry;
}

/** The definition of Compute is older than the operator: nothing is sent, and a person is told. */
export function outdated(action: WriteAction, { compute, state, clock }: ExecuteContext): Outcome {
  const write = identityOf(action, generationOf(compute));
  const failure = { write, reason: "Rejected", message: outdatedCRD, failures: 0 } as const;
  // An API server that drops the record is asked again.
  state.failed(failure, hourlyMs, clock.monotonic());
  const events = [{ type: "Warning", reason: "Rejected", message: outdatedCRD }] as const;
  return shown(compute, "Rejected", outdatedCRD, { requeue: after(hourlyMs), events });
}
