import { isReady } from "../support/is-ready.ts";
import type { JsonObject } from "./api-server/objects.ts";
import { reconcilesOf } from "./calls.ts";
import { edit } from "./large-fleet.ts";
import { ManyProjects } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

export interface FleetSize {
  computes: number;
  projects: number;
  requestBudget: { perMinute: number; burst: number };
}

/** Requests to the service and the API server, and reconciles, within some time. */
export interface Counts {
  /** Accepted writes to the service, and the endpoints that they were for. */
  writes: number;
  endpoints: number;
  /** Milliseconds from the moment of the change to the first and the last of these writes. */
  firstAfterMs: number;
  lastAfterMs: number;
  /** Writes refused with 423. */
  refused: number;
  /** Lists of endpoints and of operations. */
  reads: number;
  /** All requests to the service, in the minute in which most were sent. */
  mostAMinute: number;
  reconciles: number;
  /** Requests to the API server, as `METHOD resource`. */
  written: Readonly<Record<string, number>>;
  /** Computes by the reason of Synced in the end. */
  reasons: Readonly<Record<string, number>>;
}

/** The wall clock of a driven world when it begins. */
const beginsAt = Date.parse("2026-01-01T00:00:00Z");

/** The time at which the fleet is at rest, and that of the change of all: times of day, as the schedules name them. */
const [atRest, changesAt] = ["00:30", "02:00"];

const schedule = [{ name: "office", from: changesAt, to: "12:00", computeUnits: { min: 2, max: 8 } }];
const disruption = { windows: [{ from: changesAt, to: "03:00" }] };
const size = { computeUnits: { min: 1, max: 2 } };
const edited = { computeUnits: { min: 1, max: 4 } };

/** A settled fleet from 00:30 to 01:30, with schedules and windows and without. */
export async function settledHour(fleet: FleetSize, isScheduled: boolean): Promise<Counts> {
  await using scheduled = await ScheduledFleet.settled(fleet, isScheduled ? { schedule, disruption } : {});
  return await scheduled.countsUntil("01:30");
}

/** All Computes of a fleet are edited at once, and later another entry of the schedule of all comes into force. */
export async function boundaryBesideEdits(fleet: FleetSize): Promise<{ edits: Counts; boundary: Counts }> {
  await using scheduled = await ScheduledFleet.settled(fleet, { schedule });
  scheduled.editAll(edited);
  const edits = await scheduled.countsUntil("01:00");
  await scheduled.waitUntil("01:59");
  return { edits, boundary: await scheduled.countsUntil("02:29", changesAt) };
}

/** All Computes of a fleet are edited at once while no window is open, and later one of all opens. */
export async function windowAfterEdits(fleet: FleetSize): Promise<{ closed: Counts; open: Counts }> {
  await using scheduled = await ScheduledFleet.settled(fleet, { disruption });
  scheduled.editAll(edited);
  const closed = await scheduled.countsUntil("01:59");
  return { closed, open: await scheduled.countsUntil("02:29", changesAt) };
}

/** A fleet on a driven clock, at a service that locks a project while an operation runs, and shows its time. */
class ScheduledFleet implements AsyncDisposable {
  readonly #tenants = new Tenants();
  readonly #service: ManyProjects;
  /** Times of requests to the service, on the monotonic clock, which begins at 00:00. */
  readonly #requests: number[] = [];
  readonly #computes: number;

  private constructor({ computes, projects }: FleetSize, spec: JsonObject) {
    const { clock } = this.#tenants;
    this.#computes = computes;
    this.#service = new ManyProjects(clock, { operationMs: 50, answersAfterMs: 5 });
    this.#tenants.behaves("fleet.test", (request) => {
      this.#requests.push(clock.monotonic());
      const outcome = this.#service.behaviour(request);
      const dateMs = Math.floor(clock.now() / 1000) * 1000;
      return outcome === "silence" ? outcome : { ...outcome, answer: { ...outcome.answer, dateMs } };
    });
    this.#tenants.tenant("fleet", "fleet.test", { spec: { requestBudget: { perMinute: 100_000, burst: 1000 } } });
    for (let n = 0; n < computes; n += 1) {
      const where = { projectID: `p-${n % projects}`, branchID: `br-${n}` };
      this.#tenants.declare("fleet", `c-${n}`, { ...size, ...where, ...spec });
    }
  }

  /** The fleet at rest, and from then on with its request budget. */
  static async settled(fleet: FleetSize, spec: JsonObject): Promise<ScheduledFleet> {
    const made = new ScheduledFleet(fleet, spec);
    const tenants = made.#tenants;
    while (!tenants.computes("fleet").every(isReady)) await tenants.clock.advance(10_000);
    edit(tenants, "serviceconnections/default", { requestBudget: fleet.requestBudget });
    await made.waitUntil(atRest);
    return made;
  }

  editAll(spec: JsonObject): void {
    for (let n = 0; n < this.#computes; n += 1) edit(this.#tenants, `computes/c-${n}`, spec);
  }

  async waitUntil(time: string): Promise<void> {
    const { clock } = this.#tenants;
    await clock.advance(monotonicAt(time) - clock.monotonic());
  }

  /** Counts until a time of day; `changesAt`: the moment of the change, by default now. */
  async countsUntil(time: string, moment?: string): Promise<Counts> {
    const [service, tenants] = [this.#service, this.#tenants];
    const since = moment === undefined ? tenants.clock.monotonic() : monotonicAt(moment);
    const before = { writes: service.writes.length, refused: service.refused, reads: this.#reads() };
    const [requests, reconciles] = [this.#requests.length, await this.#reconciles()];
    tenants.written.clear();
    await this.waitUntil(time);
    const writes = service.writes.slice(before.writes);
    return {
      writes: writes.length,
      endpoints: new Set(writes.map(({ endpointID }) => endpointID)).size,
      firstAfterMs: (writes[0]?.at ?? Number.NaN) - since,
      lastAfterMs: (writes.at(-1)?.at ?? Number.NaN) - since,
      refused: service.refused - before.refused,
      reads: this.#reads() - before.reads,
      mostAMinute: mostAMinute(this.#requests.slice(requests)),
      reconciles: (await this.#reconciles()) - reconciles,
      written: Object.fromEntries(tenants.written),
      reasons: this.#reasons(),
    };
  }

  #reads(): number {
    return this.#service.lists + this.#service.polled.length;
  }

  async #reconciles(): Promise<number> {
    return (await reconcilesOf(this.#tenants)) + (await reconcilesOf(this.#tenants, "connection"));
  }

  #reasons(): Record<string, number> {
    const reasons = this.#tenants.computes("fleet").map(({ status }) => {
      return status.conditions?.find(({ type }) => type === "Synced")?.reason ?? "";
    });
    const counted = [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => [reason, length]);
    return Object.fromEntries(counted);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tenants[Symbol.asyncDispose]();
  }
}

function monotonicAt(time: string): number {
  return Date.parse(`2026-01-01T${time}:00Z`) - beginsAt;
}

/** The most of these times, which are in order, that lie within one minute. */
function mostAMinute(times: readonly number[]): number {
  let [most, first] = [0, 0];
  for (const [last, at] of times.entries()) {
    while ((times[first] ?? at) <= at - 60_000) first += 1;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
