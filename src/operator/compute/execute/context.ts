import type { ConnectionSecrets } from "../../connection-secret/connection-secret.ts";
import type { CrdDeletion } from "../../connection-secret/removal.ts";
import type { Patcher } from "../../life/patching.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Annotations } from "../observe/annotations.ts";
import type { ReconcileState } from "../reconcile-state.ts";

/** All that carrying out an action needs, in the operator and in `apply` alike. */
export interface ExecuteContext {
  /** As the action was planned from. */
  compute: Compute;
  annotations: Annotations;
  cluster: Patcher<Compute>;
  clock: Clock;
  /** The newest stored version of the Compute; `undefined`: it is not known. */
  stored: () => Compute | undefined;
  /** False if a member of a pool is to wait for its siblings before a write that cuts connections. */
  hasTurn?: (() => boolean) | undefined;
  /** False right before a request if the write would wait for a window by now. */
  isStillAllowed?: (() => boolean) | undefined;
  /** Records each write, so that the next plan knows how new a list must be. */
  state: ReconcileState;
  signal: AbortSignal;
  /** The connection Secrets, for a rotation of the password in one. */
  secrets: Pick<ConnectionSecrets, "recordedNow" | "noteReset" | "readSoon" | "remove">;
  uninstalling: CrdDeletion;
  /** `undefined` while the connection is not open. */
  access: ServiceAccess | undefined;
}

/**
 * The version to patch after a request, during which somebody may have written: the newest stored one, or `answered`,
 * what our last patch was answered with, where the store has not moved since the plan.
 */
export function newestOf(answered: Compute, { compute, stored }: Pick<ExecuteContext, "compute" | "stored">): Compute {
  const newest = stored();
  if (newest === undefined || newest.metadata.uid !== answered.metadata.uid) return answered;
  return newest.metadata.resourceVersion === compute.metadata.resourceVersion ? answered : newest;
}
