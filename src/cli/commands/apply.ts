import { operationOutcome } from "../../api/operation.ts";
import { pendingCreateOf, pendingRestartOf } from "../../operator/compute/observe/pending-operations.ts";
import { nameOf } from "../../operator/compute/observe/plan-input.ts";
import { takeNote } from "../../operator/compute/observe/remember.ts";
import { isWrite, type WriteAction } from "../../operator/compute/plan/action.ts";
import { type Clock, sleep } from "../../operator/runtime/clock.ts";
import { type DryRun, dryRun } from "../plan/dry-run.ts";
import { reported } from "../plan/in-memory-writes.ts";
import type { Inventory, Project, Tracked } from "../plan/inventory.ts";
import { unownedReplicasLike } from "../plan/unowned-replicas.ts";
import { send } from "./send.ts";

export interface ApplyOptions {
  survey: Inventory;
  tracked: readonly Tracked[];
  clock: Clock;
  signal: AbortSignal;
  timeoutMs: number;
  /** Told of each step forward, as a line for a person. */
  say: (line: string) => void;
}

/** How many Computes came to be as declared, and how many did not. */
export interface Applied {
  done: number;
  failed: number;
}

/** Pauses between looks, in milliseconds: short after a write, ever longer while nothing is news. */
const pauses = { shortest: 250, longest: 5000, factor: 1.5 } as const;

type End = { ok: boolean; said: string };

/**
 * Brings every Compute to where nothing is left to do: one write at a time in each project, each followed until the
 * service is done with it. Every write is planned from a list that was asked for after the one before had ended.
 */
export class Application {
  readonly #options: ApplyOptions;
  readonly #open: Set<Tracked>;
  readonly #applied: Applied = { done: 0, failed: 0 };
  /** What was last said of each, so that nothing is said twice. */
  readonly #said = new Map<Tracked, string>();

  constructor(options: ApplyOptions) {
    this.#options = options;
    this.#open = new Set(options.tracked);
  }

  async run(): Promise<Applied> {
    const { signal } = this.#options;
    try {
      await this.#rounds();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) this.#giveUp("called off; what was sent goes on at the service");
    return this.#applied;
  }

  async #rounds(): Promise<void> {
    const { clock, signal, timeoutMs } = this.#options;
    const endsAt = clock.monotonic() + timeoutMs;
    let pause: number = pauses.shortest;
    while (!signal.aborted) {
      // Each round needs the outcome of the one before.
      const wrote = await this.#round();
      if (this.#open.size === 0) break;
      if (clock.monotonic() >= endsAt) {
        this.#giveUp(`not done after ${timeoutMs / 1000} s (--timeout)`);
        break;
      }
      pause = wrote ? pauses.shortest : Math.min(pauses.longest, Math.ceil(pause * pauses.factor));
      await sleep(clock, pause, signal);
    }
  }

  /** Looks once and sends what may be sent. Answers whether anything was. */
  async #round(): Promise<boolean> {
    const { survey, signal } = this.#options;
    const projects = [...new Set([...this.#open].map(({ project }) => project))];
    await Promise.all(projects.map((project) => followOperations(project, signal)));
    await survey.look(projects);
    const taken = new Set(projects.filter(isBusy));
    let wrote = false;
    for (const tracked of this.#open) {
      if (signal.aborted) return wrote;
      const { action } = await this.#next(tracked);
      if (!isWrite(action)) await this.#wait(action, tracked);
      else if (!taken.has(tracked.project)) {
        taken.add(tracked.project);
        wrote = true;
        await this.#send(action, tracked);
      }
    }
    return wrote;
  }

  async #next(tracked: Tracked): Promise<DryRun> {
    const { survey, clock, signal } = this.#options;
    const { observation } = survey.view(tracked);
    if (observation.kind === "listed") {
      const { list } = observation;
      takeNote(tracked.memory, tracked.compute, list, clock.monotonic());
      if (list.links.link !== undefined) {
        survey.update(tracked, reported(tracked.compute, { observedThrough: list.through }));
      }
    }
    if (pendingRestartOf(tracked.compute) === undefined) return dryRun(survey, tracked);
    const { client, id } = tracked.project;
    const operations = await client.listOperations(id, signal);
    const endpointID = observation.kind === "listed" ? observation.list.links.link?.endpoint.id : undefined;
    const recent = operations.kind === "ok" ? operations.value : [];
    return dryRun(
      survey,
      tracked,
      recent.filter(({ endpoint_id }) => endpoint_id === endpointID),
    );
  }

  async #send(write: WriteAction, tracked: Tracked): Promise<void> {
    const { survey, clock } = this.#options;
    const strangers = write.kind === "create" ? unownedReplicasLike(survey.view(tracked)) : [];
    if (strangers.length > 0 && pendingCreateOf(tracked.compute) === undefined) {
      const which = strangers.join(", ");
      const said = `not created: this service has shown no names yet, so an earlier apply may have made one of ${which}, which no manifest claims. Declare them too (export writes the manifests), or set spec.adopt`;
      this.#end(tracked, { ok: false, said });
      return;
    }
    const { compute, result, operations } = await send(write, tracked, clock);
    survey.update(tracked, compute);
    for (const operation of operations) tracked.project.operations.set(operation.id, operation);
    if (result.kind === "failed") this.#end(tracked, { ok: false, said: `${result.reason}: ${result.said}` });
    else this.#say(tracked, result.said);
  }

  async #wait(action: Exclude<DryRun["action"], WriteAction>, tracked: Tracked): Promise<void> {
    switch (action.kind) {
      case "settled":
        this.#end(tracked, { ok: true, said: `${action.reason}: ${action.message}` });
        return;
      case "release":
        this.#end(tracked, { ok: true, said: action.message });
        return;
      case "blocked":
        this.#end(tracked, { ok: false, said: `${action.reason}: ${action.message}` });
        return;
      case "confirmDeletion":
        await this.#confirmGone(action.endpointID, tracked);
        return;
      case "noop":
        return;
      case "wait":
        if (action.reason === "Paused") this.#end(tracked, { ok: true, said: `${action.reason}: ${action.message}` });
        else if (nonRetryable.has(action.reason))
          this.#end(tracked, { ok: false, said: `${action.reason}: ${action.message}` });
        else this.#say(tracked, `${action.reason}: ${action.message}`);
    }
  }

