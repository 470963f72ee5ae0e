import { ClaimIndex } from "../../src/operator/claims/claim-index.ts";
import { computeKindOf, type Parts as StepParts } from "../../src/operator/compute/kind.ts";
import { type ComputeMemory, handOverForMs } from "../../src/operator/compute/memory.ts";
import { annotationsOf } from "../../src/operator/compute/observe/annotations.ts";
import { asOf, momentOf } from "../../src/operator/compute/observe/moment.ts";
import type { Subject } from "../../src/operator/compute/observe/observation.ts";
import type { Action } from "../../src/operator/compute/plan/action.ts";
import { ReconcileState } from "../../src/operator/compute/reconcile-state.ts";
import { clockDueAt } from "../../src/operator/compute/requeue.ts";
import { parts as stepParts } from "../../src/operator/compute/steps.ts";
import type { ConnectionView } from "../../src/operator/connection/registry.ts";
import type { JsonPatchOperation } from "../../src/operator/kube/json-patch.ts";
import { step } from "../../src/operator/life/kind.ts";
import type { ListerAccess } from "../../src/operator/project/service-access.ts";
import { type Compute, parseCompute } from "../../src/operator/resources/compute.ts";
import type { Disruption } from "../../src/operator/resources/schedule.ts";
import { type Interned, nextMoment, textOf, trusted, valueOf } from "./canonical.ts";
import { listed, lister } from "./lists.ts";
import {
  forgetful,
  type Happening,
  type Lists,
  type Memory,
  momentIn,
  partsOf,
  type Rest,
  type Run,
  stateOf,
  type Version,
} from "./memory.ts";
import { Replay } from "./replay.ts";

/** The parts of the operator that a reconcile calls; a planted bug replaces one. */
export interface Parts extends StepParts {
  /** What a reconcile remembers before and after. */
  remembers: (known: ComputeMemory, before: ComputeMemory | undefined) => ComputeMemory;
  /** A version of the Compute is seen. */
  seen: (state: ReconcileState, compute: Compute, now: number) => void;
  /** A patch as it leaves. */
  patch: (ops: readonly JsonPatchOperation[]) => JsonPatchOperation[];
  /** The time of the service, of two clocks. */
  now: (service: number, machine: number) => number;
  momentOf: typeof momentOf;
  clockDueAt: typeof clockDueAt;
}

export const parts: Parts = {
  ...stepParts,
  remembers: (known) => known,
  seen: (state, compute, now) => state.noteVersion(compute, now),
  patch: (ops) => [...ops],
  now: (service) => service,
  momentOf,
  clockDueAt,
};

export interface OperatorSettings {
  createSettleMs: number;
  fleet: string | undefined;
  /** Whether the service shows the names of endpoints. */
  showsNames: boolean;
  /** Whether a reconcile may use the list of an earlier one. */
  held: boolean;
  parts: Parts;
  /** The world has schedules or windows: a reconcile needs an occasion. */
  isTimed: boolean;
  ofConnection: Disruption | undefined;
}

/**
 * One reconcile of the operator, told as a pure function of a process's memory and of what happens to it: observe,
 * plan, execute and update the status are the operator's own, and so is what it remembers. A reconcile that waits for
 * an answer is kept as what it began with and the answers so far, and played again up to the next request.
 */
export class OperatorModel {
  readonly #settings: OperatorSettings;
  readonly #contents: Interned;
  readonly #computes = new Map<number, Compute>();

  constructor(settings: OperatorSettings, contents: Interned) {
    this.#settings = settings;
    this.#contents = contents;
  }

