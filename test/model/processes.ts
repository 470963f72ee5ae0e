import { annotations } from "../../src/operator/resources/names.ts";
import { entryIn, phaseAt, sizeIn, wallIn } from "./calendar.ts";
import { newestVersion, nowMs, textOf, tickMs, trusted, valueOf, versionText } from "./canonical.ts";
import type { Happening, Memory } from "./memory.ts";
import { Servers } from "./servers.ts";
import { bears } from "./service.ts";
import type { Process, World } from "./state.ts";
import { type Kube, ourUID } from "./terms.ts";

/** How processes start, die and see the object, and how time passes for them. */
export class Processes extends Servers {
  protected start(at: number, current: World, from: "now" | "before" | "seen"): World | undefined {
    const process = trusted<Process>(current.processes[at]);
    const terms = termOf(at);
    // What an earlier term wrote is another's from now on.
    if (this.knowsTerm(current, terms)) this.renameTerm(current, terms);
    if (from === "now") Object.assign(process, { seen: current.object, version: newestVersion });
    if (from === "before") Object.assign(process, { seen: current.before, version: newestVersion - 1 });
    process.isRunning = true;
    process.memory = 0;
    if (process.seen !== 0 && isBare(this.content(process.seen)) && this.isBegun(current))
      current.facts.isExcused = true;
    if (!this.selects(at, process.seen)) return current;
    const memory = this.told(0, { kind: "begins", term: terms, seen: versionOf(process) });
    if (memory === undefined) return undefined;
    process.memory = memory;
    return current;
  }

  /** Something was made, or is on its way. */
  protected isBegun(current: World): boolean {
    return current.flying.length > 0 || this.service(current).endpoints.some((endpoint) => bears(endpoint, ourUID));
  }

  protected dies(at: number, current: World): World {
    const process = trusted<Process>(current.processes[at]);
    Object.assign(process, { memory: 0, isRunning: false, seen: 0, version: newestVersion });
    return current;
  }

  protected watch(at: number, current: World): World | undefined {
    const process = trusted<Process>(current.processes[at]);
    const knew = process.memory !== 0;
    Object.assign(process, { seen: current.object, version: newestVersion });
    if (current.object === 0) process.memory = 0;
    if (current.object === 0 || (!knew && !this.selects(at, current.object))) return current;
    const seen = versionOf(process);
    const memory = this.told(
      process.memory,
      knew ? { kind: "changed", to: seen } : { kind: "begins", term: termOf(at), seen, entered: true },
    );
    if (memory === undefined) return undefined;
    process.memory = memory;
    return current;
  }

  protected tick(current: World): World | undefined {
    if (current.flying.some(({ left }) => left === 0)) return undefined;
    // Watches of several shards are at most one instant late.
    const isLate = ({ isRunning, seen, version }: Process) =>
      isRunning && (seen !== current.object || version !== newestVersion);
    if (current.processes.length > 1 && current.processes.some(isLate)) return undefined;
    // A process that stalls longer has lost its lease.
    if (
      current.processes.some(
        ({ memory }) => this.stalledSince(memory) < nowMs - (this.configuration.stallInstants - 1) * tickMs,
      )
    )
      return undefined;
    if (
      current.processes.some(
        ({ memory, seen }, at) => seen !== 0 && !this.selects(at, seen) && this.effectOf(memory) !== undefined,
      )
    )
      return undefined;
    for (const one of current.flying) one.left -= 1;
    current.past = current.past
      .map(({ service, age }) => ({ service, age: age + 1 }))
      .filter(({ age }) => age < this.configuration.lagInstants);
    for (const process of current.processes) process.memory = this.older(process.memory);
    return current;
  }

  protected isOutdated(at: number, current: World, memory: number): boolean {
    const run = this.run(memory);
    const process = trusted<Process>(current.processes[at]);
    if (run === undefined || process.seen === 0) return true;
    const [began, now] = [this.content(run.seen.content), this.content(process.seen)];
    return (
      began.metadata.generation !== now.metadata.generation ||
      now.metadata.annotations?.[annotations.paused] !== undefined
    );
  }

