import type { Endpoint } from "../../src/api/endpoint.ts";
import { annotations, finalizers } from "../../src/operator/resources/names.ts";
import { entryIn, mayCutIn, nextIn, sizeIn } from "./calendar.ts";
import { bears, bodyOf, type Service, type Standing, type Write } from "./service.ts";
import type { World } from "./state.ts";
import { type Configuration, type Facts, type Kube, ourUID } from "./terms.ts";

// Written from design.md, section 4, *Time*, and not from the operator's code.

/** A list that began longer ago says nothing of whether a compute is idle, in milliseconds. */
export const freshMs = 5000;

export interface Sent {
  /** The object that the write was planned from. */
  planned: Kube;
  service: Service;
  /** The list that it was planned from, if that is fresh. */
  list: readonly Endpoint[] | undefined;
  /** The phases of the plan, and of the moment at which it leaves. */
  phases: number[];
  facts: Facts;
  configuration: Configuration;
}

/** A write that cuts connections while no window is open, or one for what is only observed. */
export function untimely(write: Write, { planned, service, list, phases, facts, configuration }: Sent) {
  const { method, id } = write;
  if (planned.spec.managementPolicy === "Observe") return `observe: ${method} ${id}`;
  const target = service.endpoints.find((endpoint) => `ep-${endpoint.id}` === id);
  if (method !== "PATCH" || target === undefined || planned.metadata.deletionTimestamp !== undefined) return undefined;
  const body = bodyOf(write);
  const cuts = cutBy(body, target);
  if (cuts.length === 0 || phases.some((phase) => mayCutIn(configuration, phase, planned))) return undefined;
  const shown = list?.find((endpoint) => endpoint.id === id);
  const isIdle = shown?.current_state === "idle" || shown?.disabled === true;
  if (isIdle && shown.pending_state === undefined) return undefined;
  const [entry = "", later = ""] = phases.map((phase) => entryIn(configuration, phase, planned));
  const known = planned.status.appliedEntry ?? "";
  // A list that lags cannot show what was sent before.
  const isOld = list !== undefined && shown?.autoscaling_limit_max_cu !== target.size;
  const isRescheduled =
    facts.isBlurred === true ||
    entry !== (facts.broughtTo ?? "") ||
    later !== (facts.broughtTo ?? "") ||
    (isOld && entry !== known);
  if (!isRescheduled) return `cut outside a window: ${method} ${id} changes ${cuts.join(" and ")}`;
  const { postgresSettings, branchID } = planned.spec;
  const isWhole =
    (body.settings?.pg_settings?.["work_mem"] ?? target.setting) ===
      (postgresSettings?.["work_mem"] ?? target.setting) && (body.branch_id ?? target.branch) === branchID;
  return isWhole ? undefined : `left behind: ${method} ${id} of another entry leaves out what waits`;
}

/** The changes of a body that cut connections. */
function cutBy(body: ReturnType<typeof bodyOf>, target: Standing): string[] {
  const { autoscaling_limit_max_cu: size = target.size, branch_id: branch = target.branch } = body;
  const setting = body.settings?.pg_settings?.["work_mem"] ?? target.setting;
  return [
    ...(size === target.size ? [] : ["the size"]),
    ...(setting === target.setting ? [] : ["a setting"]),
    ...(branch === target.branch ? [] : ["the branch"]),
  ];
}

/** Why all is not well at rest in a world with schedules and windows. */
export function untimelyAtRest(
  world: Pick<World, "phase" | "facts">,
  object: Kube,
  service: Service,
  configuration: Configuration,
): string | undefined {
  const { metadata, spec, status } = object;
  const reason = status.conditions?.find(({ type }) => type === "Ready")?.reason;
  const [endpoint, ...others] = service.endpoints.filter((one) => bears(one, ourUID));
  if (others.length > 0) return "never twice";
  const isObserved = spec.managementPolicy === "Observe";
  if (endpoint === undefined) return isObserved ? undefined : `there is no endpoint (${reason})`;
  if ((metadata.finalizers ?? []).includes(finalizers.endpoint) === isObserved)
    return isObserved ? "the finalizer holds what is only observed" : "the finalizer is missing";
  const differing = differences(world.phase, object, endpoint, configuration);
  if (isObserved) return observed(reason, differing, object);
  const asked = metadata.annotations?.[annotations.restartedAt];
  if (asked !== undefined && status["restartedAt"] !== asked) return `the restart ${asked} is not reported (${reason})`;
  if ((endpoint.disabled === true) !== (spec.disabled === true))
    return `it is ${endpoint.disabled ? "" : "not "}disabled`;
  if (spec.passwordlessAccess !== undefined && endpoint.passwordless !== spec.passwordlessAccess)
    return `what cuts nothing waits (${reason})`;
  return misshown(world, object, configuration) ?? waits(world, object, endpoint, { differing, reason, configuration });
}

