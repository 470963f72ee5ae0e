import { scopedProjectOf } from "../../api/error.ts";
import type { Operation } from "../../api/operation.ts";
import type { Project } from "../../api/project.ts";
import type { Clock } from "../runtime/clock.ts";
import { type Account, accountFingerprint } from "../service-client/account.ts";
import type { InHand } from "../service-client/admission.ts";
import type { Failure } from "../service-client/answer.ts";
import type { BudgetLimits, RequestBudget } from "../service-client/budget.ts";
import type { Budgets } from "../service-client/budgets.ts";
import { ServiceClient } from "../service-client/client.ts";
import type { RequestObserver } from "../service-client/exchange.ts";
import type { ServiceTransport } from "../service-client/transport.ts";
import { EndpointLister } from "./endpoint-lister.ts";
import { type Health, isKeyRefused, type KeyType, keyTypeShownBy, probeInterval, shownBy } from "./health.ts";
import type { Listing } from "./listing.ts";
import { Pause } from "./pause.ts";
import { projectIsGone } from "./project-gone.ts";
import { RefreshInterval } from "./refresh-interval.ts";
import { Suspicion } from "./suspicion.ts";

export interface SessionOptions {
  account: Account;
  budgets: Budgets;
  /** Base URLs of services that have shown the name of an endpoint: of the process, as the budgets are. */
  namesShownBy: Set<string>;
  transport: ServiceTransport;
  clock: Clock;
  beforeWrite: () => void;
  /** Has these Computes looked at again. */
  enqueue: (uids: Iterable<string>) => void;
  /** Health or key type changed: the connections that use this session have news. */
  onChange: () => void;
  signal: AbortSignal;
  observe?: RequestObserver;
  /** A pass begins or ends to wait for the service. */
  inHand?: InHand;
  onListed?: (projectID: string, listing: Listing) => void;
  /** No Compute uses the project any more. */
  onUnused?: (projectID: string) => void;
  onOperationEnded?: (operation: Operation) => void;
}

/** What one connection asks of a session that it may share with others. */
export interface SessionLimits {
  limits: BudgetLimits;
  refreshIntervalMs: number;
}

/** Probes that failing requests bring forward are at least this far apart, in milliseconds. */
const doubtMs = 30_000;

/** All that is shared by the connections with one account: client, health, one watcher per project. */
export class Session {
  /** Names base URL and key, without giving the key away. */
  readonly through: string;
  /** For passes. */
  readonly client: ServiceClient;
  /** For lists and polls, which no pass waits for. */
  readonly #background: ServiceClient;
  /** The probe's own: it goes out also with a key that was refused. */
  readonly #prober: ServiceClient;
  readonly budget: RequestBudget;
  readonly pause: Pause;
  readonly refreshes: RefreshInterval;
  /** Aborts when the session is no longer used, or the operator stops. */
  readonly signal: AbortSignal;
  readonly #options: SessionOptions;
  readonly #stop = new AbortController();
  readonly #watchers = new Map<string, EndpointLister>();
  readonly #terms = new Map<string, SessionLimits>();
  #health: Health = { kind: "unknown" };
  #keyType: KeyType = "unknown";
  #projects: readonly Project[] | undefined;
  #unlisted: Failure | undefined;
  /** The organization that a project was last seen to belong to. */
  readonly #owners = new Map<string, string>();
  #probing = false;
  #failedProbes = 0;
  /** Requests failed since the last probe: only another tells whether it is the service or the request. */
  #doubted = false;
  #probedAt = Number.NEGATIVE_INFINITY;
  readonly #suspicion: Suspicion;

