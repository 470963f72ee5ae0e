import { expect, test } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { momentOf } from "../../../../src/operator/compute/observe/moment.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { isStillAllowed } from "../../../../src/operator/compute/plan/still-allowed.ts";
import { type ComputeFields, compute, input, madeBy, now } from "../../../support/builders.ts";

const sunday = Date.parse("2026-11-29T04:59:57Z");
const disruption = { windows: [{ days: ["Sun"], from: "02:00", to: "05:00" }] };
const running = { branch_id: "br-main", autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 };
const size = { computeUnits: { min: 1, max: 4 } };
const idle = { current_state: "idle" };

interface Facts {
  fields?: ComputeFields;
  seen?: Partial<Endpoint>;
  /** By the service's clock. */
  at?: number;
  /** Time from the plan to the request, in milliseconds. */
  laterMs: number;
}

/** The answer right before the request of an edit, which was planned on a list of two seconds before. */
function allowed({ fields = { spec: size }, seen = {}, at = sunday, laterMs }: Facts): boolean {
  const self = compute({
    linked: "ep-one",
    shows: "Active",
    generation: 2,
    ...fields,
    spec: { disruption, ...fields.spec },
    status: { appliedGeneration: 1, ...fields.status },
  });
  const list = { startedAt: now - 2000 };
  const [o, s] = input({ compute: self, endpoints: [madeBy(self, { ...running, ...seen })], list });
  const planned = { ...o, moment: momentOf(self, undefined, at) };
  const action = plan(planned, s);
  expect(action.kind).toBe("patch");
  const serviceNow = at + laterMs;
  const moment = momentOf(self, undefined, serviceNow);
  return isStillAllowed(action, planned, s, { now: now + laterMs, serviceNow, moment });
}

test("a change that cuts connections is not sent any more once its window has closed", () => {
  expect(allowed({ laterMs: 0 })).toBe(true);
  expect(allowed({ laterMs: 4000 })).toBe(false);
});

test("a change for a suspended compute is not sent any more once the list is older than five seconds", () => {
  const noon = Date.parse("2026-11-25T12:00:00Z");
  expect(allowed({ seen: idle, at: noon, laterMs: 3000 })).toBe(true);
  expect(allowed({ seen: idle, at: noon, laterMs: 3001 })).toBe(false);
});

test("a change that cuts no connection, and one of a Compute without windows, is sent however late", () => {
  expect(allowed({ fields: { spec: { passwordlessAccess: false } }, laterMs: 4000 })).toBe(true);
  expect(allowed({ fields: { spec: { ...size, disruption: { anyTime: true } } }, laterMs: 4000 })).toBe(true);
});
