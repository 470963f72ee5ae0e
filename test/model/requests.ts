import { phaseAt, wallIn } from "./calendar.ts";
import { newestVersion, textOf, trusted, valueOf, versionText } from "./canonical.ts";
import { freshMs, untimely } from "./judge-of-time.ts";
import { type Effect, type Happening, type Memory, partsOf, type Reply } from "./memory.ts";
import { Processes, versionOf } from "./processes.ts";
import { splitPatch } from "./servers.ts";
import { shown, type Write } from "./service.ts";
import type { Process, World } from "./state.ts";

/** A reconcile and the requests that it sends, each with all that may come of it. */
export class Requests extends Processes {
  protected reconciles(
    at: number,
    world: () => World,
    emit: (name: string, world: World | undefined) => void,
    faults: boolean,
  ): void {
    const current = world();
    const process = trusted<Process>(current.processes[at]);
    const seen = versionOf(process);
    const lists = new Map<string, Happening>();
    const serviceNow = wallIn(this.configuration, current.phase);
    const fresh = faults ? [current.service, ...current.past.map(({ service }) => service)] : [current.service];
    for (const service of fresh) {
      const list = this.listOf(service, seen.content);
      const isOld = service !== current.service;
      lists.set(`reconciles with ${isOld ? "a list that lags" : "a new list"}`, {
        kind: "reconciles",
        seen,
        list,
        serviceNow,
      });
    }
    if (faults && this.configuration.held && this.texts.text(process.memory).includes('"list":'))
      lists.set("reconciles with the list it has", { kind: "reconciles", seen, list: "held", serviceNow });
    if (faults && this.configuration.listless)
      lists.set("reconciles without a list", { kind: "reconciles", seen, list: "none", serviceNow });
    for (const [name, happening] of lists) {
      const copy = world();
      const memory = this.told(process.memory, happening);
      if (memory === undefined) continue;
      this.notes(copy, happening);
      this.send(at, copy, memory, `process ${at} ${name}`, emit, faults);
    }
  }

  /**
   * What follows once a process has this memory: it sends what its reconcile asks for, with all that may come of it.
   */
  protected send(
    at: number,
    current: World,
    memory: number,
    name: string,
    emit: (name: string, world: World | undefined) => void,
    faults: boolean,
  ): void {
    const state = this.text(current);
    const world = () => this.read(state);
    const effect = this.effectOf(memory);
    if (effect === undefined) {
      const copy = world();
      trusted<Process>(copy.processes[at]).memory = memory;
      return emit(name, copy);
    }
    if (effect.kind === "get") {
      const { endpoints } = this.service(current);
      const endpoint = endpoints.find((one) => one.at === effect.baseURL && `ep-${one.id}` === effect.id);
      const answer =
        endpoint === undefined
          ? ({ kind: "notFound", message: "no such endpoint" } as const)
          : ({ kind: "ok", status: 200, value: shown(endpoint, this.configuration) } as const);
      const told = this.told(memory, { kind: "replied", reply: { kind: "answer", answer } });
      if (told !== undefined)
        this.send(at, current, told, `${name || `process ${at}`}, GET ${effect.id}: ${answer.kind}`, emit, faults);
      return;
    }
    const what = `${name === "" ? `process ${at}` : name}${name === "" ? "" : ","} ${this.describe(effect)}`;
    if (effect.kind === "patch") this.sendPatch(at, world, memory, effect, what, emit, faults);
    else this.sendWrite(at, world, memory, effect, what, emit, faults);
  }

  protected sendPatch(
    at: number,
    world: () => World,
    memory: number,
    effect: Extract<Effect, { kind: "patch" }>,
    what: string,
    emit: (name: string, world: World | undefined) => void,
    faults: boolean,
  ): void {
    const { patch, version } = splitPatch(effect);
    const replied = (copy: World, reply: Reply) => this.replied(at, copy, memory, reply);
    {
      const copy = world();
      const answer = this.apply(copy, patch, version);
      if (answer === undefined)
        emit(`${what}: does not fit`, replied(copy, { kind: "error", error: copy.object === 0 ? "gone" : "stale" }));
      else emit(what, this.answered(at, copy, memory, answer));
    }
    if (!faults) return;
    {
      const copy = world();
      if (this.uses(copy, "patchLoss")) {
        emit(`${what}: never arrives`, replied(copy, { kind: "error", error: "unreachable" }));
        const u = world();
        this.uses(u, "patchLoss");
        this.apply(u, patch, version);
        emit(`${what}: carried out, no answer`, replied(u, { kind: "error", error: "unreachable" }));
      }
    }
    {
      const copy = world();
      if (this.uses(copy, "patchRefusal")) emit(`${what}: refused`, replied(copy, { kind: "error", error: "refused" }));
    }
    {
      const copy = world();
      if (this.uses(copy, "patchLate")) {
        copy.late.push({ patch: this.texts.of(textOf(patch)), version });
        emit(`${what}: on its way, no answer`, replied(copy, { kind: "error", error: "unreachable" }));
        const u = world();
        this.uses(u, "patchLate");
        u.late.push({ patch: this.texts.of(textOf(patch)), version });
        if (this.uses(u, "death")) emit(`${what}: on its way, and the process dies`, this.dies(at, u));
      }
    }
    const copy = world();
    if (this.uses(copy, "death")) {
      this.apply(copy, patch, version);
      emit(`${what}: carried out, and the process dies`, this.dies(at, copy));
    }
  }

