import { earlyMs, sleep, unlessAborted } from "../runtime/clock.ts";
import { turnsOf } from "../runtime/event-loop.ts";
import { hourlyMs } from "../runtime/waits.ts";
import type { ListSelection } from "./client.ts";
import { ClusterError, ClusterUnreachable, errorOfStatus, isGone, isNotFound } from "./errors.ts";
import { listAll } from "./list-all.ts";
import { type KubeObject, type ResourceKind, readObject, uidIn, versionIn } from "./objects.ts";
import type { ReflectorOptions, RelistCause } from "./reflector-options.ts";
import { delayAfter, isPersistent, needsList } from "./retry.ts";
import { type Change, isNewer, ObjectStore } from "./store.ts";
import type { WatchLine } from "./transport.ts";

export type { ReflectorObserver, ReflectorOptions, RelistCause } from "./reflector-options.ts";

const shortestWatchMs = 1000;
/** A watch without a line for this long is dead: even of a quiet kind, bookmarks come every two minutes. */
const idleTimeoutMs = 150_000;
/** After this many idle time-outs without a line the version of the watch may be one that is still to come. */
const mostSilences = 2;
/** Number of a list's objects read before others may have their turn: a few milliseconds after a start. */
const readAtOnce = 20;

/** An unknown kind mostly means that its CRD is not installed yet. */
function whyNoList(error: unknown, { group, plural }: ResourceKind): string {
  if (!isNotFound(error) || group === "") return "The list failed: trying again";
  return `The API server knows no ${plural}.${group}: are the definitions installed (kubectl apply -k crds)? Trying again`;
}

