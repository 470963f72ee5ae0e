import { entryIn } from "./calendar.ts";
import { newestVersion, textOf, trusted } from "./canonical.ts";
import type { Model, Step } from "./checker.ts";
import { brokenBy, stuckBy } from "./judge.ts";
import { firstObject, people } from "./people.ts";
import { peopleOfTime } from "./people-of-time.ts";
import { Requests } from "./requests.ts";
import type { Service } from "./service.ts";
import type { Patch, Process, World } from "./state.ts";

/** One Compute, the processes that reconcile it, the API server, the service, and people. */
export class WorldModel extends Requests implements Model {
  first(): string {
    const { shards, endpoints } = this.configuration;
    const object = this.texts.of(textOf(firstObject(this.configuration)));
    const process = (): Process => ({ memory: 0, isRunning: false, seen: 0, version: 0 });
    const service: Service = { endpoints: [...endpoints], made: endpoints.length };
    return this.text({
      object,
      before: 0,
      processes: Array.from({ length: shards }, process),
      service: this.texts.of(textOf(service)),
      past: [],
      flying: [],
      late: [],
      facts: { left: { ...this.configuration.may } },
      phase: 0,
    });
  }

  next(state: string): Step[] {
    if (this.read(state).facts.isExcused) return [];
    const steps: Step[] = [];
    const emit = (name: string, world: World | undefined) => {
      if (world === undefined) return;
      const to = this.text(world);
      if (to !== state) steps.push({ name, to });
    };
    const world = () => this.read(state);
    emit("time passes", this.tick(world()));
    this.lateArrivals(world, emit);
    for (const [at] of world().processes.entries()) this.processSteps(at, world, emit);
    const later = world();
    if (later.phase + 1 < this.configuration.phases.length && this.uses(later, "clock")) {
      later.phase += 1;
      emit(`the clock goes to ${this.configuration.phases[later.phase]?.at}`, later);
    }
    // Nobody does anything with what is gone.
    if (world().object === 0) return steps;
    for (const { name, needs, change } of [...people, ...peopleOfTime]) {
      const current = world();
      if (!this.uses(current, needs)) continue;
      for (const [what, after] of change(
        { object: this.object(current), service: this.service(current), phase: current.phase, facts: current.facts },
        this.configuration,
      )) {
        const copy = this.read(this.text(current));
        if (after.object !== undefined)
          this.writeObject(copy, after.object === "gone" ? 0 : this.texts.of(textOf(after.object)));
        if (after.service !== undefined) this.change(copy, after.service);
        if (after.facts !== undefined) Object.assign(copy.facts, after.facts);
        if (needs === "restart") copy.facts.asked = (copy.facts.asked ?? 0) + 1;
        emit(`${name}${what}`, copy);
      }
    }
    return steps;
  }

  brokenSafety(state: string): string | undefined {
    const world = this.read(state);
    return brokenBy(world, this.service(world), this.flying(world), this.configuration);
  }

  stuck(state: string): string | undefined {
    const world = this.read(state);
    return stuckBy(world, world.object === 0 ? undefined : this.object(world), this.service(world), this.configuration);
  }

  isWrite(name: string): boolean {
    return /POST|PATCH|DELETE|RESTART|patches/.test(name);
  }

  /** Nothing goes wrong any more: what is on its way arrives, watches catch up, lists are fresh. */
  stepWithoutFaults(state: string): Step {
    const current = this.read(state);
    if (current.facts.isExcused) return { name: "not judged further", to: state };
    let step: Step | undefined;
    const emit = (name: string, world: World | undefined) => {
      if (world !== undefined) step ??= { name, to: this.text(world) };
    };
    const world = () => this.read(state);
    const isDone = () => step !== undefined || this.missing.size > 0;
    this.lateArrivals(world, emit);
    for (const [at, process] of current.processes.entries()) {
      if (isDone()) break;
      const isCurrent = process.seen === current.object && process.version === newestVersion;
      if (!process.isRunning) emit(`process ${at} starts`, this.start(at, world(), "now"));
      else if (!isCurrent) emit(`process ${at} sees the object`, this.watch(at, world()));
      else if (process.memory === 0) continue;
      else if (this.effectOf(process.memory) !== undefined) this.send(at, world(), process.memory, "", emit, false);
      else if (this.isResting(at, world())) continue;
      else
        this.reconciles(
          at,
          world,
          (name, after) => {
            if (after !== undefined && this.text(after) !== state) emit(name, after);
          },
          false,
        );
    }
    if (!isDone()) emit("a person does what the condition asks for", this.confirms(world()));
    if (!isDone()) emit("time passes", this.tick(world()));
    return step ?? { name: "", to: state };
  }

