import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { conditionOf, linkedID, specOf, statusOf } from "./computes.ts";
import type { ServiceWrite } from "./records.ts";
import type { Services } from "./services.ts";

/** Between the plan of a write and its way to the service pass so many milliseconds at most. */
const onTheWayMs = 15_000;
/** Operators know the service's clock by whole seconds. */
const clockMs = 2000;
/** A list that shows a compute idle is five seconds old at most, and lags by ten. */
const idleSeenMs = 15_000 + onTheWayMs;
/** What an earlier process sent shows in lists after so long. */
const shownMs = 10_000 + onTheWayMs;

/**
 * Connections are cut in windows alone, unless the compute may be seen idle or another entry of the schedule is in
 * force; and in a pool by as many members at a time as may be unavailable. *Now* is the service's, and the calendar is
 * not the operator's: all times are in UTC.
 */
export class TimeGuard {
  readonly #services: Services;
  readonly #report: (promise: string, message: string) => void;
  readonly #cuts: ServiceWrite[] = [];

  constructor(services: Services, report: (promise: string, message: string) => void) {
    this.#services = services;
    this.#report = report;
  }

  /** A write leaves for an endpoint that is one of these Computes'. */
  sent(write: ServiceWrite, claimants: readonly KubeObject[]): void {
    if (!cutsConnections(write) || claimants.length === 0) return;
    const { wall } = this.#services.at(write.service);
    if (write.kind === "patch" && !this.#mayBeSeenIdle(write, wall) && claimants.every((one) => isHeld(one, wall))) {
      const names = claimants.map(({ metadata }) => metadata.name).join(" and ");
      this.#report("cut in windows", `${JSON.stringify(write.body)} was sent for ${names} while no window is open`);
    }
    this.#checkTurn(write, claimants);
    this.#cuts.push(write);
  }

  #mayBeSeenIdle(write: ServiceWrite, wall: number): boolean {
    return this.#mayCutNothing(write) || (write.target?.startedAt ?? 0) > wall - idleSeenMs;
  }

  /** True if the compute serves no connections: a change of it waits for nobody. */
  #mayCutNothing({ target }: ServiceWrite): boolean {
    return (
      target === undefined || target.disabled || target.currentState !== "active" || target.pendingState !== undefined
    );
  }

  #checkTurn(write: ServiceWrite, claimants: readonly KubeObject[]): void {
    const member = write.computes.find((one) => claimants.some(({ metadata }) => metadata.uid === one.metadata.uid));
    const pool = member && poolOf(member);
    if (member === undefined || pool === undefined || isBroken(member) || this.#mayCutNothing(write)) return;
    const siblings = write.computes.filter((one) => one !== member && poolOf(one) === pool);
    const changing = siblings.filter((one) => this.#isChanging(linkedID(one), write));
    if (changing.length === 0) return;
    const others = changing.map(({ metadata }) => metadata.name).join(" and ");
    this.#report("one after another", `${member.metadata.name} was changed together with ${others}`);
  }

  /** True if a write of the same process may be under way, or the service still carries one out. */
  #isChanging(endpointID: string | undefined, { process, service, sentAt }: ServiceWrite): boolean {
    return this.#cuts.some((cut) => {
      if (cut.endpointID !== endpointID || cut.service !== service) return false;
      const isOwn = cut.process === process;
      if (isOwn && cut.endedAt === undefined) return true;
      if (cut.carriedOut?.status !== 200) return false;
      // One that lands late, or that another process sent just now, nobody can see.
      if (!isOwn && sentAt - cut.carriedOut.at < shownMs) return false;
      if (isOwn && cut.endedAt !== undefined && cut.carriedOut.at > cut.endedAt) return false;
      return this.#services.at(service).endpoint(endpointID ?? "")?.pendingState !== undefined;
    });
  }
}

/** True if a write changes something that restarts a compute. */
function cutsConnections({ kind, body, target }: ServiceWrite): boolean {
  if (kind === "restart") return true;
  const sent = isJsonObject(body) ? body["endpoint"] : undefined;
  if (kind !== "patch" || !isJsonObject(sent) || target === undefined) return false;
  const settings = isJsonObject(sent["settings"]) ? sent["settings"]["pg_settings"] : undefined;
  const differs = (name: string, stands: unknown) => sent[name] !== undefined && sent[name] !== stands;
  return (
    differs("autoscaling_limit_min_cu", target.minCu) ||
    differs("autoscaling_limit_max_cu", target.maxCu) ||
    differs("branch_id", target.branchId) ||
    (isJsonObject(settings) &&
      Object.entries(settings).some(([name, value]) => target.settings.pg_settings[name] !== value))
  );
}

/** True if the Compute's windows are closed, and the entry in force is the one that the service was brought to. */
function isHeld(compute: KubeObject, wall: number): boolean {
  const { disruption, schedule } = specOf(compute);
  const windows = isJsonObject(disruption) ? disruption["windows"] : undefined;
  if (!Array.isArray(windows)) return false;
  const moments = [-onTheWayMs, -onTheWayMs / 2, -clockMs, 0, clockMs].map((ms) => wall + ms);
  if (moments.some((at) => windows.some((window) => holds(window, at)))) return false;
  const entries = Array.isArray(schedule) ? schedule : [];
  const applied = statusOf(compute)["appliedEntry"] ?? "";
  return moments.every((at) => entryAt(entries, at) === applied);
}

/** The name of the first entry in force; empty: none. */
function entryAt(entries: readonly unknown[], at: number): unknown {
  const entry = entries.find((one) => holds(one, at));
  return isJsonObject(entry) ? entry["name"] : "";
}

/** True while the wall clock lies in a span of one day. */
function holds(span: unknown, at: number): boolean {
  if (!isJsonObject(span)) return false;
  const clock = new Date(at).toISOString().slice(11, 16);
  return clock >= String(span["from"]) && clock < String(span["to"]);
}

function poolOf({ metadata: { ownerReferences = [] } }: KubeObject): string | undefined {
  return ownerReferences.find(({ kind }) => kind === "ComputePool")?.uid;
}

/** True if a member is not ready for more than work in progress: it waits for nobody. */
function isBroken(compute: KubeObject): boolean {
  const ready = conditionOf(compute, "Ready");
  return ready?.status !== "True" && !["Updating", "Restarting", "Starting"].includes(String(ready?.reason));
}