  protected sendWrite(
    at: number,
    world: () => World,
    memory: number,
    effect: Extract<Effect, { kind: "write" }>,
    what: string,
    emit: (name: string, world: World | undefined) => void,
    faults: boolean,
  ): void {
    const replied = (copy: World, reply: Reply) => this.replied(at, copy, memory, reply);
    const ambiguous: Reply = { kind: "answer", answer: { kind: "ambiguous", message: "no answer" } };
    const { kind: _, ...write } = effect;
    const bad = this.judged(at, world(), memory, write);
    if (this.isOutdated(at, world(), memory)) {
      return emit(
        `${what}: withdrawn`,
        replied(world(), { kind: "answer", answer: { kind: "superseded", message: "" } }),
      );
    }
    const isPost = write.method === "POST";
    const begun = () => {
      const copy = world();
      if (isPost) this.uses(copy, "post");
      if (bad !== undefined) copy.facts.bad = bad;
      return copy;
    };
    // The model ends here: with more POSTs it would go on for ever.
    if (faults && isPost && (world().facts.left["post"] ?? 0) === 0) return;
    {
      const copy = begun();
      const answer = this.carryOut(copy, write);
      if (answer.kind === "ok") this.brings(copy, memory, true);
      emit(`${what}${answer.kind === "ok" ? "" : `: ${answer.kind}`}`, replied(copy, { kind: "answer", answer }));
    }
    if (!faults) return;
    const fate = (budget: string, name: string, change: (copy: World) => World | undefined) => {
      const copy = begun();
      if (this.uses(copy, budget)) emit(`${what}: ${name}`, change(copy));
    };
    const unanswered = (copy: World) => {
      if (write.method === "RESTART") copy.facts.unanswered = (copy.facts.unanswered ?? 0) + 1;
      return replied(copy, ambiguous);
    };
    const flies = (copy: World) => {
      const entry = this.entryOf(memory);
      copy.flying.push({ write: this.texts.of(textOf(write)), left: this.configuration.settleInstants, entry });
    };
    fate("loss", "never arrives", unanswered);
    fate("loss", "carried out, no answer", (copy) => {
      this.carryOut(copy, write);
      return unanswered(this.brings(copy, memory, false));
    });
    fate("late", "on its way, no answer", (copy) => {
      flies(copy);
      return unanswered(copy);
    });
    fate("refusal", "refused, the project is busy", (copy) =>
      replied(copy, { kind: "answer", answer: { kind: "busy", message: "busy" } }),
    );
    fate("death", "carried out, and the process dies", (copy) => {
      this.carryOut(this.brings(copy, memory, false), write);
      unanswered(copy);
      return this.dies(at, copy);
    });
    fate("death", "on its way, and the process dies", (copy) => {
      flies(copy);
      unanswered(copy);
      return this.dies(at, copy);
    });
  }

  /** The promise about times that this write breaks as it leaves. */
  protected judged(at: number, current: World, memory: number, write: Write): string | undefined {
    const run = this.run(memory);
    const { lists } = trusted<Memory>(valueOf(partsOf(this.texts.text(memory)).memory));
    if (run === undefined || current.object === 0 || this.isOutdated(at, current, memory)) return undefined;
    return untimely(write, {
      planned: this.content(run.seen.content),
      service: this.service(current),
      list: run.at - (lists.list?.startedAt ?? 0) <= freshMs ? lists.list?.endpoints : undefined,
      phases: [phaseAt(this.configuration, run.serviceNow), current.phase],
      facts: current.facts,
      configuration: this.configuration,
    });
  }

  /** The process got its reply, and goes on to its next request. */
  protected replied(at: number, current: World, memory: number, reply: Reply): World | undefined {
    const told = this.told(memory, { kind: "replied", reply });
    if (told === undefined) return undefined;
    trusted<Process>(current.processes[at]).memory = told;
    return this.withGets(at, current);
  }

  /** A GET that follows is answered at once. */
  protected withGets(at: number, current: World): World | undefined {
    const effect = this.effectOf(trusted<Process>(current.processes[at]).memory);
    if (effect?.kind !== "get") return current;
    let result: World | undefined;
    this.send(
      at,
      current,
      trusted<Process>(current.processes[at]).memory,
      "",
      (_, copy) => {
        result ??= copy;
      },
      false,
    );
    return result;
  }

  /** An answer of the API server enters the store before the caller sees it. */
  protected answered(at: number, current: World, memory: number, content: number): World | undefined {
    const process = trusted<Process>(current.processes[at]);
    if (current.object !== 0) Object.assign(process, { seen: content, version: newestVersion });
    return this.replied(at, current, memory, {
      kind: "object",
      object: { content, version: versionText(newestVersion) },
    });
  }

  protected describe(effect: Exclude<Effect, { kind: "get" }>): string {
    if (effect.kind === "write")
      return `sends ${effect.method} ${effect.id}${effect.method === "PATCH" || effect.method === "POST" ? ` ${JSON.stringify(trusted<{ endpoint: unknown }>(effect.body).endpoint)}` : ""}`;
    const changes = effect.ops
      .filter(({ op }) => op !== "test")
      .map((op) => `${op.op} ${op.path.split("/").at(-1)?.replace("compute-operator.dev~1", "")}`);
    return `patches ${effect.status ? "the status" : changes.join(", ")}`;
  }
}
