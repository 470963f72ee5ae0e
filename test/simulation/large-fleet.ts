import { isReady } from "../support/is-ready.ts";
import type { JsonObject } from "./api-server/objects.ts";
import { ManyProjects } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

export const group = "/apis/compute-operator.dev/v1alpha1/namespaces";

/** What one connection may send where it says nothing. */
export const perMinute = 700;

/** A namespace `fleet` with one Compute in each of so many projects, declared at once. */
export async function declareFleet(count: number, spec: JsonObject = {}) {
  const tenants = new Tenants();
  const service = new ManyProjects(tenants.clock);
  tenants.behaves("fleet.test", service.behaviour);
  tenants.tenant("fleet", "fleet.test", { spec });
  await tenants.clock.advance(3000);
  for (let n = 0; n < count; n += 1) tenants.declare("fleet", `c-${n}`, { projectID: `p-${n}`, branchID: "br" });
  return { tenants, service, clock: tenants.clock };
}

/** A fleet that is settled, with the default request budget. */
export async function settledFleet(count: number) {
  const fleet = await declareFleet(count, { requestBudget: { perMinute: 100_000, burst: 1000 } });
  const { tenants, clock } = fleet;
  while (!tenants.computes("fleet").every(isReady)) await clock.advance(10_000);
  edit(tenants, "serviceconnections/default", { requestBudget: { perMinute, burst: 40 } });
  await clock.advance(300_000);
  return fleet;
}

/** Somebody's edit of a spec. */
export function edit(tenants: Tenants, name: string, spec: JsonObject): void {
  const path = `${group}/fleet/${name}`;
  const object = tenants.send("GET", path);
  const { status } = tenants.server.handle({
    method: "PUT",
    path,
    body: { ...object, spec: { ...object.spec, ...spec } },
  });
  if (status !== 200) throw new Error(`the edit was refused with ${status}`);
}

/** In how many minutes a fleet is created, of at most so many. */
export async function minutesToCreate(count: number, most: number): Promise<number> {
  const { tenants, service, clock } = await declareFleet(count);
  await using _ = tenants;
  const start = clock.monotonic();
  const posts = () => service.writes.filter(({ method }) => method === "POST").length;
  while (posts() < count && clock.monotonic() - start < most * 60_000) await clock.advance(1000);
  return posts() < count ? Number.POSITIVE_INFINITY : (clock.monotonic() - start) / 60_000;
}

/** Within how many seconds an edit and a deletion in a settled fleet are sent, and what the connection then says. */
export async function secondsToSend(count: number) {
  const { tenants, service, clock } = await settledFleet(count);
  await using _ = tenants;
  const start = clock.monotonic();
  edit(tenants, "computes/c-7", { computeUnits: { min: 1, max: 2 } });
  tenants.send("DELETE", `${group}/fleet/computes/c-9`);
  const sent = () => [service.firstWrite("PATCH", "p-7", start), service.firstWrite("DELETE", "p-9", start)];
  while (sent().includes(undefined) && clock.monotonic() - start < 60_000) await clock.advance(100);
  const [patch, deletion] = sent().map((at) => ((at ?? Number.POSITIVE_INFINITY) - start) / 1000);
  const { status } = tenants.send("GET", `${group}/fleet/serviceconnections/default`);
  const metrics = await tenants.metrics();
  const [, seconds] = /refresh_interval_seconds\{connection="fleet\/default"\} (\S+)/.exec(metrics) ?? [];
  return { patch, deletion, message: String(status.conditions[0].message), refreshSeconds: Number(seconds) };
}
