import {
  Interned,
  newestVersion,
  numbersIn,
  renumbered,
  shifted,
  trusted,
  versionsIn,
  withNumbers,
} from "./canonical.ts";
import { type Effect, type Happening, partsOf, type Run } from "./memory.ts";
import { OperatorModel, type Parts } from "./operator.ts";
import type { Service, Write } from "./service.ts";
import type { Configuration, Facts, Kube } from "./terms.ts";

/** One process of the operator. */
export interface Process {
  /** Its memory; 0: it does not run, or knows of no Compute. */
  memory: number;
  isRunning: boolean;
  /** The newest version of the object that it has seen; content 0: none. */
  seen: number;
  version: number;
}

/** All there is, at one moment. */
export interface World {
  /** The object's content; 0: it is gone. Its version is always the newest one. */
  object: number;
  /** The version before, which a process may start from. */
  before: number;
  processes: Process[];
  service: number;
  /** What lists may still show: the service as it was during the last instants, and how many ago that ended. */
  past: { service: number; age: number }[];
  /** Writes to the service that nobody waits for, and how many instants they may still take. */
  flying: { write: number; left: number; entry?: string | undefined }[];
  /** Patches of the object that nobody waits for. `version`: the one that they test; 0: none. */
  late: { patch: number; version: number }[];
  facts: Facts;
  /** The phase of the wall clock. */
  phase: number;
}

export interface Patch {
  ops: unknown[];
  status: boolean;
}

/** A state of the world and what its numbers stand for: object contents, memories, services, writes and patches. */
export class WorldState {
  protected readonly configuration: Configuration;

  /** Object contents, memories, services, writes and patches. */
  protected readonly texts = new Interned();

  protected readonly operator: OperatorModel;

  protected readonly answers = new Map<string, number>();

  protected readonly missing = new Map<string, { memory: number; happening: Happening }>();

  protected readonly shifted = new Map<number, number>();

  constructor(configuration: Configuration, parts: Parts) {
    this.configuration = configuration;
    const { settleInstants, fleet, showsNames, held, phases, ofConnection } = configuration;
    this.operator = new OperatorModel(
      {
        createSettleMs: settleInstants * 10_000,
        fleet,
        showsNames,
        held,
        parts,
        isTimed: phases.length > 1,
        ofConnection,
      },
      this.texts,
    );
  }

  async settle(): Promise<boolean> {
    const missing = [...this.missing];
    this.missing.clear();
    for (const [key, { memory, happening }] of missing) {
      const after = await this.operator.after(this.texts.text(memory), happening);
      this.answers.set(key, this.texts.of(this.shiftedText(after, 0)));
    }
    return missing.length > 0;
  }

  /** The process's memory after that; `undefined`: not known yet. */
  protected told(memory: number, happening: Happening): number | undefined {
    const key = `${memory} ${JSON.stringify(happening)}`;
    const known = this.answers.get(key);
    if (known === undefined) this.missing.set(key, { memory, happening });
    return known;
  }

  protected older(memory: number): number {
    if (memory === 0) return 0;
    let after = this.shifted.get(memory);
    if (after === undefined) {
      after = this.texts.of(this.shiftedText(this.texts.text(memory), 1));
      this.shifted.set(memory, after);
    }
    return after;
  }

  protected shiftedText(text: string, instants: number): string {
    const { settleInstants, lagInstants, memoryInstants, held } = this.configuration;
    const most = memoryInstants ?? Math.max(3, settleInstants + lagInstants + 1);
    // A reconcile that waits for an answer is played again from its times: only those of one that is over are
    // forgotten.
    const isWaiting = text.includes("\n");
    return shifted(text, instants, { oldest: isWaiting ? 20 : most, latest: most, isOrdered: isWaiting || held });
  }

  protected stalledSince(memory: number): number {
    return this.run(memory)?.at ?? Number.POSITIVE_INFINITY;
  }

  protected effectOf(memory: number): Effect | undefined {
    return this.run(memory)?.effect;
  }

  protected readonly runs = new Map<number, Run | undefined>();

  protected run(memory: number): Run | undefined {
    if (memory === 0) return undefined;
    if (!this.runs.has(memory)) {
      const { run } = partsOf(this.texts.text(memory));
      this.runs.set(memory, run === undefined ? undefined : trusted<Run>(JSON.parse(run)));
    }
    return this.runs.get(memory);
  }

  protected readonly objects = new Map<number, Kube>();

