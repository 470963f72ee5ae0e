import type { Operation } from "../../api/operation.ts";
import { EndpointLister } from "../project/endpoint-lister.ts";
import type { Listing } from "../project/list-changes.ts";
import { OperationTimes } from "../project/operation-times.ts";
import { Orphans, type OrphansAmong } from "../project/orphans.ts";
import { RefreshInterval } from "../project/refresh-interval.ts";
import { ServiceTime } from "../project/service-time.ts";
import type { WriteWindows } from "../project/write-window.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { unattended } from "../runtime/unattended.ts";
import { type Account, accountFingerprint } from "../service-client/account.ts";
import type { Failure } from "../service-client/answer.ts";
import type { BudgetLimits, RequestBudget } from "../service-client/budget.ts";
import type { Budgets } from "../service-client/budgets.ts";
import { ServiceClient } from "../service-client/client.ts";
import type { RequestObserver } from "../service-client/exchange.ts";
import type { ServiceTransport } from "../service-client/transport.ts";
import { ConnectionState } from "./connection-state.ts";
import { probe, projectIsGone } from "./probe.ts";

export interface SessionOptions {
  account: Account;
  budgets: Budgets;
  /** Base URLs of services that have shown the name of an endpoint. Belongs to the process, as the budgets do. */
  namesShownBy: Set<string>;
  windows: WriteWindows;
  transport: ServiceTransport;
  clock: Clock;
  beforeWrite: () => void;
  log: Logger;
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
  /** True if a Compute that is enqueued now gets a worker soon. */
  mayStart?: (uid: string) => boolean;
  /** Something changed that the connections of this session report in their status. */
  onChange: () => void;
  signal: AbortSignal;
  observe?: RequestObserver;
  /** `undefined` without a fleet. */
  orphansAmong?: OrphansAmong | undefined;
  onListed?: (projectID: string, listing: Listing, baseURL: string) => void;
  /** No Compute uses the project any more. */
  onUnused?: (projectID: string, baseURL: string) => void;
  onOperationEnded?: (operation: Operation, baseURL: string) => void;
}

/** Limits that one connection sets to a session that it may share with others. */
export interface SessionLimits {
  limits: BudgetLimits;
  refreshIntervalMs: number;
}

/** Limits of the public service for a key that is scoped to a project: ten requests a second. */
const projectKeyLimits: BudgetLimits = { perMinute: 600, burst: 10 };

/** The name of that limit among those that connections set to a budget. */
const projectKeyUser = "project-scoped key";

/** Session of all connections with the same account: state, clients, budget, one endpoint lister per project. */
export class Session {
  /** Identifies base URL and key without revealing the key. */
  readonly fingerprint: string;
  readonly client: ServiceClient;
  /** For probes: sends with a refused key too. */
  readonly #probing: ServiceClient;
  readonly state: ConnectionState;
  readonly budget: RequestBudget;
  readonly refreshes: RefreshInterval;
  readonly time: ServiceTime;
  /** `undefined` without a fleet. */
  readonly orphans: Orphans | undefined;
  /** Aborts when the session is no longer used, or the operator stops. */
  readonly signal: AbortSignal;
  readonly #options: SessionOptions;
  readonly #stop = new AbortController();
  readonly #listers = new Map<string, EndpointLister>();
  readonly #times = new OperationTimes();
  readonly #limits = new Map<string, SessionLimits>();

