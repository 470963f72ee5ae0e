import { newestVersion, textOf, trusted, versionText } from "./canonical.ts";
import type { Effect, Happening, Reply } from "./memory.ts";
import { Processes, versionOf } from "./processes.ts";
import { splitPatch } from "./servers.ts";
import { shown } from "./service.ts";
import type { Process, World } from "./state.ts";

/** A reconcile and the requests that it sends, each with all that may come of it. */
export class Requests extends Processes {
  protected reconciles(
    at: number,
    world: () => World,
    emit: (name: string, world: World | undefined) => void,
    faults: boolean,
  ): void {
    const w = world();
    const process = trusted<Process>(w.processes[at]);
    const seen = versionOf(process);
    const lists = new Map<string, Happening>();
    const fresh = faults ? [w.service, ...w.past.map(({ service }) => service)] : [w.service];
    for (const service of fresh) {
      const list = this.listOf(service, seen.content);
      const isOld = service !== w.service;
      lists.set(`reconciles with ${isOld ? "a list that lags" : "a new list"}`, { kind: "reconciles", seen, list });
    }
    if (faults && this.configuration.held && this.texts.text(process.memory).includes('"list":'))
      lists.set("reconciles with the list it has", { kind: "reconciles", seen, list: "held" });
    if (faults && this.configuration.listless)
      lists.set("reconciles without a list", { kind: "reconciles", seen, list: "none" });
    for (const [name, happening] of lists) {
      const t = world();
      const memory = this.told(process.memory, happening);
      if (memory === undefined) continue;
      this.send(at, t, memory, `process ${at} ${name}`, emit, faults);
    }
  }

