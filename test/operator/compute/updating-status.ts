import type { Endpoint } from "../../../src/api/endpoint.ts";
import type { Observed } from "../../../src/operator/compute/observe/observation.ts";
import type { Effect, Outcome } from "../../../src/operator/compute/outcome.ts";
import { updateStatus } from "../../../src/operator/compute/update-status.ts";
import { madeBy, observedBy, operation } from "../../support/builders.ts";
import { Acting, linked } from "./execute/executing.ts";

export const unbound = { secret: undefined, unchecked: false };
const condition = (type: string, reason: string) => ({
  type,
  status: "True",
  reason,
  message: "as before",
  lastTransitionTime: "2026-01-01T00:00:00Z",
  observedGeneration: 1,
});

export function accepted(generation: number, seen?: Endpoint): Effect {
  return { kind: "accepted", entry: "", generation, endpoint: seen, operations: [operation()] };
}

/** A Compute that shows this reason, and its status after an outcome. */
export function setUp(reason?: string, fields: Parameters<Acting["stored"]>[0] = {}) {
  const acting = new Acting();
  const conditions = reason === undefined ? {} : { conditions: [condition("Ready", reason)] };
  const self = acting.stored({
    metadata: linked,
    ...fields,
    status: { endpointID: "ep-one", appliedGeneration: 1, ...conditions, ...fields.status },
  });
  const reported: string[] = [];
  const tools = {
    cluster: acting.tools.cluster,
    clock: acting.tools.clock,
    event: (_: unknown, { type, reason: why }: { type: string; reason: string }) =>
      void reported.push(`${type} ${why}`),
    isStopping: () => false,
  };
  /** Every status is written at once, and every transition is an event. */
  const state = {
    known: acting.tools.state.known,
    announced: () => {},
    hold: () => false,
    overtaken: () => {},
    wrote: () => {},
  };
  const listed = (endpoints = [madeBy(self)]): Observed => observedBy(self, endpoints);
  const report = (outcome: Outcome, observed = listed(), secret: Parameters<typeof updateStatus>[2] = unbound) =>
    updateStatus(outcome, observed, secret, { ...tools, state });
  const synced = () => acting.compute().status.conditions?.find(({ type }) => type === "Synced")?.status;
  return { acting, self, reported, tools, listed, report, synced };
}
