import { newMemory } from "../../../src/operator/branch/memory.ts";
import { shownCondition } from "../../../src/operator/objects/conditions-of.ts";
import { annotations } from "../../../src/operator/resources/names.ts";
import { parentID } from "./service.ts";
import {
  begun,
  calm,
  deleted,
  hasFinalizer,
  nameIn,
  ownIn,
  type Parts,
  passed,
  reconciled,
  type State,
  type Step,
} from "./world.ts";

// Every path with at most so many things that go wrong or that people do, each at every step of the operator; then calm
// until nothing changes, the deletion of the object, and calm again. A promise that breaks anywhere ends the search.

/** What happens before a step; the step itself may be disturbed. */
type Event = (state: State) => void;

const events: Readonly<Record<string, Event>> = {
  "the process dies": (state) => {
    state.memory = newMemory(state.now, state.now, hasFinalizer(state));
  },
  "the status is wiped": (state) => {
    if (state.object === undefined) return;
    state.object = { ...state.object, status: { observedGeneration: -1 } };
    state.wasWiped = true;
    // A client that replaces an object may drop the finalizer too.
    state.object.metadata.finalizers = [];
  },
  "a person asks for a reset": (state) => {
    if (state.object === undefined) return;
    const { metadata } = state.object;
    state.resetsAsked += 1;
    // Of a branch that is gone it asks for a fresh one.
    state.createsAsked += 1;
    const value = String(state.resetsAsked);
    metadata.annotations = { ...metadata.annotations, [annotations.resetAt]: value };
  },
  "a person edits the expiry": (state) => {
    if (state.object === undefined) return;
    const { metadata, spec } = state.object;
    state.createsAsked += 1;
    state.object = {
      ...state.object,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: { ...spec, expiry: "after" in spec.expiry ? { never: true } : { after: "5h" } },
    };
  },
  "a person declares Retain, or no policy again": (state) => {
    if (state.object === undefined) return;
    const { metadata, spec } = state.object;
    const { deletionPolicy, ...undeclared } = spec;
    state.object = {
      ...state.object,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: deletionPolicy === undefined ? { ...spec, deletionPolicy: "Retain" } : undeclared,
    };
  },
  "the object is deleted": deleted,
  "the branch goes at the service": (state) => {
    state.service.branches = state.service.branches.filter(({ id }) => id === parentID);
  },
  "somebody else takes the name": (state) => {
    const { service } = state;
    const name = nameIn(state);
    if (service.branches.some((branch) => branch.name === name)) return;
    service.branches.push({ id: `br-theirs-${service.nextID++}`, name, current_state: "ready" });
  },
  "two minutes pass": (state) => {
    passed(state, 120_000);
    state.before = state.service.branches;
  },
  "two hours pass": (state) => {
    passed(state, 7_200_000);
    state.before = state.service.branches;
  },
};

const disturbances: Readonly<Record<string, Step>> = {
  "a list that lags": { fate: "answered", lags: true },
  "an answer that is lost": { fate: "lost after", lags: false },
  "a request that is lost": { fate: "lost before", lags: false },
  "a request that comes late": { fate: "late", lags: false },
  "a garbled answer": { fate: "garbled", lags: false },
  "a busy project": { fate: "busy", lags: false },
  "a refusal": { fate: "refused", lags: false },
  "a deletion before the status is stored": { ...calm, isDeletedMeanwhile: true },
  "a status that is refused": { ...calm, isStatusRefused: true },
  "no list that is new enough": { ...calm, isUnseen: true },
};

export interface Configuration {
  name: string;
  expiry: object;
  /** The service shows when a branch was last reset. */
  showsResets: boolean;
  /** The most things that happen on a path, and at which of the first steps. */
  happenings: number;
  steps: number;
  /** The only things that happen; all of them where it is absent. */
  among?: readonly string[];
}

export interface Violation {
  what: string;
  /** What happened, with the step that it happened at. */
  path: readonly string[];
}

export interface Searched {
  paths: number;
  reconciles: number;
  violation: Violation | undefined;
}

/** So many calm steps bring each world to rest. */
const calmSteps = 60;

class Search {
  readonly #configuration: Configuration;
  readonly #parts: Parts;
  readonly #events: [string, Event][];
  readonly #disturbances: [string, Step][];
  paths = 0;
  reconciles = 0;

  constructor(configuration: Configuration, parts: Parts) {
    this.#configuration = configuration;
    this.#parts = parts;
    const { among } = configuration;
    const happens = ([name]: readonly [string, unknown]) => among?.includes(name) !== false;
    this.#events = Object.entries(events).filter(happens);
    this.#disturbances = Object.entries(disturbances).filter(happens);
  }

