import { isInProgress } from "../../api/operation.ts";
import { nameOf, type Observed } from "../../operator/compute/observe/observation.ts";
import type { Outcome } from "../../operator/compute/outcome.ts";
import { type Action, isWrite, type WriteAction } from "../../operator/compute/plan/action.ts";
import { reasons } from "../../operator/compute/words/reasons.ts";
import { retriedAtEnd } from "../../operator/conditions/messages.ts";
import { placeOf } from "../../operator/objects/object.ts";
import { pausedForMs } from "../../operator/resources/pause.ts";
import { type Clock, sleep } from "../../operator/runtime/clock.ts";
import { isOccupied, type TrackedBranch } from "../plan/branch-inventory.ts";
import { carryOut, type DryRun, dryRun } from "../plan/carry-out.ts";
import type { Inventory, Project, Tracked } from "../plan/inventory.ts";
import { withoutRetain } from "../plan/messages.ts";
import { followsBranch } from "../plan/plan-entry.ts";
import { unownedReplicasLike } from "../plan/running-operator.ts";
import { branchRound, isSentAgain } from "./apply-branches.ts";

export interface ApplyOptions {
  inventory: Inventory;
  tracked: readonly Tracked[];
  clock: Clock;
  signal: AbortSignal;
  timeoutMs: number;
  /** Called with each step, as a line for a person. */
  say: (line: string) => void;
}

/** The number of Branches and Computes that are as declared in the end, and of the others. */
export interface Applied {
  done: number;
  failed: number;
}

/** Pauses between refreshes, in milliseconds: short after a write, growing while nothing changes. */
const pauses = { shortest: 250, longest: 5000, factor: 1.5 } as const;

type EntryResult = { ok: boolean; said: string };

/**
 * Applies the plan of every Branch and Compute until nothing is left to do.
 *
 * Expected flow: refresh the lists, plan each Branch and then each Compute, send at most one write per project, wait
 * until the service has finished, repeat. Guarantees: every write is planned from a list that was requested after the
 * previous write had ended.
 */
export class Application {
  readonly #options: ApplyOptions;
  readonly #open: Set<Tracked>;
  readonly #openBranches: Set<TrackedBranch>;
  readonly #applied: Applied = { done: 0, failed: 0 };
  /** The last line about each of them, so that nothing is repeated. */
  readonly #said = new Map<Tracked | TrackedBranch, string>();

  constructor(options: ApplyOptions) {
    this.#options = options;
    this.#open = new Set(options.tracked);
    this.#openBranches = new Set(options.inventory.branches.all);
  }