  show(state: string): string {
    const current = this.read(state);
    const { metadata, spec, status } =
      current.object === 0 ? { metadata: undefined, spec: undefined, status: undefined } : this.object(current);
    const object =
      metadata === undefined
        ? "gone"
        : [
            metadata.deletionTimestamp === undefined ? "" : "deleting",
            (metadata.finalizers ?? []).length > 0 ? "finalizer" : "no finalizer",
            Object.entries(metadata.annotations ?? {})
              .map(([key, value]) => `${key.split("/")[1]}=${value}`)
              .join(" "),
            `spec ${spec?.branchID}${spec?.disabled === undefined ? "" : ` disabled=${spec.disabled}`}`,
            `status ${JSON.stringify({ ...status, conditions: status?.conditions?.find(({ type }) => type === "Ready")?.reason })}`,
          ].join("; ");
    const { endpoints } = this.service(current);
    const standing = endpoints
      .map(({ id, branch, name, disabled }) => `ep-${id} on ${branch}${disabled ? " disabled" : ""} ${name ?? ""}`)
      .join(", ");
    const processes = current.processes.map((process) => this.shownProcess(process)).join(" | ");
    const flying = this.flying(current)
      .map(({ method, id }) => `${method} ${id}`)
      .join(", ");
    return `[${object}] service: ${standing || "nothing"}; on its way: ${flying || "nothing"}${current.late.length > 0 ? ` and ${current.late.length} patch` : ""}; ${processes}`;
  }

  protected shownProcess({ isRunning, memory, version }: Process): string {
    if (!isRunning) return "no process";
    const effect = this.effectOf(memory);
    const sends = effect?.kind === "write" ? effect.method : effect?.kind;
    if (process.env["DEBUG_MODEL"]) return this.texts.text(memory);
    return `a process${version === newestVersion ? "" : " with an old view"}${sends === undefined ? "" : `, about to ${sends}`}`;
  }

  protected processSteps(at: number, world: () => World, emit: (name: string, world: World | undefined) => void): void {
    const current = world();
    const process = trusted<Process>(current.processes[at]);
    if (!process.isRunning) {
      emit(`process ${at} starts`, this.start(at, world(), "now"));
      const copy = world();
      if (copy.before !== 0 && copy.before !== copy.object && this.uses(copy, "oldStart"))
        emit(`process ${at} starts from an old cache`, this.start(at, copy, "before"));
      return;
    }
    const d = world();
    if (this.uses(d, "death")) emit(`process ${at} dies`, this.dies(at, d));
    const copy = world();
    if (this.uses(copy, "term")) emit(`process ${at} loses the lease and leads again`, this.start(at, copy, "seen"));
    if (process.seen !== current.object || process.version !== newestVersion)
      emit(`process ${at} sees the object`, this.watch(at, world()));
    if (process.memory === 0) return;
    if (this.effectOf(process.memory) !== undefined) this.send(at, world(), process.memory, "", emit, true);
    else this.reconciles(at, world, emit, true);
  }

  protected lateArrivals(world: () => World, emit: (name: string, world: World | undefined) => void): void {
    for (const [index, { write, entry }] of world().flying.entries()) {
      const copy = world();
      copy.flying.splice(index, 1);
      const sent = this.write(write);
      const isDone = this.carryOut(copy, sent).kind === "ok";
      if (isDone && entry !== undefined && copy.object !== 0) {
        copy.facts.broughtTo = entry;
        if (entry !== entryIn(this.configuration, copy.phase, this.object(copy))) copy.facts.isBlurred = true;
      }
      emit(`a late ${sent.method} ${sent.id} arrives`, copy);
      const lost = world();
      lost.flying.splice(index, 1);
      emit(`a late ${sent.method} ${sent.id} never arrives`, lost);
    }
    for (const [index, { patch, version }] of world().late.entries()) {
      const copy = world();
      copy.late.splice(index, 1);
      if (this.apply(copy, trusted<Patch>(JSON.parse(this.texts.text(patch))), version) !== undefined)
        emit("a late patch arrives", copy);
      else emit("a late patch does not fit", copy);
    }
  }
}