  run(): Promise<Violation | undefined> {
    return this.#from(begun(this.#configuration), 0, []);
  }

  /** All paths from a state: to the end without another happening, and with each at this step. */
  async #from(state: State, step: number, path: readonly string[]): Promise<Violation | undefined> {
    const { happenings, steps } = this.#configuration;
    if (step >= steps || path.length >= happenings) return this.#end(state, path);
    const violation = await this.#disturbed(state, step, path);
    if (violation !== undefined) return violation;
    for (const [name, event] of this.#events) {
      const after = structuredClone(state);
      event(after);
      const longer = [...path, `${step}: ${name}`];
      const found = await this.#next(after, calm, step, longer);
      if (found !== undefined) return found;
      const inBoth = longer.length < happenings ? await this.#disturbed(after, step, longer) : undefined;
      if (inBoth !== undefined) return inBoth;
    }
    return this.#next(state, calm, step, path);
  }

  /** All paths on which this step itself is disturbed. */
  async #disturbed(state: State, step: number, path: readonly string[]): Promise<Violation | undefined> {
    for (const [name, how] of this.#disturbances) {
      const violation = await this.#next(state, how, step, [...path, `${step}: ${name}`]);
      if (violation !== undefined) return violation;
    }
    return undefined;
  }

  async #next(state: State, how: Step, step: number, path: readonly string[]): Promise<Violation | undefined> {
    const after = await this.#step(state, how);
    const what = brokenSafety(after);
    return what === undefined ? this.#from(after, step + 1, path) : { what, path };
  }

  #step(state: State, how: Step): Promise<State> {
    this.reconciles += 1;
    return reconciled(state, how, this.#parts);
  }

  async #end(state: State, path: readonly string[]): Promise<Violation | undefined> {
    this.paths += 1;
    const atRest = await this.#calm(state);
    if (typeof atRest === "string") return { what: atRest, path };
    const stuck = stuckAtRest(atRest);
    if (stuck !== undefined) return { what: stuck, path };
    const leaving = structuredClone(atRest);
    deleted(leaving);
    const gone = await this.#calm(leaving);
    if (typeof gone === "string") return { what: gone, path };
    const left = leftBehind(gone);
    return left === undefined ? undefined : { what: left, path };
  }

  async #calm(from: State): Promise<State | string> {
    let state = from;
    for (let step = 0; step < calmSteps && state.object !== undefined; step += 1) {
      state = await this.#step(state, calm);
      const what = brokenSafety(state);
      if (what !== undefined) return what;
    }
    const late = structuredClone(state);
    passed(late, 120_000);
    return brokenSafety(late) ?? late;
  }
}

export async function searched(configuration: Configuration, parts: Parts = {}): Promise<Searched> {
  const search = new Search(configuration, parts);
  const violation = await search.run();
  const { paths, reconciles } = search;
  return { paths, reconciles, violation };
}

/** A promise that is broken in a state. */
function brokenSafety(state: State): string | undefined {
  const { service, resetsAsked, createsAsked, wasWiped, linked, ranOut } = state;
  if (ownIn(state).length > 1) return "never twice: two branches bear the uid of one object";
  const [wronged] = service.wronged;
  if (wronged !== undefined) return `never another's: ${wronged}`;
  if (service.resets > resetsAsked) return `reset once: ${service.resets} resets for ${resetsAsked} values`;
  if (ranOut !== undefined) return `never lost: the lease of ${ranOut} was not renewed`;
  const most = createsAsked + (wasWiped ? 1 : 0);
  return linked.length > most ? `never again: linked to ${linked.join(", ")}` : undefined;
}

/** Calm for a while, an object that stands says what it has come to, and what it says is so. */
function stuckAtRest(state: State): string | undefined {
  const { object } = state;
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
  const { reason, message } = shownCondition(object) ?? {};
  // A create that came late, after the linked branch was lost, makes a branch that goes with the object.
  const own = ownIn(state).find(({ id }) => id === object.status.branchID);
  if (own !== undefined && !hasFinalizer(state)) return "never left: a branch whose object has no finalizer";
  const standing = ["Available", "Rejected", "Drifted"];
  const ended = ["Expired", "BranchLost", "BranchExists"];
  const isExpected = (own === undefined ? ended : standing).includes(reason ?? "");
  if (!isExpected) return `all is well: ${reason}: ${message}`;
  return undefined;
}

function leftBehind(state: State): string | undefined {
  if (state.object !== undefined) {
    const { reason, message } = shownCondition(state.object) ?? {};
    return `deletion ends: ${reason}: ${message}`;
  }
  const [left] = state.isRetained ? [] : ownIn(state);
  return left === undefined ? undefined : `never left: branch ${left.id} of an object that is gone`;
}
