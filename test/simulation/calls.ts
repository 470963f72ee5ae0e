import { isReady } from "../support/is-ready.ts";
import type { JsonObject } from "./api-server/objects.ts";
import { edit } from "./large-fleet.ts";
import { ManyProjects, type ManyProjectsOptions } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

/** A fleet that is declared, so many a second, in this many projects. */
export interface Fleet extends ManyProjectsOptions {
  computes: number;
  projects: number;
  aSecond?: number;
  requestBudget?: JsonObject;
}

/** What it took until all were ready. Times in milliseconds from the first declaration. */
export interface Figures {
  /** Requests to the service. */
  writes: number;
  refused: number;
  lists: number;
  polls: number;
  /** Of each Compute: reconciles, patches and events at the API server. */
  reconciles: number;
  /** Of the connection that all use. */
  connectionReconciles: number;
  patches: number;
  events: number;
  lastWriteMs: number;
  /** Lists and polls between the first write and the last. */
  readsMeanwhile: number;
  readyMs: number;
  /** The most lists, and polls, that began within a second in one project. */
  mostListsASecond: number;
  mostPollsASecond: number;
  /** Of each Compute, when the size of all is changed at once afterwards. */
  resized: { writes: number; patches: number; events: number };
}

const mostMs = 30 * 60_000;

/** Declares a fleet on a driven clock and counts what it takes until all are ready and at rest. */
export async function figuresOf({
  computes,
  projects,
  aSecond = 100,
  requestBudget,
  ...service
}: Fleet): Promise<Figures> {
  await using tenants = new Tenants();
  const { clock } = tenants;
  const many = new ManyProjects(clock, service);
  tenants.behaves("fleet.test", many.behaviour);
  const budget = requestBudget ?? { perMinute: 60_000, burst: 1000 };
  tenants.tenant("fleet", "fleet.test", { spec: { requestBudget: budget } });
  await clock.advance(3000);
  tenants.written.clear();
  const [before, ofConnections] = [await reconcilesOf(tenants), await reconcilesOf(tenants, "connection")];
  const start = clock.monotonic();
  for (let n = 0; n < computes; n += 1) {
    tenants.declare("fleet", `c-${n}`, { projectID: `p-${n % projects}`, branchID: `br-${n}` });
    await clock.advance(1000 / aSecond);
  }
  const areReady = () => tenants.computes("fleet").every(isReady);
  while (!areReady() && clock.monotonic() - start < mostMs) await clock.advance(100);
  const readyMs = areReady() ? clock.monotonic() - start : Number.POSITIVE_INFINITY;
  await clock.advance(5000);
  const each = (what: string) => (tenants.written.get(what) ?? 0) / computes;
  const firstWriteAt = many.writes[0]?.at ?? Number.POSITIVE_INFINITY;
  const lastWriteAt = many.writes.at(-1)?.at ?? Number.POSITIVE_INFINITY;
  const figures = {
    writes: many.writes.length,
    refused: many.refused,
    lists: many.listed.length,
    polls: many.polled.length,
    reconciles: ((await reconcilesOf(tenants)) - before) / computes,
    connectionReconciles: (await reconcilesOf(tenants, "connection")) - ofConnections,
    patches: each("PATCH computes"),
    events: each("POST events") + each("PATCH events"),
    lastWriteMs: lastWriteAt - start,
    readsMeanwhile: [...many.listed, ...many.polled].filter(({ at }) => at > firstWriteAt && at <= lastWriteAt).length,
    readyMs,
    mostListsASecond: mostASecond(many.listed),
    mostPollsASecond: mostASecond(many.polled),
  };
  tenants.written.clear();
  for (let n = 0; n < computes; n += 1) edit(tenants, `computes/c-${n}`, { computeUnits: { min: 1, max: 4 } });
  do await clock.advance(5000);
  while (!areReady() && clock.monotonic() - start < mostMs);
  const resized = {
    writes: (many.writes.length - figures.writes) / computes,
    patches: each("PATCH computes"),
    events: each("POST events") + each("PATCH events"),
  };
  return { ...figures, resized };
}

/** Reconciles of a kind so far. */
export async function reconcilesOf(tenants: Tenants, kind = "compute"): Promise<number> {
  const text = await tenants.metrics();
  const lines = text.split("\n").filter((line) => line.startsWith(`compute_operator_reconcile_total{kind="${kind}"`));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

function mostASecond(asked: readonly { at: number; projectID: string }[]): number {
  const counts = [...Map.groupBy(asked, ({ projectID }) => projectID).values()].flatMap((all) =>
    all.map(({ at }) => all.filter((other) => other.at >= at && other.at < at + 1000).length),
  );
  return Math.max(0, ...counts);
}