  /**
   * What follows once a process has this memory: it sends what its reconcile asks for, with all that may come of it.
   */
  protected send(
    at: number,
    w: World,
    memory: number,
    name: string,
    emit: (name: string, world: World | undefined) => void,
    faults: boolean,
  ): void {
    const state = this.text(w);
    const world = () => this.read(state);
    const effect = this.effectOf(memory);
    if (effect === undefined) {
      const t = world();
      trusted<Process>(t.processes[at]).memory = memory;
      return emit(name, t);
    }
    if (effect.kind === "get") {
      const { endpoints } = this.service(w);
      const endpoint = endpoints.find((one) => one.at === effect.through && `ep-${one.id}` === effect.id);
      const answer =
        endpoint === undefined
          ? ({ kind: "notFound", message: "no such endpoint" } as const)
          : ({ kind: "ok", status: 200, value: shown(endpoint, this.configuration) } as const);
      const told = this.told(memory, { kind: "replied", reply: { kind: "answer", answer } });
      if (told !== undefined)
        this.send(at, w, told, `${name || `process ${at}`}, GET ${effect.id}: ${answer.kind}`, emit, faults);
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
    const replied = (t: World, reply: Reply) => this.replied(at, t, memory, reply);
    {
      const t = world();
      const answer = this.apply(t, patch, version);
      if (answer === undefined)
        emit(`${what}: does not fit`, replied(t, { kind: "error", error: t.object === 0 ? "gone" : "stale" }));
      else emit(what, this.answered(at, t, memory, answer));
    }
    if (!faults) return;
    {
      const t = world();
      if (this.uses(t, "patchLoss")) {
        emit(`${what}: never arrives`, replied(t, { kind: "error", error: "unreachable" }));
        const u = world();
        this.uses(u, "patchLoss");
        this.apply(u, patch, version);
        emit(`${what}: carried out, no answer`, replied(u, { kind: "error", error: "unreachable" }));
      }
    }
    {
      const t = world();
      if (this.uses(t, "patchRefusal")) emit(`${what}: refused`, replied(t, { kind: "error", error: "refused" }));
    }
    {
      const t = world();
      if (this.uses(t, "patchLate")) {
        t.late.push({ patch: this.texts.of(textOf(patch)), version });
        emit(`${what}: on its way, no answer`, replied(t, { kind: "error", error: "unreachable" }));
        const u = world();
        this.uses(u, "patchLate");
        u.late.push({ patch: this.texts.of(textOf(patch)), version });
        if (this.uses(u, "death")) emit(`${what}: on its way, and the process dies`, this.dies(at, u));
      }
    }
    const t = world();
    if (this.uses(t, "death")) {
      this.apply(t, patch, version);
      emit(`${what}: carried out, and the process dies`, this.dies(at, t));
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
    const replied = (t: World, reply: Reply) => this.replied(at, t, memory, reply);
    const ambiguous: Reply = { kind: "answer", answer: { kind: "ambiguous", message: "no answer" } };
    const { kind: _, ...write } = effect;
    if (this.isOutdated(at, world(), memory)) {
      return emit(
        `${what}: withdrawn`,
        replied(world(), { kind: "answer", answer: { kind: "superseded", message: "" } }),
      );
    }
    const isPost = write.method === "POST";
    const begun = () => {
      const t = world();
      if (isPost) this.uses(t, "post");
      return t;
    };
    // The model ends here: with more POSTs it would go on for ever.
    if (faults && isPost && (world().facts.left["post"] ?? 0) === 0) return;
    {
      const t = begun();
      const answer = this.carryOut(t, write);
      emit(`${what}${answer.kind === "ok" ? "" : `: ${answer.kind}`}`, replied(t, { kind: "answer", answer }));
    }
    if (!faults) return;
    const fate = (budget: string, name: string, change: (t: World) => World | undefined) => {
      const t = begun();
      if (this.uses(t, budget)) emit(`${what}: ${name}`, change(t));
    };
    const unanswered = (t: World) => {
      if (write.method === "RESTART") t.facts.unanswered = (t.facts.unanswered ?? 0) + 1;
      return replied(t, ambiguous);
    };
    const flies = (t: World) =>
      t.flying.push({ write: this.texts.of(textOf(write)), left: this.configuration.settleInstants });
    fate("loss", "never arrives", unanswered);
    fate("loss", "carried out, no answer", (t) => {
      this.carryOut(t, write);
      return unanswered(t);
    });
    fate("late", "on its way, no answer", (t) => {
      flies(t);
      return unanswered(t);
    });
    fate("refusal", "refused, the project is busy", (t) =>
      replied(t, { kind: "answer", answer: { kind: "busy", message: "busy" } }),
    );
    fate("death", "carried out, and the process dies", (t) => {
      this.carryOut(t, write);
      unanswered(t);
      return this.dies(at, t);
    });
    fate("death", "on its way, and the process dies", (t) => {
      flies(t);
      unanswered(t);
      return this.dies(at, t);
    });
  }

  /** The process got its reply, and goes on to its next request. */
  protected replied(at: number, w: World, memory: number, reply: Reply): World | undefined {
    const told = this.told(memory, { kind: "replied", reply });
    if (told === undefined) return undefined;
    trusted<Process>(w.processes[at]).memory = told;
    return this.withGets(at, w);
  }

  /** A GET that follows is answered at once. */
  protected withGets(at: number, w: World): World | undefined {
    const effect = this.effectOf(trusted<Process>(w.processes[at]).memory);
    if (effect?.kind !== "get") return w;
    let result: World | undefined;
    this.send(
      at,
      w,
      trusted<Process>(w.processes[at]).memory,
      "",
      (_, t) => {
        result ??= t;
      },
      false,
    );
    return result;
  }

  /** An answer of the API server enters the store before the caller sees it. */
  protected answered(at: number, w: World, memory: number, content: number): World | undefined {
    const process = trusted<Process>(w.processes[at]);
    if (w.object !== 0) Object.assign(process, { seen: content, version: newestVersion });
    return this.replied(at, w, memory, { kind: "object", object: { content, version: versionText(newestVersion) } });
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