  /** The first connection that uses it comes with it: there is no budget without. */
  constructor(options: SessionOptions, connectionUID: string, terms: SessionLimits) {
    this.#options = options;
    this.signal = AbortSignal.any([options.signal, this.#stop.signal]);
    const { account, transport, clock, beforeWrite, observe, inHand } = options;
    this.through = accountFingerprint(account);
    this.#suspicion = new Suspicion(clock, () => options.onChange());
    this.#terms.set(connectionUID, terms);
    this.budget = options.budgets.join(this.through, connectionUID, terms.limits);
    const shared = {
      account,
      transport,
      budget: this.budget,
      clock,
      beforeWrite,
      onFailure: (failure: Failure) => this.#learn(failure),
      onAccepted: () => this.#suspicion.clear("unauthorized"),
      onNameShown: () => options.namesShownBy.add(account.baseURL),
      ...(observe === undefined ? {} : { observe }),
    };
    const guarded = { ...shared, circuitOpen: () => this.#circuitOpen(), retired: this.#stop.signal };
    this.client = new ServiceClient({ ...guarded, ...(inHand === undefined ? {} : { inHand }) });
    this.#background = new ServiceClient(guarded);
    this.#prober = new ServiceClient(shared);
    this.pause = new Pause(this.budget, options.onChange);
    this.refreshes = new RefreshInterval(() => this.#refreshIntervalMs, this.budget, options.onChange);
  }

  get health(): Health {
    return this.#health;
  }

  get keyType(): KeyType {
    return this.#keyType;
  }

  /** The projects that the key reaches, as last listed; `undefined` until then. */
  get projects(): readonly Project[] | undefined {
    return this.#projects;
  }

  /** Why the service does not list the projects, though it takes the key. */
  get unlisted(): Failure | undefined {
    return this.#unlisted;
  }

  get watchers(): ReadonlyMap<string, EndpointLister> {
    return this.#watchers;
  }

  /** A connection uses this session on these terms; the lowest figures of all win. */
  join(connectionUID: string, terms: SessionLimits): void {
    const before = this.#refreshIntervalMs;
    this.#terms.set(connectionUID, terms);
    this.#options.budgets.join(this.through, connectionUID, terms.limits);
    this.#repace(before);
  }

  /** Answers whether anybody is left. */
  quit(connectionUID: string): boolean {
    const before = this.#refreshIntervalMs;
    this.#terms.delete(connectionUID);
    this.#options.budgets.quit(this.through, connectionUID);
    this.#repace(before);
    return this.#terms.size > 0;
  }

  project(projectID: string): EndpointLister {
    const known = this.#watchers.get(projectID);
    if (known !== undefined) return known;
    const { clock, enqueue, onOperationEnded } = this.#options;
    const watcher = new EndpointLister({
      client: this.#background,
      passes: this.client,
      projectID,
      clock,
      refreshIntervalMs: () => this.#refreshIntervalMs,
      refreshes: this.refreshes,
      enqueue,
      signal: this.signal,
      onListed: (id, listing) => this.#listed(id, listing),
      onOperationEnded,
      onUnused: () => this.#forget(projectID, watcher),
    });
    this.#watchers.set(projectID, watcher);
    return watcher;
  }

  /** Milliseconds until the next probe is due; `undefined` while one runs, since its end is told by `onChange`. */
  probeDueIn(): number | undefined {
    if (this.#probing) return undefined;
    const now = this.#options.clock.monotonic();
    const regular = this.#probedAt + probeInterval(this.#health, this.#failedProbes);
    return this.#doubted ? 0 : Math.max(0, Math.min(regular, this.#suspicion.confirmAt) - now);
  }

  /**
   * Asks the service who we are and which projects there are, where that is due. Returns at once, so that a service
   * that does not answer keeps nobody waiting; `onChange` tells when there is news.
   */
  probe(): void {
    if (this.probeDueIn() !== 0) return;
    void this.#ask();
  }

  /** Whether a project is proved to be gone. */
  projectIsGone(projectID: string, client: ServiceClient): Promise<boolean> {
    const { signal } = this;
    const organizationID = this.#options.account.organizationID ?? this.#owners.get(projectID);
    return projectIsGone(projectID, { client, signal, keyType: this.#keyType, organizationID });
  }

  stop(): void {
    this.#stop.abort(new Error("the connection is no longer used"));
    this.pause.stop();
    for (const connectionUID of this.#terms.keys()) this.#options.budgets.quit(this.through, connectionUID);
    for (const watcher of this.#watchers.values()) watcher.stop();
  }

  get #refreshIntervalMs(): number {
    return Math.min(...[...this.#terms.values()].map((terms) => terms.refreshIntervalMs));
  }

  /** A changed interval counts at once: the former may be a day. */
  #repace(before: number): void {
    if (this.#terms.size === 0 || this.#refreshIntervalMs === before) return;
    for (const watcher of this.#watchers.values()) watcher.repace();
  }

  async #ask(): Promise<void> {
    const { organizationID } = this.#options.account;
    this.#probedAt = this.#options.clock.monotonic();
    this.#probing = true;
    this.#doubted = false;
    try {
      const auth = await this.#prober.auth(this.signal);
      if (isKeyRefused(auth)) return;
      if (auth.kind === "ok") this.#keyType = keyTypeShownBy(auth.value.auth_method, this.#keyType);
      const listed = await this.#prober.listProjects(organizationID, this.signal);
      if (isKeyRefused(listed)) return;
      if (listed.kind === "ok") this.#take(listed.value.projects);
      const { health, unlisted } = shownBy(listed, organizationID, { health: this.#health, unlisted: this.#unlisted });
      this.#unlisted = unlisted;
      const falls = health.kind === "unreachable" && this.#health.kind === "reachable";
      if (!falls || this.#suspicion.isConfirmed("unreachable")) this.#setHealth(health);
    } catch {
      // Called off: the session is no longer used.
    } finally {
      this.#probing = false;
      this.#suspicion.probed(this.#probedAt);
      if (this.#health.kind === "reachable") this.#failedProbes = 0;
      else if (!this.#suspicion.pending) this.#failedProbes += 1;
      if (!this.signal.aborted) this.#options.onChange();
    }
  }

  #take(projects: readonly Project[]): void {
    this.#projects = projects.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const id of this.#owners.keys()) if (!this.#watchers.has(id)) this.#owners.delete(id);
    for (const { id, org_id } of projects) if (org_id !== undefined) this.#owners.set(id, org_id);
  }

  /** Answers what the failure counts as. */
  #learn(failure: Failure): Failure {
    if (failure.kind === "unauthorized" && this.#health.kind !== "unauthorized") {
      if (!this.#suspicion.isConfirmed("unauthorized")) return { kind: "refusedOnce", message: failure.message };
      this.#probedAt = this.#options.clock.monotonic();
      this.#setHealth({ kind: "unauthorized", message: failure.message });
    }
    if (failure.kind === "unavailable" || failure.kind === "ambiguous") this.#scheduleProbe();
    if (failure.kind === "forbidden" && scopedProjectOf(failure.message) !== undefined && this.#keyType !== "project") {
      this.#keyType = "project";
      this.#options.onChange();
    }
    return failure;
  }

  /** A probe is brought forward, so that the connection need not be called good for ten minutes after its end. */
  #scheduleProbe(): void {
    const sinceProbe = this.#options.clock.monotonic() - this.#probedAt;
    if (this.#probing || this.#doubted || this.#health.kind !== "reachable" || sinceProbe < doubtMs) return;
    this.#doubted = true;
    this.#options.onChange();
  }

  /** Whether some answer of the service has shown a name: until then a missing name proves nothing. */
  get showsNames(): boolean {
    return this.#options.namesShownBy.has(this.#options.account.baseURL);
  }

  #listed(projectID: string, listing: Listing): void {
    if (this.#health.kind === "unreachable") {
      this.#failedProbes = 0;
      this.#setHealth({ kind: "reachable" });
    }
    this.#options.onListed?.(projectID, listing);
  }

  /** The last Compute left the project: whoever comes next begins with a list of its own. */
  #forget(projectID: string, watcher: EndpointLister): void {
    watcher.stop();
    if (this.#watchers.get(projectID) === watcher) this.#watchers.delete(projectID);
    if (this.#watchers.size === 0) this.refreshes.reset();
    this.#options.onUnused?.(projectID);
  }

  #setHealth(health: Health): void {
    const changed = health.kind !== this.#health.kind;
    this.#health = health;
    if (changed) this.#options.onChange();
  }

  /** A refused key stays at home, but for the probe. */
  #circuitOpen(): Failure | undefined {
    return this.#health.kind === "unauthorized" ? { kind: "unauthorized", message: this.#health.message } : undefined;
  }
}