  protected content(content: number): Kube {
    let value = this.objects.get(content);
    if (value === undefined) {
      value = trusted<Kube>(JSON.parse(this.texts.text(content)));
      this.objects.set(content, value);
    }
    return value;
  }

  protected object(current: World): Kube {
    return this.content(current.object);
  }

  protected readonly services = new Map<number, Service>();

  protected service(current: World): Service {
    let value = this.services.get(current.service);
    if (value === undefined) {
      value = trusted<Service>(JSON.parse(this.texts.text(current.service)));
      this.services.set(current.service, value);
    }
    return value;
  }

  protected write(write: number): Write {
    return trusted<Write>(JSON.parse(this.texts.text(write)));
  }

  protected flying(current: World): Write[] {
    return current.flying.map(({ write }) => this.write(write));
  }

  protected uses(current: World, budget: string): boolean {
    const left = current.facts.left[budget] ?? 0;
    if (this.configuration.startsMade && budget !== "post" && !this.isMade(current)) return false;
    if (left === 0) return false;
    current.facts.left[budget] = left - 1;
    return true;
  }

  protected isMade({ object }: World): boolean {
    return object === 0 || Number(this.content(object).status["observedGeneration"]) >= 1;
  }

  /** Each process reconciles the Computes of its own shard. */
  protected selects(at: number, content: number): boolean {
    return content !== 0 && (this.content(content).metadata.labels?.["shard"] ?? "0") === String(at);
  }

  protected text(current: World): string {
    current.flying.sort((a, b) => a.write - b.write || a.left - b.left);
    current.late.sort((a, b) => a.patch - b.patch);
    for (const [at, process] of current.processes.entries()) {
      // A Compute of another shard is forgotten once its reconcile is over.
      if (process.memory !== 0 && !this.selects(at, process.seen) && this.effectOf(process.memory) === undefined)
        process.memory = 0;
    }
    this.renumber(current);
    this.renumberRecords(current);
    return JSON.stringify(current);
  }

  protected last: { state: string; world: World } | undefined;

  /** A copy, to be changed. */
  protected read(state: string): World {
    if (this.last?.state !== state) this.last = { state, world: trusted<World>(JSON.parse(state)) };
    const { processes, past, flying, late, facts, ...rest } = this.last.world;
    return {
      ...rest,
      processes: processes.map((one) => ({ ...one })),
      past: past.map((one) => ({ ...one })),
      flying: flying.map((one) => ({ ...one })),
      late: late.map((one) => ({ ...one })),
      facts: { ...facts, left: { ...facts.left } },
    };
  }

  /** Only the order of versions counts: the newest is the object's, and the others follow without a gap. */
  protected renumber(current: World): void {
    const used = new Set<number>([newestVersion]);
    for (const { version, memory } of current.processes) {
      used.add(version);
      for (const one of versionsIn(this.texts.text(memory))) used.add(one);
    }
    const sorted = [...used].filter((version) => version > 0).toSorted((a, b) => b - a);
    if (sorted.every((version, index) => version === newestVersion - index)) return;
    const names = new Map(sorted.map((version, index) => [version, newestVersion - index]));
    for (const process of current.processes) {
      process.version = names.get(process.version) ?? 0;
      process.memory = this.texts.of(renumbered(this.texts.text(process.memory), names));
    }
  }

  protected readonly numbered = new Map<number, number[]>();

  protected recordsIn(text: number): number[] {
    let found = this.numbered.get(text);
    if (found === undefined) {
      found = numbersIn(this.texts.text(text));
      this.numbered.set(text, found);
    }
    return found;
  }

  /** Of the records' numbers too, only the order counts. */
  protected renumberRecords(current: World): void {
    const texts = [
      current.object,
      current.before,
      ...current.late.map(({ patch }) => patch),
      ...current.processes.flatMap(({ seen, memory }) => [seen, memory]),
    ];
    const used = [...new Set(texts.flatMap((text) => this.recordsIn(text)))].toSorted((a, b) => a - b);
    // A reconcile that waits for an answer names contents by number, which hold records too.
    if (
      used.every((n, index) => n === index + 1) ||
      current.processes.some(({ memory }) => this.effectOf(memory) !== undefined)
    )
      return;
    const names = new Map(used.map((n, index) => [n, index + 1]));
    const renamed = (text: number) => this.texts.of(withNumbers(this.texts.text(text), names));
    current.object = renamed(current.object);
    current.before = renamed(current.before);
    for (const one of current.late) one.patch = renamed(one.patch);
    for (const process of current.processes)
      Object.assign(process, { seen: renamed(process.seen), memory: renamed(process.memory) });
  }
}