  /** The memory as text, or "" of a process that has none. */
  async after(memoryText: string, happening: Happening): Promise<string> {
    const now = nextMoment(memoryText);
    if (happening.kind === "begins") {
      const { term, seen, entered = false } = happening;
      const state = new ReconcileState(now, term);
      if (entered) state.entered(now);
      this.#settings.parts.seen(state, this.#compute(seen), now);
      const lists: Lists = { answered: [], written: [], unlisted: [], baseURL: "" };
      return this.#textOf({ known: state.known, lists, term }, undefined);
    }
    const { memory: text, run: runText } = partsOf(memoryText);
    const run = runText === undefined ? undefined : trusted<Run>(JSON.parse(runText));
    switch (happening.kind) {
      case "changed": {
        const { to } = happening;
        if (run !== undefined) {
          run.since.push({ kind: "changed", to, at: momentIn(run, now) });
          return this.#played(text, run);
        }
        const memory = trusted<Memory>(valueOf(text));
        const state = stateOf(memory);
        this.#settings.parts.seen(state, this.#compute(to), now);
        return this.#textOf({ ...memory, known: state.known }, memory.known);
      }
      case "reconciles": {
        const { seen, list, serviceNow } = happening;
        const memory = trusted<Memory>(valueOf(text));
        if (memory.outdated === seen.version) return memoryText;
        memory.outdated = undefined;
        const baseURL = baseURLOf(this.#compute(seen));
        if (memory.lists.baseURL !== baseURL) memory.lists = { answered: [], written: [], unlisted: [], baseURL };
        if (list === "none") memory.lists.list = undefined;
        else if (list !== "held") listed(memory.lists, list, now);
        const begun: Run = { seen, at: now + 1, serviceNow, since: [], effect: { kind: "get", baseURL: "", id: "" } };
        return this.#played(textOf(memory), begun);
      }
      case "replied":
        if (run === undefined) throw new Error("no reconcile waits for an answer");
        run.since.push({ kind: "reply", reply: happening.reply, at: momentIn(run, now) });
        return this.#played(text, run);
    }
  }

  /** The operator as it sees a version of the object: what a cache holds. */
  #compute({ content, version }: Version): Compute {
    let compute = this.#computes.get(content);
    if (compute === undefined) {
      const parsed = parseCompute(JSON.parse(this.#contents.text(content)));
      if (!parsed.ok) throw new Error(parsed.problem);
      compute = parsed.value;
      this.#computes.set(content, compute);
    }
    return { ...compute, metadata: { ...compute.metadata, resourceVersion: version } };
  }

  /** Plays a reconcile that began with this memory, up to its next request or its end. */
  async #played(text: string, run: Run): Promise<string> {
    const memory = trusted<Memory>(valueOf(text));
    const { lists, term } = memory;
    const state = stateOf(memory);
    const replay = new Replay(run, (to, at) => this.#settings.parts.seen(state, this.#compute(to), at));
    let rest: Rest | undefined;
    const ended = await replay.run(async () => {
      rest = await this.#reconcile(run, state, lists, replay);
    });
    if (ended.kind === "waits") return `${text}\n${textOf({ ...run, effect: ended.effect })}`;
    const outdated = ended.kind === "outdated" ? run.seen.version : undefined;
    if (!this.#settings.held) lists.list = undefined;
    return this.#textOf({ known: state.known, lists, term, outdated, rest }, trusted<Memory>(valueOf(text)).known);
  }

  /** As ComputeReconciler does it, without what no promise of the protocol hangs on: pools, Secrets, uninstalling. */
  async #reconcile(run: Run, state: ReconcileState, lists: Lists, replay: Replay): Promise<Rest | undefined> {
    const { createSettleMs, fleet, parts: real, isTimed, ofConnection } = this.#settings;
    const stored = this.#compute(run.seen);
    const annotations = annotationsOf(stored, 0);
    const { clock } = replay;
    const now = clock.monotonic();
    const serviceNow = real.now(run.serviceNow, clock.now());
    const compute = asOf(stored, serviceNow);
    real.seen(state, compute, now);
    if (handOverForMs(state.known, now) > 0) return undefined;
    const claimants = claimantsOf(compute);
    const moment = real.momentOf(stored, ofConnection, serviceNow);
    const subject: Subject = { compute, annotations, claimants, now, serviceNow, moment, createSettleMs, fleet };
    state.begin(annotations, true, now);
    const actions: Action[] = [];
    const kind = computeKindOf({
      parts: real,
      cluster: {
        patch: (_, __, ops, options = {}) =>
          replay.patch(real.patch(ops), options.subresource === "status", (object) => this.#objectOf(object)),
      },
      clock,
      signal: new AbortController().signal,
      stored: () => this.#compute(replay.stored),
      secrets: {
        keep: () => Promise.resolve({ kind: "none" }),
        standing: () => undefined,
        ownerless: () => [],
        remove: () => Promise.resolve([]),
        recorded: () => undefined,
        recordedNow: () => Promise.resolve(undefined),
        readSoon: () => {},
        noteReset: async () => {},
      },
      uninstalling: { now: () => Promise.resolve(false), lately: () => Promise.resolve(false) },
      awaitsOwner: () => false,
      event: () => {},
      isStopping: () => false,
      onStop: ({ message }) => {
        // Of a planted bug it is what a bug deserves.
        if (real === parts) throw new Error(message);
      },
      onStep: (action) => void actions.push(action),
    });
    const given = { subject, connection: this.#connection(lists, serviceNow) };
    const { seen } = await step(kind, { object: compute, memory: state, given, access: this.#access(lists, replay) });
    const [action] = actions;
    const isAtRest = action?.kind === "settled" && action.requeueAfterMs === undefined;
    if (!isTimed || run.since.length > 0 || !isAtRest || state.requeue.timedAt !== undefined) return undefined;
    const list = this.#contents.of(textOf(lists.list?.endpoints));
    return { content: run.seen.content, list, wakesAt: serviceNow + real.clockDueAt(seen, state.known) - now };
  }

  #objectOf({ content, version }: Version): unknown {
    const object = trusted<{ metadata: object }>(JSON.parse(this.#contents.text(content)));
    return { ...object, metadata: { ...object.metadata, resourceVersion: version } };
  }

  #connection({ baseURL }: Lists, serviceNow: number): ConnectionView {
    const session = {
      fingerprint: baseURL,
      baseURL,
      projectIsGone: () => Promise.resolve(false),
      time: { isKnown: true, now: () => serviceNow },
    };
    const connection = { spec: { disruption: this.#settings.ofConnection } };
    return trusted<ConnectionView>({ kind: "open", session, connection, terminating: false });
  }

  #access(lists: Lists, replay: Replay): ListerAccess {
    const { baseURL } = lists;
    const write = (method: "POST" | "PATCH" | "DELETE" | "RESTART", id: string, body: unknown) =>
      replay.service({ kind: "write", method, baseURL, id, body });
    const client = {
      fingerprint: baseURL,
      account: { baseURL },
      createEndpoint: (_: string, body: unknown) => write("POST", "", body),
      patchEndpoint: (_: string, id: string, body: unknown) => write("PATCH", id, body),
      deleteEndpoint: (_: string, id: string) => write("DELETE", id, null),
      restartEndpoint: (_: string, id: string) => write("RESTART", id, null),
      getEndpoint: (_: string, id: string) => replay.service({ kind: "get", baseURL, id }),
    };
    const reservation = { tryTake: () => true, waitMs: 0, closedForMs: 0, end: () => {} };
    const gate = { pass: () => undefined, answered: () => {}, waitsAgain: false, isWaiting: false, end: () => {} };
    return trusted<ListerAccess>({ client, reservation, gate, lister: lister(lists, replay) });
  }

  #textOf(memory: Memory, before: ComputeMemory | undefined): string {
    const known = forgetful(this.#settings.parts.remembers(memory.known, before));
    return textOf({ ...memory, known });
  }
}

/** No other Compute claims anything. */
function claimantsOf(compute: Compute): Subject["claimants"] {
  const claims = new ClaimIndex({ serviceOf: baseURLOf, isOutsider: () => false });
  claims.set(compute);
  return claims.claimantsOf(compute);
}

/** A connection leads to the service that it is named after. */
function baseURLOf({ spec }: Compute): string {
  return spec.connectionRef.name;
}
