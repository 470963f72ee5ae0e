import type { ServiceClock } from "../../clock.ts";
import { messageOf } from "../../error-message.ts";
import { madeOnce } from "../../made-once.ts";
import { Repeated } from "../../repeated.ts";
import { Turns } from "../../sharing/turns.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { segmentBytes } from "../data/segments.ts";
import type { Histories } from "./histories.ts";

/** A server that runs. */
export interface KeptServer {
  endpoint: Pick<StoredEndpoint, "type" | "branchId" | "projectId">;
  data: string;
}

export interface KeeperPorts {
  clock: ServiceClock;
  running(): readonly KeptServer[];
  histories: Histories;
  /** Adds a base to the history of a branch whose server runs. */
  addBase(branchId: string): Promise<void>;
  /** Bytes that the data of a directory takes on the disk. */
  sizeOf(directory: string): Promise<number>;
  /** The owner of a project. */
  ownerOf(projectId: string): string;
  /** Start of the history that a project keeps of its branches, in milliseconds since the epoch. */
  keptSince(projectId: string): number;
  /** Called once for each reason that keeping a branch's history fails, until it succeeds, or its server has ended. */
  onProblem(message: string): void;
}

/** Interval at which the segments that servers have completed are taken, in milliseconds. */
const everyMs = 5000;

/** The least log that is kept between two bases, in bytes. */
const leastLog = 256 * 1024 ** 2;

/**
 * Keeps the histories of branches whose primaries run: takes the segments that are complete, and adds a base as soon as
 * the log since the last one is larger than the data and than 256 MiB. With two bases at most, a history takes no more
 * than two copies of the data and twice that log. No log waits for a base, which a client may hold up, and no base for
 * one of another owner's. A base that the end of its server breaks off is due again with the next segment: until one
 * is whole, the history loses nothing, and its log grows.
 */
export class HistoryKeeper {
  readonly #ports: KeeperPorts;
  readonly #repeated: Repeated;
  /** By branch: the base that is added, or waits for another one of its owner. */
  readonly #adding = new Map<string, Promise<void>>();
  readonly #turns = new Turns();
  /** By branch whose server runs: why its history cannot be kept. */
  readonly #problems = new Map<string, string>();

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
    const work = async () => void this.#addBases(await this.#takeLogs());
    this.#repeated = new Repeated(ports.clock, everyMs, work, (error) => ports.onProblem(messageOf(error)));
  }

  begin(): void {
    this.#repeated.begin();
  }

  /** Resolves when nothing is under way. */
  async close(): Promise<void> {
    await this.#repeated.close();
    await this.#turns.idle();
  }

  async keep(): Promise<void> {
    await this.#addBases(await this.#takeLogs());
  }

  /** Answers the servers whose histories are due for a base. */
  async #takeLogs(): Promise<KeptServer[]> {
    const due: KeptServer[] = [];
    const all = this.#ports.running();
    const branches = new Set(all.map(({ endpoint }) => endpoint.branchId));
    for (const branchId of this.#problems.keys()) if (!branches.has(branchId)) this.#problems.delete(branchId);
    for (const running of all) {
      if (running.endpoint.type !== "read_write") continue;
      await this.#attempt(running, async () => {
        if (await this.#isDue(running)) due.push(running);
        else this.#problems.delete(running.endpoint.branchId);
      });
    }
    return due;
  }

  async #addBases(due: readonly KeptServer[]): Promise<void> {
    await Promise.all(due.map((one) => madeOnce(this.#adding, one.endpoint.branchId, () => this.#addBase(one))));
  }

  #addBase(running: KeptServer): Promise<void> {
    const { branchId, projectId } = running.endpoint;
    const add = async () => {
      await this.#ports.addBase(branchId);
      await this.#prune(running);
      this.#problems.delete(branchId);
    };
    const added = this.#turns.take(this.#ports.ownerOf(projectId), () => this.#attempt(running, add));
    return added.finally(() => this.#adding.delete(branchId));
  }

  /** A branch whose history cannot be kept does not keep others from theirs. */
  async #attempt({ endpoint: { branchId } }: KeptServer, act: () => Promise<void>): Promise<void> {
    if (this.#repeated.isClosed) return;
    try {
      await act();
    } catch (error) {
      const message = `the history of branch ${branchId} cannot be kept: ${messageOf(error)}`;
      if (message !== this.#problems.get(branchId) && !this.#repeated.isClosed) this.#ports.onProblem(message);
      this.#problems.set(branchId, message);
    }
  }

  async #isDue(running: KeptServer): Promise<boolean> {
    const ports = this.#ports;
    const history = ports.histories.of(running.data);
    const taken = await history.archive(running.data);
    const begun = (await history.bases()).length > 0;
    if (taken === 0 && begun) return false;
    const log = (await history.segmentsSinceBase()) * segmentBytes;
    if (!begun || (log > leastLog && log > (await ports.sizeOf(running.data)))) return true;
    await this.#prune(running);
    return false;
  }

  async #prune({ data, endpoint }: KeptServer): Promise<void> {
    await this.#ports.histories.of(data).prune(this.#ports.keptSince(endpoint.projectId));
  }
}
