import { isReady } from "../support/is-ready.ts";
import { group } from "./large-fleet.ts";
import { ManyProjects } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

const spec = { requestBudget: { perMinute: 100_000, burst: 1000 } };

/** Tenants with so many replicas in each of so many projects, all settled. */
export async function settled(sizes: Readonly<Record<string, { projects: number; each: number }>>) {
  const tenants = new Tenants();
  const { clock } = tenants;
  const services = new Map<string, ManyProjects>();
  for (const namespace of Object.keys(sizes)) {
    const service = new ManyProjects(clock);
    services.set(namespace, service);
    tenants.behaves(`${namespace}.test`, service.behaviour);
    tenants.tenant(namespace, `${namespace}.test`, { spec });
  }
  await clock.advance(3000);
  for (const [namespace, { projects, each }] of Object.entries(sizes)) {
    for (let n = 0; n < projects * each; n += 1) {
      tenants.declare(namespace, `c-${n}`, { projectID: `p-${n % projects}`, branchID: "br", type: "read_only" });
    }
  }
  const all = () => Object.keys(sizes).flatMap((namespace) => tenants.computes(namespace));
  while (!all().every(isReady)) await clock.advance(5000);
  await clock.advance(60_000);
  return { tenants, clock, services };
}

export function deleteAll(tenants: Tenants, namespace: string): void {
  for (const { metadata } of tenants.computes(namespace)) {
    tenants.send("DELETE", `${group}/${namespace}/computes/${metadata.name}`);
  }
}

/**
 * What the API server and the service are asked while so many deletions, of twenty in each project, wait for the brake
 * that lets 60 out a minute: in the first minute, and in the two that follow.
 */
export async function requestsWhileHeld(count: number) {
  const { tenants, clock, services } = await settled({ a: { projects: count / 20, each: 20 } });
  await using _ = tenants;
  const asked = (what: string) => tenants.written.get(what) ?? 0;
  const counts = () => ({
    patches: asked("PATCH computes"),
    events: asked("POST events") + asked("PATCH events"),
    crdReads: asked("GET "),
    computeReads: asked("GET computes"),
    sent: services.get("a")?.writes.filter(({ method }) => method === "DELETE").length ?? 0,
  });
  const since = (before: ReturnType<typeof counts>) => {
    const now = counts();
    return {
      patches: now.patches - before.patches,
      events: now.events - before.events,
      crdReads: now.crdReads - before.crdReads,
      computeReads: now.computeReads - before.computeReads,
      sent: now.sent - before.sent,
    };
  };
  const start = counts();
  deleteAll(tenants, "a");
  await clock.advance(59_000);
  const first = since(start);
  const later = counts();
  await clock.advance(121_000);
  return { first, after: since(later) };
}