  async run(): Promise<Applied> {
    const { signal } = this.#options;
    try {
      await this.#rounds();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) this.#giveUp("interrupted; what was sent goes on at the service");
    return this.#applied;
  }

  async #rounds(): Promise<void> {
    const { clock, signal, timeoutMs } = this.#options;
    const endsAt = clock.monotonic() + timeoutMs;
    let pause: number = pauses.shortest;
    while (!signal.aborted) {
      // Each round needs the outcome of the previous one.
      const wrote = await this.#round();
      if (this.#open.size + this.#openBranches.size === 0) break;
      if (clock.monotonic() >= endsAt) {
        this.#giveUp(`not done after ${timeoutMs / 1000} s (--timeout)`);
        break;
      }
      pause = wrote ? pauses.shortest : Math.min(pauses.longest, Math.ceil(pause * pauses.factor));
      await sleep(clock, pause, signal);
    }
  }

  /** Refreshes once and sends the writes that are possible. Returns whether any was sent. */
  async #round(): Promise<boolean> {
    const { inventory, signal } = this.#options;
    const projects = [...new Set([...this.#openBranches, ...this.#open].map(({ project }) => project))];
    await Promise.all(projects.map((project) => followOperations(project, signal)));
    await inventory.refresh(projects);
    const taken = new Set(projects.filter(isBusy));
    let wrote = await this.#branchRound(taken);
    for (const tracked of this.#open) {
      if (signal.aborted) return wrote;
      const next = await this.#next(tracked);
      const { action } = next;
      if (!isWrite(action)) await this.#wait(action, next, tracked);
      else if (!taken.has(tracked.project)) {
        taken.add(tracked.project);
        wrote = true;
        await this.#send(action, next, tracked);
      }
    }
    return wrote;
  }

  async #branchRound(taken: Set<Project>): Promise<boolean> {
    const { inventory, clock, signal } = this.#options;
    // A round of Branches changes no Compute; the Branches that end in it leave their set.
    const { computes } = inventory;
    const open = { computes: new Set([...this.#open].map(({ compute }) => compute)), branches: this.#openBranches };
    let wrote = false;
    for (const tracked of this.#openBranches) {
      if (signal.aborted) return wrote;
      const mayWrite = !taken.has(tracked.project) && !isOccupied(tracked, computes);
      const round = await branchRound(tracked, { inventory, clock, mayWrite, open });
      if (round.wrote) taken.add(tracked.project);
      wrote ||= round.wrote;
      if (round.end !== undefined) this.#end(tracked, round.end);
      else if (round.said !== undefined) this.#say(tracked, round.said);
    }
    return wrote;
  }

  async #next(tracked: Tracked): Promise<DryRun> {
    const { inventory, clock } = this.#options;
    const observed = inventory.observe(tracked);
    if (observed.kind === "observed") tracked.state.listed(observed);
    return dryRun(inventory, tracked, clock);
  }

  async #send(write: WriteAction, { observed }: DryRun, tracked: Tracked): Promise<void> {
    const unowned = write.kind === "create" ? unownedReplicasLike(observed) : [];
    if (unowned.length > 0 && tracked.state.known.write === undefined) {
      const which = unowned.join(", ");
      const said = `not created: this service has shown no names yet, so an earlier apply may have created one of ${which}, which no manifest claims. Declare them too (export writes the manifests), or set spec.adopt`;
      this.#end(tracked, { ok: false, said });
      return;
    }
    const before = tracked.state.known.failedWrite;
    const outcome = await this.#carryOut(write, observed, tracked);
    const failed = tracked.state.known.failedWrite;
    if (failed === undefined || failed === before || outcome.effect.kind === "restarted") {
      this.#say(tracked, saidOf(write, outcome));
      return;
    }
    const said = withoutRetain(`${failed.reason}: ${failed.message}`);
    if (reasons[failed.reason].retryWrite && isSentAgain(failed)) this.#say(tracked, said);
    else this.#end(tracked, { ok: false, said });
  }

  #carryOut(action: Action, observed: Observed, tracked: Tracked): Promise<Outcome> {
    const { inventory, clock } = this.#options;
    return carryOut(action, observed, { inventory, tracked, clock });
  }

  /**
   * Actions other than writes are executed too, because the next plan depends on the status. A signature that failed
   * changes none: an endpoint is signed only at rest.
   */
  async #wait(action: Exclude<DryRun["action"], WriteAction>, { observed }: DryRun, tracked: Tracked): Promise<void> {
    if (tracked.state.known.signed?.failure === undefined) await this.#carryOut(action, observed, tracked);
    switch (action.kind) {
      case "settled":
        this.#end(tracked, { ok: true, said: `${action.reason}: ${action.message}` });
        return;
      case "release":
        this.#end(tracked, { ok: true, said: action.message });
        return;
      case "blocked": {
        const { branches } = this.#options.inventory;
        const branch = followsBranch(action.reason) ? branches.named(tracked.compute) : undefined;
        if (branch !== undefined && this.#openBranches.has(branch)) return;
        const isPaused = branch !== undefined && pausedForMs(branch.object, this.#options.clock.now()) !== undefined;
        const isOver = reasons[action.reason].apply === "done";
        this.#end(tracked, { ok: isPaused || isOver, said: `${action.reason}: ${action.message}` });
        return;
      }
      case "confirmDeletion":
      case "noop":
        return;
      case "wait":
        // Another line says what was deleted or created, and how it ended.
        if (tracked.pruned !== undefined && action.reason === "Deleting") return;
        if (action.reason === "CreateUnknown" && tracked.state.known.write?.made !== undefined) return;
        this.#waitOrEnd(reasons[action.reason].apply, `${action.reason}: ${action.message}`, tracked);
    }
  }

  #waitOrEnd(what: "wait" | "done" | "fail", said: string, tracked: Tracked): void {
    if (what === "wait") this.#say(tracked, said);
    else this.#end(tracked, { ok: what === "done", said });
  }

  #giveUp(why: string): void {
    for (const tracked of [...this.#openBranches, ...this.#open]) {
      const last = this.#said.get(tracked);
      this.#end(tracked, { ok: false, said: last === undefined ? why : `${why}; last: ${last}` });
    }
  }

  #end(tracked: Tracked | TrackedBranch, { ok, said }: EntryResult): void {
    if ("compute" in tracked) this.#open.delete(tracked);
    else this.#openBranches.delete(tracked);
    this.#applied[ok ? "done" : "failed"] += 1;
    this.#say(tracked, ok ? said : said.replace(retriedAtEnd, "."), !ok);
  }

  #say(tracked: Tracked | TrackedBranch, said: string, failed = false): void {
    if (this.#said.get(tracked) === said && !failed) return;
    this.#said.set(tracked, said);
    const name = "compute" in tracked ? nameOf(tracked.compute) : `Branch ${placeOf(tracked.object.metadata)}`;
    this.#options.say(`${failed ? "! " : "  "}${name}: ${said}`);
  }
}

/** A write that was sent, as a line for a person. */
function saidOf(write: WriteAction, { effect, condition }: Outcome): string {
  const endpoint = effect.kind === "accepted" ? effect.endpoint : undefined;
  switch (write.kind) {
    case "create":
      if (endpoint === undefined) return condition.kind === "shown" ? condition.message : "nothing was sent";
      return `created ${endpoint.id}${endpoint.name === write.attributes.name ? "" : nameless(endpoint.id)}`;
    case "patch":
      return `changed ${write.fields.join(", ")} of ${write.endpointID}`;
    case "sign":
      return `wrote the signature of the fleet as the name of ${write.endpointID}`;
    case "restart":
      return `restarted ${write.endpointID}`;
    case "delete":
      return `deleted ${write.endpointID}`;
  }
}

function nameless(endpointID: string): string {
  return `; this service shows no names, so set spec.adopt to {endpointID: ${endpointID}}; otherwise the next apply cannot recognise it`;
}

/** Reads the operations that our writes started. If the service has none, only the states count. */
async function followOperations({ client, id, operations }: Project, signal: AbortSignal): Promise<void> {
  const running = [...operations.values()].filter(isInProgress);
  await Promise.all(
    running.map(async (operation) => {
      const answer = await client.getOperation(id, operation.id, signal);
      if (answer.kind === "ok") operations.set(operation.id, answer.value);
      else if (answer.kind === "notFound") operations.delete(operation.id);
    }),
  );
}

/** True while an operation of ours is running: the service would refuse another one in the same project. */
function isBusy({ operations }: Project): boolean {
  return [...operations.values()].some(isInProgress);
}