  /** The endpoint's own GET: 404 proves what lists suggest. */
  async #confirmGone(endpointID: string, { memory, project }: Tracked): Promise<void> {
    const answer = await project.client.getEndpoint(project.id, endpointID, this.#options.signal);
    if (answer.kind === "ok") delete memory.missing;
    else if (answer.kind === "notFound" && memory.missing !== undefined) {
      memory.missing = { ...memory.missing, proved: true };
    }
  }

  #giveUp(why: string): void {
    for (const tracked of this.#open) {
      const last = this.#said.get(tracked);
      this.#end(tracked, { ok: false, said: last === undefined ? why : `${why}; last: ${last}` });
    }
  }

  #end(tracked: Tracked, { ok, said }: End): void {
    this.#open.delete(tracked);
    this.#applied[ok ? "done" : "failed"] += 1;
    this.#say(tracked, said, !ok);
  }

  #say(tracked: Tracked, said: string, failed = false): void {
    if (this.#said.get(tracked) === said && !failed) return;
    this.#said.set(tracked, said);
    this.#options.say(`${failed ? "! " : "  "}${nameOf(tracked.compute)}: ${said}`);
  }
}

/** Reasons to wait that only a person ends. */
const nonRetryable: ReadonlySet<string> = new Set([
  "Unauthorized",
  "Forbidden",
  "ConnectionNotReady",
  "ProjectNotFound",
  "BranchNotFound",
  "OperationFailed",
]);

/** Asks after the operations that our writes set off. A service without them is judged by the states alone. */
async function followOperations({ client, id, operations }: Project, signal: AbortSignal): Promise<void> {
  const running = [...operations.values()].filter(({ status }) => operationOutcome(status) === "in-progress");
  await Promise.all(
    running.map(async (operation) => {
      const answer = await client.getOperation(id, operation.id, signal);
      if (answer.kind === "ok") operations.set(operation.id, answer.value);
      else if (answer.kind === "notFound") operations.delete(operation.id);
    }),
  );
}

/** Whether an operation of ours still runs: the service refuses another in the same project. */
function isBusy({ operations }: Project): boolean {
  return [...operations.values()].some(({ status }) => operationOutcome(status) === "in-progress");
}