  /** The first connection comes with its limits, because there is no budget without. */
  constructor(options: SessionOptions, connectionUID: string, limits: SessionLimits) {
    this.#options = options;
    this.signal = AbortSignal.any([options.signal, this.#stop.signal]);
    const { account, transport, clock, beforeWrite, observe, onChange } = options;
    this.fingerprint = accountFingerprint(account);
    this.#limits.set(connectionUID, limits);
    this.budget = options.budgets.join(this.fingerprint, connectionUID, limits.limits);
    this.time = new ServiceTime(clock);
    const isUsed = (projectID: string) => this.#listers.has(projectID);
    const onStateChange = () => {
      if (this.state.keyType === "project") this.#limitAsProjectKey();
      onChange();
    };
    this.state = new ConnectionState({ clock, budget: this.budget, onChange: onStateChange, isUsed });
    const shared = {
      account,
      transport,
      budget: this.budget,
      clock,
      beforeWrite,
      onFailure: (failure: Failure) => this.state.failed(failure),
      onAccepted: () => this.state.accepted(),
      onNameShown: () => options.namesShownBy.add(account.baseURL),
      observe,
      onDate: (dateMs: number, tookMs: number) => {
        if (this.time.shown(dateMs, tookMs)) for (const lister of this.#listers.values()) lister.enqueueAll();
      },
    };
    this.client = new ServiceClient({
      ...shared,
      circuitOpen: () => this.state.refusal,
      retired: this.#stop.signal,
    });
    this.#probing = new ServiceClient(shared);
    this.orphans = options.orphansAmong && new Orphans(options.orphansAmong, onChange);
    this.refreshes = new RefreshInterval(() => this.#refreshIntervalMs, this.budget, onChange);
  }

  /** Normalised. */
  get baseURL(): string {
    return this.#options.account.baseURL;
  }

  /** The orphaned endpoints, told apart from those of other services. */
  get orphanIDs(): string[] {
    const { baseURL } = this;
    return (this.orphans?.all ?? []).map(({ id }) => `${baseURL} ${id}`);
  }

  get listers(): ReadonlyMap<string, EndpointLister> {
    return this.#listers;
  }

  /** True once an answer of the service has shown the name of an endpoint: until then a missing name proves nothing. */
  get showsNames(): boolean {
    return this.#options.namesShownBy.has(this.#options.account.baseURL);
  }

  /** A connection uses this session with these limits; the lowest limits of all connections apply. */
  join(connectionUID: string, limits: SessionLimits): void {
    const before = this.#refreshIntervalMs;
    this.#limits.set(connectionUID, limits);
    this.#options.budgets.join(this.fingerprint, connectionUID, limits.limits);
    this.#reschedule(before);
  }

  /** Returns whether a connection still uses the session. */
  quit(connectionUID: string): boolean {
    const before = this.#refreshIntervalMs;
    this.#limits.delete(connectionUID);
    this.#options.budgets.quit(this.fingerprint, connectionUID);
    this.#reschedule(before);
    return this.#limits.size > 0;
  }

  /** Starts a probe if one is due. Returns at once: a service that does not answer must not block a worker. */
  probe(): void {
    if (this.state.probeInMs !== 0) return;
    const { state, signal } = this;
    const { account, log, onChange } = this.#options;
    const probing = { state, client: this.#probing, organizationID: account.organizationID, signal, onEnd: onChange };
    void unattended(probe(probing), { signal, log }, "A probe of the connection ended by a defect: continuing");
  }

  project(projectID: string): EndpointLister {
    const known = this.#listers.get(projectID);
    if (known !== undefined) return known;
    const { account, windows, clock, log, enqueue, mayStart, onListed, onOperationEnded } = this.#options;
    const lister = new EndpointLister({
      client: this.client,
      projectID,
      clock,
      log,
      refreshIntervalMs: () => this.#refreshIntervalMs,
      refreshes: this.refreshes,
      times: this.#times,
      window: windows.of(account.baseURL, projectID),
      showsNames: () => this.showsNames,
      enqueue,
      mayStart,
      signal: this.signal,
      onListed: (id, listing) => {
        this.state.listed();
        this.orphans?.listed(id, listing);
        onListed?.(id, listing, account.baseURL);
      },
      onOperationEnded: (operation) => onOperationEnded?.(operation, account.baseURL),
      onUnused: () => this.#remove(projectID, lister),
    });
    this.#listers.set(projectID, lister);
    return lister;
  }

  /** True if a project is proved to be gone. */
  projectIsGone(projectID: string, client: ServiceClient): Promise<boolean> {
    const { signal } = this;
    const { keyType } = this.state;
    const organizationID = this.#options.account.organizationID ?? this.state.organizationOf(projectID);
    return projectIsGone(projectID, { client, signal, keyType, organizationID });
  }

  stop(): void {
    this.#stop.abort(new Error("the connection is no longer used"));
    this.state.stop();
    const users = [...this.#limits.keys(), projectKeyUser];
    for (const user of users) this.#options.budgets.quit(this.fingerprint, user);
    for (const lister of this.#listers.values()) lister.stop();
  }

  #limitAsProjectKey(): void {
    this.#options.budgets.join(this.fingerprint, projectKeyUser, projectKeyLimits);
  }

  get #refreshIntervalMs(): number {
    return Math.min(...[...this.#limits.values()].map(({ refreshIntervalMs }) => refreshIntervalMs));
  }

  /** A changed interval applies at once: the previous one may be a day. */
  #reschedule(before: number): void {
    if (this.#limits.size === 0 || this.#refreshIntervalMs === before) return;
    for (const lister of this.#listers.values()) lister.reschedule();
  }

  /** The last Compute left the project: the next one starts with a list of its own. */
  #remove(projectID: string, lister: EndpointLister): void {
    lister.stop();
    this.client.forgetList(projectID);
    this.orphans?.forget(projectID);
    if (this.#listers.get(projectID) === lister) this.#listers.delete(projectID);
    if (this.#listers.size === 0) this.refreshes.reset();
    this.#options.onUnused?.(projectID, this.#options.account.baseURL);
  }
}
