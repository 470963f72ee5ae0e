import type { Endpoint } from "../../api/endpoint.ts";
import type { Operation } from "../../api/operation.ts";
import type { Difference } from "../fields/compare.ts";
import type { Outcome as KindOutcome } from "../life/outcome.ts";
import type { Compute, ResolvedBranch, WaitingChange } from "../resources/compute.ts";
import type { Reason } from "./words/reasons.ts";

/** Effect of this reconcile at the service, or its finding there. */
export type Effect =
  | { kind: "none" }
  /** The linked endpoint is another Compute's. */
  | { kind: "ownedByOther" }
  /** The endpoint that the Compute had is proved gone. */
  | { kind: "gone"; endpointID: string }
  /**
   * The endpoint is as the spec says, but for drift that is only reported and changes that wait for a window.
   * `operations`: of what was held back.
   */
  | {
      kind: "settled";
      drift: readonly Difference[];
      waiting?: readonly WaitingChange[];
      /** Another entry of the schedule came into force, and its change waits. */
      keepsEntry?: true;
      operations?: readonly Operation[];
    }
  /**
   * A create or change for this generation was accepted; `endpoint`: as the answer shows it, newer than any list;
   * `drift`: what is reported from now on, where it left that out.
   */
  | {
      kind: "accepted";
      generation: number;
      /** The entry of the schedule that it brought the service to; empty: none. */
      entry: string;
      endpoint: Endpoint | undefined;
      operations: readonly Operation[];
      drift?: readonly Difference[] | undefined;
      waiting?: readonly WaitingChange[];
    }
  /** A reset of a password was accepted. */
  | { kind: "reset"; operations: readonly Operation[] }
  /** The branch that the name in the spec resolves to. */
  | { kind: "resolved"; branch: ResolvedBranch | undefined }
  /** The restart that this value of `restartedAt` asks for is carried out. */
  | { kind: "restarted"; value: string; operations: readonly Operation[] };

/** The result of a reconcile: status, events and the next reconcile follow from it. */
export interface Outcome extends KindOutcome<Reason> {
  /** As it is after the reconcile's patches. */
  compute: Compute;
  effect: Effect;
}

type Rest = Partial<Pick<Outcome, "requeue" | "effect" | "events">>;

const nothingElse = { requeue: { kind: "byReason" }, effect: { kind: "none" }, events: [] } as const;

export function unchanged(compute: Compute, rest: Rest = {}): Outcome {
  return { compute, condition: { kind: "unchanged" }, ...nothingElse, ...rest };
}

export function shown(compute: Compute, reason: Reason, message: string, rest: Rest = {}): Outcome {
  return { compute, condition: { kind: "shown", reason, message }, ...nothingElse, ...rest };
}

/** Operations in the answers to this reconcile's requests. */
export function operationsIn({ effect }: Outcome): readonly Operation[] {
  return ("operations" in effect ? effect.operations : undefined) ?? [];
}
