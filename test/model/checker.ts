/** A step of the world: its name, and the state after it. */
export interface Step {
  name: string;
  to: string;
}

/**
 * Something to explore. A state is its own key: equal states are equal strings. A model may lack an answer of the
 * operator; `settle` then finds it, and the model is asked again.
 */
export interface Model {
  first(): string;
  /** Every step that may follow. */
  next(state: string): Step[];
  /** The promise that this state breaks; `undefined`: none. */
  brokenSafety(state: string): string | undefined;
  /** The one step that follows if nothing goes wrong any more. */
  stepWithoutFaults(state: string): Step;
  /** Why all is not well in a state that repeats without faults; `undefined`: all is well. */
  stuck(state: string): string | undefined;
  /** Whether a step writes: where nothing goes wrong any more, nothing is to be written for ever. */
  isWrite(name: string): boolean;
  show(state: string): string;
  /** Finds the answers that `next` or `stepWithoutFaults` lacked; returns whether there were any. */
  settle(): Promise<boolean>;
}

export interface Violation {
  what: string;
  /** The shortest way to it, one line a step. */
  trace: string[];
}

export interface Searched {
  states: number;
  steps: number;
  seconds: number;
  /** `undefined`: every state was visited, and none breaks a promise. */
  violation: Violation | undefined;
  /** The bound on states was reached first. */
  isCutOff: boolean;
}

export interface SearchOptions {
  mostStates?: number;
  /** Seconds, on a clock of the caller. */
  clock: () => number;
}

/** So many steps without a fault come to rest, or never will. */
const mostStepsWithoutFaults = 600;

/**
 * Breadth-first search over whole states: the first violation found has the shortest trace. From every state,
 * steps without faults must also come to a state that repeats without a write, and all must be well there.
 */
export class Search {
  readonly #model: Model;
  readonly #options: SearchOptions;
  readonly #states: string[] = [];
  readonly #parents: number[] = [];
  readonly #index = new Map<string, number>();
  /** States from which the steps without faults are known to end well. */
  readonly #well = new Set<string>();
  #steps = 0;

  constructor(model: Model, options: SearchOptions) {
    this.#model = model;
    this.#options = options;
  }

  get visited(): readonly string[] {
    return this.#states;
  }

  async run(): Promise<Searched> {
    const began = this.#options.clock();
    const { mostStates = Number.POSITIVE_INFINITY } = this.#options;
    const ended = (violation: Violation | undefined, isCutOff = false): Searched => ({
      states: this.#states.length,
      steps: this.#steps,
      seconds: this.#options.clock() - began,
      violation,
      isCutOff,
    });
    this.#add(this.#model.first(), -1);
    for (let at = 0; at < this.#states.length; at++) {
      const state = this.#states[at] ?? "";
      const what = this.#model.brokenSafety(state);
      if (what !== undefined) return ended({ what, trace: await this.#traceTo(at) });
      const stuck = await this.#endOf(state);
      if (stuck !== undefined)
        return ended({ what: stuck.what, trace: [...(await this.#traceTo(at)), ...stuck.trace] });
      if (this.#states.length > mostStates) return ended(undefined, true);
      for (const { to } of await this.#next(state)) {
        this.#steps += 1;
        this.#add(to, at);
      }
    }
    return ended(undefined);
  }

  #add(state: string, parent: number): void {
    if (this.#index.has(state)) return;
    this.#index.set(state, this.#states.length);
    this.#states.push(state);
    this.#parents.push(parent);
  }

  async #next(state: string): Promise<Step[]> {
    let steps = this.#model.next(state);
    while (await this.#model.settle()) steps = this.#model.next(state);
    return steps;
  }

  async #stepWithoutFaults(state: string): Promise<Step> {
    let step = this.#model.stepWithoutFaults(state);
    while (await this.#model.settle()) step = this.#model.stepWithoutFaults(state);
    return step;
  }

  /** Follows the steps without faults to rest; `undefined`: all is well there. */
  async #endOf(start: string): Promise<Violation | undefined> {
    const seen = new Map<string, number>();
    const path: Step[] = [];
    let state = start;
    while (!this.#well.has(state) && !seen.has(state)) {
      seen.set(state, path.length);
      const step = await this.#stepWithoutFaults(state);
      path.push(step);
      state = step.to;
      const what =
        this.#model.brokenSafety(state) ?? (path.length > mostStepsWithoutFaults ? "never at rest" : undefined);
      if (what !== undefined) return { what, trace: this.#shown(path) };
    }
    if (!this.#well.has(state)) {
      const cycle = path.slice(seen.get(state));
      const writes = cycle.find(({ name }) => this.#model.isWrite(name));
      const why = this.#model.stuck(state) ?? (writes && `writes for ever: ${writes.name}`);
      if (why !== undefined) return { what: `not well at rest: ${why}`, trace: this.#shown(path) };
    }
    for (const passed of seen.keys()) this.#well.add(passed);
    return undefined;
  }

  #shown(path: readonly Step[]): string[] {
    return [
      "   -- from here on nothing goes wrong",
      ...path.map(({ name, to }) => `   ${name}\n        ${this.#model.show(to)}`),
    ];
  }

  async #traceTo(index: number): Promise<string[]> {
    const path: number[] = [];
    for (let at = index; at >= 0; at = this.#parents[at] ?? -1) path.unshift(at);
    const lines = [`0. ${this.#model.show(this.#states[0] ?? "")}`];
    for (const [n, at] of path.entries()) {
      if (n === 0) continue;
      const to = this.#states[at] ?? "";
      const steps = await this.#next(this.#states[path[n - 1] ?? 0] ?? "");
      lines.push(`${n}. ${steps.find((step) => step.to === to)?.name}\n        ${this.#model.show(to)}`);
    }
    return lines;
  }
}
