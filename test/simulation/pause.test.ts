import { describe, expect, test } from "vitest";
import type { ServiceResponse } from "../../src/operator/service-client/transport.ts";
import { isReady } from "../support/is-ready.ts";
import { refusal } from "../support/scripted-service.ts";
import { edit, group } from "./large-fleet.ts";
import { ManyProjects } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

const hour = 3_600_000;

/** Ten settled Computes, whose service then answers one list like this. */
async function afterOne(answer: ServiceResponse) {
  const tenants = new Tenants();
  const { clock } = tenants;
  const service = new ManyProjects(clock);
  const state = { isDue: false };
  tenants.behaves("fleet.test", (request) => {
    if (!state.isDue || !request.path.endsWith("/endpoints")) return service.behaviour(request);
    state.isDue = false;
    return { afterMs: 20, answer };
  });
  tenants.tenant("fleet", "fleet.test");
  await clock.advance(3000);
  for (let n = 0; n < 10; n += 1) tenants.declare("fleet", `c-${n}`, { projectID: `p-${n}`, branchID: "br" });
  while (!tenants.computes("fleet").every(isReady)) await clock.advance(1000);
  state.isDue = true;
  while (state.isDue) await clock.advance(100);
  await clock.advance(1000);
  const connection = () => tenants.send("GET", `${group}/fleet/serviceconnections/default`).status.conditions[0];
  const compute = (name: string) => tenants.computes("fleet").find(({ metadata }) => metadata.name === name);
  return { tenants, clock, service, connection, compute };
}

describe("one 503 with a Retry-After of an hour", () => {
  test("a proxy's 503 pauses nothing, and is no more than a failed request", async () => {
    const { tenants, clock, service, connection } = await afterOne({
      status: 503,
      json: false,
      body: undefined,
      retryAfterMs: hour,
    });
    await using _ = tenants;
    const start = clock.monotonic();
    edit(tenants, "computes/c-3", { computeUnits: { min: 1, max: 2 } });
    await clock.advance(5000);
    expect(service.firstWrite("PATCH", "p-3", start)).toBeDefined();
    expect(connection()).toMatchObject({ status: "True", reason: "Authenticated" });
  });

  test("the service's own 503 pauses all for five minutes, and connection and waiting Computes say so", async () => {
    const { tenants, clock, service, connection, compute } = await afterOne({ ...refusal(503), retryAfterMs: hour });
    await using _ = tenants;
    const start = clock.monotonic();
    edit(tenants, "computes/c-3", { computeUnits: { min: 1, max: 2 } });
    tenants.declare("fleet", "new", { projectID: "p-new", branchID: "br" });
    await clock.advance(10_000);
    expect(connection()).toMatchObject({ status: "False", reason: "Unreachable" });
    expect(connection().message).toContain("asked for a pause");
    for (const name of ["c-3", "new"]) expect(compute(name)?.status.conditions?.[0]?.reason).toBe("RateLimited");
    const requests = tenants.requests.get("fleet.test");
    await clock.advance(270_000);
    expect(tenants.requests.get("fleet.test")).toBe(requests);
    await clock.advance(30_000);
    expect(service.firstWrite("PATCH", "p-3", start)).toBeDefined();
    expect(connection()).toMatchObject({ status: "True", reason: "Authenticated" });
    expect(tenants.computes("fleet").every(isReady)).toBe(true);
  });
});
