import { leadingMessage } from "../../../src/operator/kube/lease.ts";
import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";
import { guardRules } from "../../../src/operator/life/guard.ts";
import { sameJSON } from "../../../src/operator/objects/record.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { ServiceRequest } from "../../../src/operator/service-client/transport.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import type { Change } from "../api-server/store.ts";
import { BrakeGuard } from "./brake-guard.ts";
import type { BranchesGuard } from "./branch-guard.ts";
import { BudgetGuard } from "./budget-guard.ts";
import { conditionOf, specOf } from "./computes.ts";
import { KeyGuard } from "./key-guard.ts";
import { LeaderGuard } from "./leader-guard.ts";
import type { Promises } from "./promises.ts";
import type { ServiceWrite } from "./records.ts";
import type { Reply } from "./service-host.ts";
import type { HeardAnswer } from "./service-port.ts";
import type { Services } from "./services.ts";

/**
 * Of one object, by all operators together: some thirty are usual in a minute of the worst weather, a dozen at once.
 */
const mostWrites = { minute: 150, second: 16 } as const;

/** `--max-branch-deletes-per-minute` where it is not given. */
const mostBranchDeletes = 5;

export interface WitnessOptions {
  clock: Clock;
  server: ApiServer;
  services: Services;
  promises: Promises;
  branches: BranchesGuard;
  /** Computes as they stand in the cluster. */
  computes: () => readonly KubeObject[];
  maxDeletesPerMinute: number;
}

/** Sees everything that operators send, say and change, and holds it against the promises. */
export class Invariants {
  readonly keys = new KeyGuard();
  readonly leaders: LeaderGuard;
  /** When an operator last changed anything that counts, and what. */
  lastWrite: { at: number; what: () => string } = { at: 0, what: () => "" };
  /** Requests that left operators. */
  steps = 0;
  readonly #options: WitnessOptions;
  readonly #budgets: BudgetGuard;
  readonly #brake: BrakeGuard;
  readonly #branchBrake: BrakeGuard;
  /** What happened, to be put into words only where somebody asks. */
  readonly #history: { at: number; what: () => string }[] = [];
  #writes = 0;
  /** When each object was written in the last minute. */
  readonly #written = new Map<string, readonly number[]>();
  /** Processes that wrote a connection since everything was at rest. */
  readonly #hasSpoken = new Set<string>();

  constructor(options: WitnessOptions) {
    this.#options = options;
    const report = (promise: string, message: string) => options.promises.report(promise, message);
    this.leaders = new LeaderGuard(options.clock, options.server, report);
    this.#budgets = new BudgetGuard(options.clock, report);
    this.#brake = new BrakeGuard(options.clock, options.maxDeletesPerMinute, report);
    this.#branchBrake = new BrakeGuard(options.clock, mostBranchDeletes, report);
  }

  /** What happened, in words, for the reader of a failure. */
  history(): string[] {
    return this.#history.map(({ at, what }) => `${(at / 1000).toFixed(3).padStart(9)} s  ${what()}`);
  }

  /** Drops the history so far, and all that it would be written from. */
  forget(): void {
    this.#history.length = 0;
    this.#written.clear();
  }