/**
 * Keeps a copy of all objects of a kind by LIST and WATCH.
 *
 * Expected flow: list, watch from its version, watch again when the watch closes, list again when the version has
 * expired. A restore of etcd takes the server back to an older version: it waits in silence until the version of the
 * watch comes again, so silence, a line of an older version and each hour are followed by a list too.
 * Guarantees: it runs until its signal aborts, whatever the API server does; the copy may lag behind the server but not
 * behind this process's own writes, whose answers enter it. Assumptions: event handlers enqueue a key and return.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly store = new ObjectStore<T>();
  readonly #synced = Promise.withResolvers<void>();
  #hasSynced = false;
  #isServed = false;
  #lastHeardAt: number;
  /** The version at which the next watch continues; `undefined` requires a list. */
  #resourceVersion: string | undefined;
  #relistCause: RelistCause = "start";
  #listedAt = 0;
  /** Failures in a row, without a line of a watch in between. */
  #failures = 0;
  /** Idle time-outs in a row, without a line of a watch in between. */
  #silences = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#lastHeardAt = options.clock.monotonic();
  }

  /** True once a complete list was read, while the kind is not known to be uninstalled since. */
  isServed(): boolean {
    return this.#isServed;
  }

  /** True if everything that can be known is: a complete list was read, or an optional kind cannot be listed. */
  isReady(): boolean {
    return this.#isServed || (this.#options.optional === true && this.#hasSynced);
  }

  /**
   * Resolves once the first complete list is read, or the kind is being uninstalled, so that there is nothing to list.
   * Rejects with the signal's reason if that aborts first.
   */
  whenSynced(signal: AbortSignal): Promise<void> {
    return unlessAborted(this.#synced.promise, signal);
  }

  /** Milliseconds since the API server last sent anything: a line of the watch, bookmarks included, or a list. */
  lastEventAgeMs(): number {
    return this.#options.clock.monotonic() - this.#lastHeardAt;
  }

  /**
   * Adds the API server's answer to a write of this process; see `ObjectStore.answered`. Before the first list there is
   * nothing to add it to.
   */
  answered(raw: unknown, created: boolean): void {
    if (!this.#hasSynced) return;
    const object = readObject(this.#options, raw);
    if (object === undefined || (created && !this.#selects(object))) return;
    this.#tell(this.store.answered(object, { created, seenUpTo: this.#resourceVersion }));
  }

  /** Lists and watches until the signal aborts, then resolves. Never rejects. Called once. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#isListOld()) this.#askForList("periodic");
        if (this.#resourceVersion === undefined) await this.#list(signal);
        else await this.#watch(this.#resourceVersion, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#resourceVersion === undefined) await this.#checkInstalled(error, signal);
        this.#failures += 1;
        this.#note(error);
        const delay = delayAfter(error, this.#failures, this.#options.random);
        await sleep(this.#options.clock, delay, signal).catch(() => {});
      }
    }
  }

  /** Logs a failure, and asks for a list where the watch cannot continue. */
  #note(error: unknown): void {
    const { log, kind, observer } = this.#options;
    const watching = this.#resourceVersion !== undefined;
    const fields = { kind: kind.kind, failures: this.#failures, error };
    if (watching) observer?.watchRestarted?.(kind.kind, isGone(error) ? "expired" : "failed");
    if (isGone(error)) log.info(fields, "The resource version of the watch has expired: listing again");
    else {
      const message = watching ? "The watch failed: opening it again" : whyNoList(error, kind);
      const isMissing = this.isReady() && !this.#isServed && this.#failures > 1;
      log[isMissing ? "debug" : isPersistent(this.#failures) ? "warn" : "info"](fields, message);
    }
    const needed = this.#silences >= mostSilences || needsList(error, this.#failures, this.lastEventAgeMs());
    if (watching && needed) this.#askForList("expired");
  }

  /** Then the list is read again when the next watch ends, for any reason. */
  #isListOld(): boolean {
    return this.#resourceVersion !== undefined && this.#options.clock.monotonic() - this.#listedAt >= hourlyMs;
  }

  #askForList(cause: RelistCause): void {
    this.#resourceVersion = undefined;
    this.#relistCause = this.#hasSynced ? cause : "start";
  }

  /** A kind that is being uninstalled has no objects, so a process that starts now must not wait for a list of it. */
  async #checkInstalled(failed: unknown, signal: AbortSignal): Promise<void> {
    if (this.#options.optional === true) {
      const isMissing = failed instanceof ClusterError && (failed.status === 403 || failed.status === 404);
      if (isMissing && !this.#hasSynced) await this.#replace([], [], "", signal);
      return;
    }
    if (!isNotFound(failed)) return;
    const uninstalled = await this.#options.isUninstalled?.().catch((error: unknown) => {
      this.#options.log.warn({ kind: this.#options.kind.kind, error }, "Cannot tell whether the kind is uninstalled");
      return false;
    });
    if (uninstalled !== true || (this.#hasSynced && !this.#isServed)) return;
    this.#isServed = false;
    await this.#replace([], [], "", signal);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, kind, clock, pageSize = 200 } = this.#options;
    const startedAt = clock.monotonic();
    this.store.beginList();
    const objects: T[] = [];
    const unreadable: string[] = [];
    let count = 0;
    const read = async (item: unknown) => {
      count += 1;
      if (count % readAtOnce === 0) await turnsOf(clock).next(signal);
      const object = this.#read(item);
      if (object !== undefined) objects.push(object);
      else unreadable.push(uidIn(item));
    };
    const selection = { ...this.#selection(), limit: pageSize };
    const { resourceVersion } = await listAll(client, kind, selection, read, signal);
    this.#resourceVersion = resourceVersion;
    this.#silences = 0;
    this.#listedAt = startedAt;
    this.#lastHeardAt = clock.monotonic();
    this.#isServed = true;
    await this.#replace(objects, unreadable, resourceVersion, signal);
  }

  async #replace(
    objects: readonly T[],
    unreadable: readonly string[],
    version: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { kind, clock, observer, onRelist } = this.#options;
    const cause = this.#relistCause;
    observer?.relisted?.(kind.kind, cause);
    this.#guard(() => onRelist?.(cause));
    for (const [index, step] of this.store.replace(objects, unreadable, version).entries()) {
      if (index > 0) await sleep(clock, 0, signal).catch(() => {});
      this.#tell(step());
    }
    this.#hasSynced = true;
    this.#synced.resolve();
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { client, kind, clock, random, observer } = this.#options;
    const timeoutSeconds = 300 + Math.floor(300 * random());
    const openedAt = clock.monotonic();
    let heardAt: number | undefined;
    const silentMs = () => clock.monotonic() - (heardAt ?? openedAt);
    const parameters = { ...this.#selection(), resourceVersion: from, timeoutSeconds };
    try {
      for await (const line of client.watch(kind, parameters, { signal, idleTimeoutMs })) {
        signal.throwIfAborted();
        this.#take(line);
        this.#failures = 0;
        this.#silences = 0;
        heardAt = this.#lastHeardAt = clock.monotonic();
        if (this.#resourceVersion === undefined) return;
      }
    } catch (error) {
      if (silentMs() > idleTimeoutMs - earlyMs) this.#silences += 1;
      throw error;
    }
    signal.throwIfAborted();
    if (heardAt === undefined && silentMs() < shortestWatchMs) {
      throw new ClusterUnreachable(`the watch of ${kind.plural} was closed as soon as it was opened`);
    }
    this.#failures = 0;
    observer?.watchRestarted?.(kind.kind, "closed");
  }

  #take(line: WatchLine): void {
    const { kind } = this.#options;
    switch (line.type) {
      case "BOOKMARK":
        break;
      case "ADDED":
      case "MODIFIED": {
        const object = this.#read(line.object);
        if (object !== undefined) this.#tell(this.store.upsert(object));
        break;
      }
      case "DELETED": {
        const known = this.store.byUid(uidIn(line.object));
        const last = readObject(this.#options, line.object) ?? known;
        if (last !== undefined) this.#tell(this.store.remove(last));
        break;
      }
      case "ERROR":
        throw errorOfStatus(line.object, `watch of ${kind.plural}`);
      default:
        this.#options.log.warn({ kind: kind.kind, type: line.type }, "The watch sent a line of an unknown type");
        return;
    }
    const version = versionIn(line.object);
    if (version === undefined) return;
    if (isNewer(this.#resourceVersion ?? "", version) === true) this.#askForList("expired");
    else this.#resourceVersion = version;
  }

  /**
   * Parses each version once: the watch echoes the answers to our own writes, and a list repeats what is known. Not for
   * the last state of an object, which may bear the version before.
   */
  #read(raw: unknown): T | undefined {
    const known = this.store.byUid(uidIn(raw));
    const isKnown = known !== undefined && known.metadata.resourceVersion === versionIn(raw);
    return isKnown ? known : readObject(this.#options, raw);
  }

  #tell(changes: readonly Change<T>[]): void {
    for (const change of changes) this.#guard(() => this.#options.onChange(change));
  }

  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.log.error({ kind: this.#options.kind.kind, error }, "An event handler threw: continuing");
    }
  }

  #selects(object: T): boolean {
    const { namespace, selects } = this.#options;
    return (namespace === undefined || object.metadata.namespace === namespace) && selects?.(object) !== false;
  }

  #selection(): ListSelection {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return { namespace, labelSelector, fieldSelector };
  }
}