  /** What the condition asks for. */
  protected confirms(current: World): World | undefined {
    if (current.object === 0) return undefined;
    const object = this.object(current);
    const { metadata, status } = object;
    const shows = status.conditions?.find(({ type }) => type === "Ready")?.reason;
    const { through: sent } = (status["pendingWrite"] ?? {}) as { through?: string };
    const connection =
      shows === "CreateUnknown"
        ? sent
        : shows === "MassLoss"
          ? trusted<string | undefined>(status["observedThrough"])
          : undefined;
    // The connection is put back.
    if (connection !== undefined && connection !== "" && connection !== object.spec.connectionRef.name) {
      const spec = { ...object.spec, connectionRef: { name: connection } };
      this.writeObject(
        current,
        this.texts.of(textOf({ ...object, spec, metadata: { ...metadata, generation: metadata.generation + 1 } })),
      );
      return current;
    }
    const [unlinked] = this.service(current).endpoints;
    if (
      shows === "CreateUnknown" &&
      !this.configuration.showsNames &&
      unlinked !== undefined &&
      object.spec.adopt === undefined
    ) {
      const spec = { ...object.spec, adopt: { endpointID: `ep-${unlinked.id}` } };
      this.writeObject(
        current,
        this.texts.of(textOf({ ...object, spec, metadata: { ...metadata, generation: metadata.generation + 1 } })),
      );
      // What was adopted stays when its Compute goes.
      current.facts.isRetained = true;
      return current;
    }
    if (shows !== "MassLoss" || metadata.annotations?.[annotations.confirmLoss] !== undefined) return undefined;
    const noted = { ...metadata.annotations, [annotations.confirmLoss]: "yes" };
    this.writeObject(current, this.texts.of(textOf({ ...object, metadata: { ...metadata, annotations: noted } })));
    return current;
  }

  /** True if the last reconcile found nothing to do, and nothing has come since that asks for another. */
  protected isResting(at: number, current: World): boolean {
    const process = trusted<Process>(current.processes[at]);
    const { rest } = trusted<Memory>(valueOf(this.texts.text(process.memory)));
    if (rest === undefined || rest.content !== process.seen) return false;
    const list = this.texts.of(textOf(this.listOf(current.service, process.seen)));
    return rest.list === list && wallIn(this.configuration, current.phase) < rest.wakesAt;
  }

  /** Notes whether a list shows the size that the spec asks for now: then the service has been brought to its entry. */
  protected notes(current: World, happening: Happening): void {
    if (happening.kind !== "reconciles" || this.configuration.phases.length === 1) return;
    const { list, seen } = happening;
    if (typeof list === "string") return;
    const object = this.content(seen.content);
    const size = sizeIn(this.configuration, current.phase, object);
    const isShown = list.some((one) => one.autoscaling_limit_max_cu === size);
    if (isShown) current.facts.shownEntry = entryIn(this.configuration, current.phase, object);
    else delete current.facts.shownEntry;
  }

  /** The entry in force when this reconcile began, of a world with a clock. */
  protected entryOf(memory: number): string | undefined {
    const run = this.run(memory);
    if (run === undefined || this.configuration.phases.length === 1) return undefined;
    return entryIn(this.configuration, phaseAt(this.configuration, run.serviceNow), this.content(run.seen.content));
  }

  /**
   * A write that is carried out brings the service to the entry of its plan. If that ended meanwhile and no answer
   * comes, nobody can tell.
   */
  protected brings(current: World, memory: number, isAnswered: boolean): World {
    const entry = this.entryOf(memory);
    if (entry === undefined || current.object === 0) return current;
    current.facts.broughtTo = entry;
    if (!isAnswered && entry !== entryIn(this.configuration, current.phase, this.object(current)))
      current.facts.isBlurred = true;
    return current;
  }

  protected knowsTerm(current: World, term: string): boolean {
    return [
      current.object,
      current.before,
      ...current.late.map(({ patch }) => patch),
      ...current.processes.flatMap(({ seen }) => seen),
    ].some((text) => this.texts.text(text).includes(term));
  }

  protected renameTerm(current: World, term: string): void {
    const renamed = (text: number) => this.texts.of(this.texts.text(text).replaceAll(term, "an earlier term"));
    current.object = renamed(current.object);
    current.before = renamed(current.before);
    for (const one of current.late) one.patch = renamed(one.patch);
    for (const process of current.processes) {
      process.seen = renamed(process.seen);
      if (!this.texts.text(process.memory).includes(`"${term}"`)) continue;
      process.memory = renamed(process.memory);
    }
  }
}

/**
 * A manifest that was replaced and whose status was wiped while no process ran cannot be told from a new one: the
 * operator's pages say so.
 */
export function isBare({ metadata, status }: Kube): boolean {
  const { annotations: noted, finalizers: held = [] } = metadata;
  return held.length === 0 && noted?.[annotations.endpointID] === undefined && status.conditions === undefined;
}

export function termOf(at: number): string {
  return `term-${at}`;
}

export function versionOf({ seen, version }: Process): { content: number; version: string } {
  return { content: seen, version: versionText(version) };
}
