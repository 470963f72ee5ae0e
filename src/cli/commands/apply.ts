import { isInProgress } from "../../api/operation.ts";
import { retriedAtEnd } from "../../operator/conditions/messages.ts";
import { placeOf } from "../../operator/objects/object.ts";
import { printableLine } from "../../operator/objects/printable-line.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { Inventory } from "../plan/inventory.ts";
import type { Leaving, Project, Tracked, TrackedBranch } from "../plan/tracked.ts";
import { branchRound } from "./apply-branches.ts";
import { computeRound } from "./apply-computes.ts";
import { repeat } from "./repeat.ts";
import type { Awaited, Round, RoundContext } from "./round.ts";

export interface ApplyOptions {
  inventory: Inventory;
  timeoutMs: number;
  /** Called with each step, as a line for a person. */
  say: (line: string) => void;
}

/** The number of Branches and Computes that are as declared in the end, that wait, and of the others. */
export interface Applied {
  done: number;
  waiting: Record<Awaited, number>;
  failed: number;
}

/** Pauses between refreshes, in milliseconds: short after a write, growing while nothing changes. */
const pauses = { shortest: 250, longest: 5000, factor: 1.5 } as const;

/**
 * Applies the plan of every Branch and Compute until nothing is left to do.
 *
 * Expected flow: refresh the lists, plan each Branch and then each Compute, send at most one write per project, wait
 * until the service has finished, repeat. Guarantees: every write is planned from a list that was requested after the
 * previous write had ended.
 */
export class Application {
  readonly #options: ApplyOptions;
  /** The Branches, then the Computes, that have not come to their end. */
  readonly #open: Set<Tracked>;
  readonly #applied: Applied = { done: 0, waiting: { "a window": 0, "their turn": 0 }, failed: 0 };
  /** The last line about each of them, so that nothing is repeated. */
  readonly #said = new Map<Tracked, string>();

  constructor(options: ApplyOptions) {
    this.#options = options;
    const { tracked } = options.inventory;
    this.#open = new Set<Tracked>([...tracked.Branch, ...tracked.Compute]);
  }

  async run(): Promise<Applied> {
    const { signal } = this.#options.inventory.options;
    try {
      await this.#rounds();
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) this.#giveUp("interrupted; what was sent goes on at the service");
    return this.#applied;
  }

  async #rounds(): Promise<void> {
    const { inventory, timeoutMs } = this.#options;
    let pause: number = pauses.shortest;
    const next = async () => {
      const wrote = await this.#round();
      pause = wrote ? pauses.shortest : Math.min(pauses.longest, Math.ceil(pause * pauses.factor));
      return this.#open.size === 0 ? "done" : pause;
    };
    const isInTime = await repeat(next, inventory.options, timeoutMs);
    if (!isInTime) this.#giveUp(`not done after ${timeoutMs / 1000} s (--timeout)`);
  }

  /** Refreshes once and sends the writes that are possible. Returns whether any was sent. */
  async #round(): Promise<boolean> {
    const { inventory } = this.#options;
    const { signal } = inventory.options;
    const projects = [...new Set([...this.#open].map(({ project }) => project))];
    await Promise.all(projects.map((project) => followOperations(project, signal)));
    await inventory.refresh(projects);
    const taken = new Set(projects.filter(isBusy));
    const open = leavingOf(this.#open);
    let hasWritten = false;
    for (const tracked of this.#open) {
      if (signal.aborted) break;
      const mayWrite = !taken.has(tracked.project);
      const { wrote, end, said } = await roundOf(tracked, { inventory, mayWrite, open });
      if (wrote) taken.add(tracked.project);
      hasWritten ||= wrote;
      if (end !== undefined) this.#end(tracked, end);
      else if (said !== undefined) this.#say(tracked, said);
    }
    return hasWritten;
  }

  #giveUp(why: string): void {
    for (const tracked of this.#open) {
      const last = this.#said.get(tracked);
      this.#end(tracked, { ok: false, said: last === undefined ? why : `${why}; last: ${last}` });
    }
  }

  #end(tracked: Tracked, { ok, said, waits }: NonNullable<Round["end"]>): void {
    this.#open.delete(tracked);
    if (waits !== undefined) this.#applied.waiting[waits] += 1;
    else this.#applied[ok ? "done" : "failed"] += 1;
    this.#say(tracked, ok ? said : said.replace(retriedAtEnd, "."), !ok);
  }

  #say(tracked: Tracked, said: string, failed = false): void {
    if (this.#said.get(tracked) === said && !failed) return;
    this.#said.set(tracked, said);
    const place = placeOf(tracked.object.metadata);
    const name = tracked.kind === "Compute" ? place : `Branch ${place}`;
    this.#options.say(`${failed ? "! " : "  "}${name}: ${printableLine(said)}`);
  }
}

function roundOf(tracked: Tracked, context: RoundContext): Promise<Round> {
  return tracked.kind === "Compute" ? computeRound(tracked, context) : branchRound(tracked, context);
}

/** The objects that are open as a round begins. */
function leavingOf(open: ReadonlySet<Tracked>): Leaving {
  const found = { computes: new Set<Compute>(), branches: new Set<TrackedBranch>() };
  for (const tracked of open) {
    if (tracked.kind === "Compute") found.computes.add(tracked.object);
    else found.branches.add(tracked);
  }
  return found;
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