/** The fields that cut connections and differ, as the status names them. */
function differences(phase: number, object: Kube, endpoint: Standing, configuration: Configuration): string[] {
  const { spec } = object;
  const size = sizeIn(configuration, phase, object);
  const setting = spec.postgresSettings?.["work_mem"];
  return [
    ...(size === undefined || size === endpoint.size ? [] : ["computeUnits"]),
    ...(setting === undefined || setting === endpoint.setting ? [] : ["postgresSettings"]),
    ...(spec.branchID === endpoint.branch ? [] : ["branchID"]),
  ];
}

function observed(reason: string | undefined, differing: readonly string[], { status }: Kube): string | undefined {
  if (reason !== "Observed") return `what is only observed shows ${reason}`;
  if (status.waiting !== undefined) return "something waits of what is only observed";
  const synced = status.conditions?.find(({ type }) => type === "Synced")?.status;
  return synced === (differing.length === 0 ? "True" : "False") ? undefined : `drift is shown as Synced ${synced}`;
}

/** The schedule that the status shows is that of the wall clock. */
function misshown({ phase }: Pick<World, "phase">, object: Kube, configuration: Configuration): string | undefined {
  const { schedule, appliedEntry } = object.status;
  if (object.spec.schedule === undefined) return undefined;
  const entry = entryIn(configuration, phase, object);
  if (schedule?.active !== entry) return `a boundary is missed: the status shows ${schedule?.active}, not ${entry}`;
  if (appliedEntry !== entry) return `appliedEntry is ${appliedEntry}, not ${entry}`;
  const until = nextIn(configuration, phase, (one) => one.entry !== configuration.phases[phase]?.entry);
  const shown = schedule?.until;
  return until === undefined || (shown !== undefined && Date.parse(shown) === until)
    ? undefined
    : `the entry ends at ${new Date(until).toISOString()}, not at ${shown}`;
}

/** What differs at rest waits for a window, for a reason, and says so. */
function waits(
  { phase, facts }: Pick<World, "phase" | "facts">,
  object: Kube,
  endpoint: Standing,
  {
    differing,
    reason,
    configuration,
  }: { differing: readonly string[]; reason: string | undefined; configuration: Configuration },
): string | undefined {
  const { waiting = [], nextWindow } = object.status;
  if (differing.length === 0) {
    if (waiting.length > 0) return `nothing differs, and ${waiting.map(({ field }) => field).join(", ")} waits`;
    return ["Active", "Idle", "Disabled"].includes(String(reason))
      ? undefined
      : `nothing differs, and it shows ${reason}`;
  }
  const what = `${differing.join(" and ")} of ep-${endpoint.id} (size ${endpoint.size})`;
  if (object.spec.driftPolicy === "Report" && reason === "Drifted") return undefined;
  if (mayCutIn(configuration, phase, object)) return `a window is missed: ${what} is not as the spec says (${reason})`;
  if (endpoint.isIdle || endpoint.disabled) return `nobody is connected, and ${what} waits (${reason})`;
  if (
    facts.isBlurred !== true &&
    differing.includes("computeUnits") &&
    facts.broughtTo !== entryIn(configuration, phase, object)
  )
    return `a boundary is missed: ${what} is not that of the entry (${reason})`;
  if (reason !== "WaitingForWindow") return `${what} waits, and it shows ${reason}`;
  const unnamed = differing.find((field) => !waiting.some((one) => one.field.split(".")[0] === field));
  if (unnamed !== undefined) return `${unnamed} waits, and the status does not say so`;
  const opens = nextIn(configuration, phase, ({ isOpen }) => isOpen);
  return opens === undefined || (nextWindow !== undefined && Date.parse(nextWindow) === opens)
    ? undefined
    : `the next window opens at ${new Date(opens).toISOString()}, not at ${nextWindow}`;
}
