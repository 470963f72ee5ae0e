import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { type Outcome, shown } from "../../../../src/operator/compute/outcome.ts";
import type { Seen } from "../../../../src/operator/compute/status/seen.ts";
import { nextStatus } from "../../../../src/operator/compute/status/status.ts";
import type { Compute, ComputeStatus } from "../../../../src/operator/resources/compute.ts";
import { compute, endpoint } from "../../../support/builders.ts";

export const noon = Date.UTC(2026, 0, 1, 12);
export const minute = 60_000;

export function seen(fields: Partial<Seen> = {}, of: Compute = self): Seen {
  const shownEndpoint = "endpoint" in fields ? fields.endpoint : full();
  return {
    absent: shownEndpoint === undefined,
    answers: true,
    compared: true,
    lossOver: shownEndpoint !== undefined,
    proof: "signature",
    sent: undefined,
    record: undefined,
    clearsDisabling: true,
    operations: [],
    annotations: annotationsOf(of, 0),
    fingerprint: "here",
    secret: undefined,
    now: noon,
    ...fields,
    endpoint: shownEndpoint,
  };
}

export function full(fields: Partial<Endpoint> = {}): Endpoint {
  return endpoint({
    host: "ep-one.aws-us-east-2.example.com",
    region_id: "aws-us-east-2",
    autoscaling_limit_min_cu: 0.25,
    autoscaling_limit_max_cu: 2,
    disabled: false,
    last_active: "2026-01-01T11:00:00Z",
    ...fields,
  });
}

export const self = compute({ linked: "ep-one" });
/** A pass that found all as declared. */
export const active = (of: Compute = self) =>
  shown(of, "Active", "The compute is as declared.", { effect: { kind: "settled", drift: [] } });

/** The Compute with the status that a pass leaves it. */
export function after(outcome: Outcome, fields: Partial<Seen> = {}): Compute {
  return { ...outcome.compute, status: statusAfter(outcome, fields) };
}

/** The status that a pass leaves; throws where it stays as it was. */
export function statusAfter(outcome: Outcome, fields: Partial<Seen> = {}): ComputeStatus {
  const status = nextStatus(outcome, seen(fields, outcome.compute));
  if (status === undefined) throw new Error("the status stays as it was");
  return status;
}
