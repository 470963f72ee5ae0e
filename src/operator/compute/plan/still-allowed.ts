import { cutsConnections } from "../../fields/compare.ts";
import type { ReadonlyState } from "../memory.ts";
import type { Moment } from "../observe/moment.ts";
import type { Observed } from "../observe/observation.ts";
import type { Action } from "./action.ts";
import { holdsNow } from "./changes.ts";
import { rescheduled } from "./disruption.ts";
import { rotatePassword } from "./rotate.ts";

/** The time right before a request: monotonic, and by the service's clock. */
export interface Later {
  now: number;
  serviceNow: number;
  moment: Moment | undefined;
}

/**
 * False if a write would wait for a window now. Since the plan the API server was asked, which may take seconds: a
 * window has closed, or the list that showed the compute suspended has grown old.
 */
export function isStillAllowed(action: Action, planned: Observed, s: ReadonlyState, later: Later): boolean {
  if (planned.kind !== "observed") return true;
  const { secret } = planned;
  const mayCut = later.moment?.closed === undefined;
  // The Compute has the entry of the plan laid over its spec.
  const { declared } = planned.moment ?? {};
  const moment = later.moment && { ...later.moment, ...(declared && { declared }) };
  const o = { ...planned, ...later, moment, ...(secret === undefined ? {} : { secret: { ...secret, mayCut } }) };
  // Proof is the plan's and the last guard's to ask for.
  if (action.kind === "rotate") return rotatePassword(o, s) !== undefined;
  if (action.kind !== "patch") return true;
  const changes = action.fields.map((field) => ({ field }));
  return !changes.some(cutsConnections) || !holdsNow(changes, rescheduled(o, s), o);
}