  /** Notes something in the history. */
  note(what: () => string): void {
    this.#history.push({ at: this.#now(), what });
    if (this.#history.length > 1000) this.#history.splice(0, 500);
  }

  /** Something in the cluster changed, by an operator's process or, without one, by somebody else. */
  clusterChanged({ resource, object, previous, type }: Change, process: string | undefined): void {
    const { promises, branches, clock } = this.#options;
    const after = type === "DELETED" ? undefined : object;
    if (resource.plural === "branches") branches.objectChanged(type === "DELETED" ? object : previous, after);
    if (resource.plural === "computes") promises.computeChanged(previous, after, process);
    if (resource.plural === "secrets") promises.secrets.changed(previous, after, process);
    if (resource.plural === "namespaces") promises.secrets.namespaceChanged(after, object);
    if (process === undefined || resource.plural === "leases") return;
    const write = { process, at: clock.monotonic(), resource: resource.plural, before: previous, after };
    promises.clusterWritten(write);
    branches.clusterWritten(write);
    if (resource.plural !== "secrets" && this.keys.leakedIn(JSON.stringify(object))) {
      promises.report("keys stay secret", `${process} wrote a key into ${resource.plural} ${object.metadata.name}`);
    }
    if (resource.plural === "events") return;
    const what = () => `${process} changed ${resource.kind} ${object.metadata.name}: ${changedIn(previous, after)}`;
    this.note(what);
    this.#countWrites(process, object);
    if (resource.plural === "branches" && isOfLeaseAlone(previous, after)) return;
    // What a connection is good for is read again every ten minutes, and may only then be known: that is one write.
    if (!resource.plural.endsWith("serviceconnections") || this.#hasSpoken.has(process)) {
      this.lastWrite = { at: this.#now(), what };
    } else this.#hasSpoken.add(process);
  }

  clusterRequested(process: string, { method, path }: ClusterRequest): void {
    this.steps += 1;
    if (method !== "GET" && !path.includes("/leases")) this.leaders.wrote(process, `${method} ${path}`);
  }

  /** An answer of the API server reached a process, of a request that it sent then. */
  clusterAnswered(process: string, { method, path }: ClusterRequest, status: number, sentAt: number): void {
    if (method !== "GET" && path.includes("/leases") && status < 300) this.leaders.renewed(process, sentAt);
  }

  /** A request to the service leaves; answers the record of a write, which is filled in as it goes on. */
  sent(process: string, request: ServiceRequest): ServiceWrite | undefined {
    this.steps += 1;
    this.#budgets.sent(process, accountOf(request), request.method);
    const { method, path } = request;
    if (isOfBranches(request)) return this.#branchWritten(process, request);
    if (request.method === "DELETE") this.#brake.sent(process);
    const write = this.#recordOf(process, request);
    if (write === undefined) return undefined;
    const body = JSON.stringify(request.body);
    const what = () => `${process} sent ${method} ${path} ${body}`;
    this.note(what);
    this.lastWrite = { at: this.#now(), what };
    this.leaders.wrote(process, `${method} ${path}`);
    this.#options.promises.sent(write);
    return write;
  }

  #branchWritten(process: string, request: ServiceRequest): undefined {
    const { method, path } = request;
    const what = () => `${process} sent ${method} ${path} ${JSON.stringify(request.body)}`;
    this.note(what);
    if (method === "DELETE") this.#branchBrake.sent(process);
    const { branches } = this.#options;
    // The renewal of a lease is the one write of what is settled.
    if (!branches.isRenewal(request)) this.lastWrite = { at: this.#now(), what };
    this.leaders.wrote(process, `${method} ${path}`);
    branches.sent(request);
  }

  branchArrives(at: number): void {
    const { branches } = this.#options;
    branches.arrivesAt = Math.max(branches.arrivesAt, at);
  }

  branchCarriedOut(request: ServiceRequest, reply: Reply, beyondSettle: boolean): void {
    this.note(() => `the service answers ${request.method} ${request.path} with ${reply.status}`);
    this.#options.branches.carriedOut(request, reply, beyondSettle);
  }

  carriedOut(write: ServiceWrite): void {
    const { kind, endpointID, carriedOut } = write;
    this.note(() => `the service answers the ${kind} of ${endpointID} with ${carriedOut?.status}`);
    this.#options.promises.carriedOut(write);
  }

  heard(process: string, request: ServiceRequest, { status, retryAfterMs, sentAt, own }: HeardAnswer): void {
    const { method, path, baseURL } = request;
    // A proxy's Retry-After is about the proxy.
    const reported = own && retryAfterMs !== undefined && (status === 429 || status === 503);
    if (reported) this.#budgets.toldToWait(process, accountOf(request), retryAfterMs);
    if (status === 401) this.#options.promises.refused(process);
    const [, project] = /^\/projects\/([^/]+)\/endpoints$/.exec(path) ?? [];
    if (own && method === "GET" && status === 200 && project !== undefined)
      this.#options.promises.listed(process, baseURL, project, sentAt);
  }

  logged(process: string, line: string): void {
    // Only it knows: who takes a lease again that it had lost leaves no trace of that in the Lease.
    if (line.includes(leadingMessage)) this.#options.promises.leads(process);
    if (stopIn(line)) this.#options.promises.report("no defect stopped", `${process}: ${line}`);
    if (this.keys.leakedIn(line)) this.#options.promises.report("keys stay secret", `${process} logged a key: ${line}`);
  }

  /** No operator writes one object again and again, as two that answer each other would. */
  #countWrites(process: string, { kind, metadata: { uid, name } }: KubeObject): void {
    const now = this.#now();
    const before = (this.#written.get(uid) ?? []).filter((at) => now - at < 60_000);
    const writes = [...before, now];
    this.#written.set(uid, writes);
    const inASecond = writes.filter((at) => now - at < 1000).length;
    if (writes.length > mostWrites.minute || inASecond > mostWrites.second) {
      this.#options.promises.report(
        "no hot loop",
        `${process} and others wrote ${kind} ${name} ${writes.length} times in a minute, ${inASecond} in a second`,
      );
    }
  }

  /** Everything is at rest: what is written from now on is noise. */
  atRest(): void {
    this.#hasSpoken.clear();
  }

  #recordOf(process: string, { method, baseURL, path, body }: ServiceRequest): ServiceWrite | undefined {
    const [, project, endpointID, restart] =
      /^\/projects\/([^/]+)\/endpoints(?:\/([^/]+))?(\/restart)?$/.exec(path) ?? [];
    if (method === "GET" || project === undefined) return undefined;
    const kinds = { POST: restart === undefined ? "create" : "restart", PATCH: "patch", DELETE: "delete" } as const;
    return {
      number: ++this.#writes,
      process,
      kind: kinds[method],
      service: baseURL,
      project,
      endpointID,
      body,
      sentAt: this.#now(),
      computes: this.#options.computes(),
      target: endpointID === undefined ? undefined : this.#options.services.at(baseURL).endpoint(endpointID),
      beyondSettle: false,
      carriedOut: undefined,
      heard: undefined,
      endedAt: undefined,
    };
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }
}

function isOfBranches({ method, path }: ServiceRequest): boolean {
  return method !== "GET" && path.includes("/branches");
}

/** True if nothing of a Branch changed but the end of its lease, or that its project is busy meanwhile. */
function isOfLeaseAlone(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  const isBusy = [before, after].some((one) => conditionOf(one, "Ready")?.reason === "ProjectBusy");
  const rest = ({ metadata, status, ...others }: KubeObject) => ({
    ...others,
    metadata: { ...metadata, resourceVersion: "" },
    status: {
      ...(isJsonObject(status) ? status : {}),
      expiresAt: "",
      appliedEnd: "",
      ...(isBusy && { conditions: "" }),
    },
  });
  const { expiry } = specOf(after);
  return isJsonObject(expiry) && "lease" in expiry && sameJSON(rest(before), rest(after));
}

/** Names base URL and key: what a budget and a pause belong to. */
function accountOf({ baseURL, key }: ServiceRequest): string {
  return `${baseURL} ${key.fingerprint()}`;
}

/** The members that differ between two versions of an object, two levels deep. */
function changedIn(before: KubeObject | undefined, after: KubeObject | undefined): string {
  const [old, now] = [partsOf(before), partsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter(
      (key) => key !== "metadata.resourceVersion" && JSON.stringify(old.get(key)) !== JSON.stringify(now.get(key)),
    )
    .map((key) => `${key} ${inShort(old.get(key))} -> ${inShort(now.get(key))}`)
    .join("; ");
}

function partsOf(object: KubeObject | undefined): Map<string, unknown> {
  return new Map(
    Object.entries(object ?? {}).flatMap(([key, value]) =>
      isJsonObject(value)
        ? Object.entries(value).map(([name, part]): [string, unknown] => [`${key}.${name}`, part])
        : [[key, value]],
    ),
  );
}

/** Conditions by their reason alone. */
function inShort(value: unknown): string | undefined {
  const [first]: unknown[] = Array.isArray(value) ? value : [];
  return isJsonObject(first) && "reason" in first ? String(first["reason"]) : JSON.stringify(value);
}

/** True if a log line says that the last guard stopped a write: of correct code it stops none. */
function stopIn(line: string): boolean {
  return line.includes('"rule":') && guardRules.some((rule) => line.includes(`"rule":"${rule}"`));
}
