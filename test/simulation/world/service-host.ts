import { z } from "zod";
import type { Clock, Random } from "../../../src/operator/runtime/clock.ts";
import { seededIds } from "../../../src/service/ids.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { createService, type Service } from "../../../src/service/service.ts";
import type { Branch } from "../../../src/service/store/branches.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { Store } from "../../../src/service/store/store.ts";
import { branchesOf, consoleKey, projects, seedWith, usersKey, withoutEndpoints } from "./service-seed.ts";

/** An answer of the service as its text, before any network. */
export interface Reply {
  status: number;
  text: string | undefined;
  retryAfterMs: number | undefined;
}

export interface HostOptions {
  clock: Clock;
  random: Random;
  firstKey: string;
  onError: (error: unknown) => void;
  /** Shows and serves only what the specification shows. */
  strictSpec?: boolean;
  /** Has no endpoints, and takes any key. */
  empty?: boolean;
  lock?: Lock;
}

/**
 * When a write of an operator is refused with 423: while an operation of its project runs, as at the public service;
 * only while one of the same endpoint runs; or besides that at random, in this share of cases.
 */
export type Lock = "project" | "endpoint" | number;

/** An end of a branch this far ahead is not waited for, in milliseconds: a lease of ten minutes is renewed before. */
const farEndMs = 200_000;

/** The real service, in this process, on in-memory SQLite, with what users do there, and its earlier states. */
export class ServiceHost {
  readonly service: Service;
  /** Where keys are made, on the same store: the specification has a console for that, and no calls. */
  readonly #console: Service;
  readonly #options: HostOptions;
  readonly #clock: Clock;
  /** The name that each create gave its endpoint, also where the service drops it: how the judge tells them apart. */
  readonly #made = new Map<string, string>();
  readonly #deletedByPeople = new Map<string, number>();
  /** Lists as they stood before each change, oldest first: what a lagging replica shows. */
  readonly #past: { until: number; path: string; reply: Reply }[] = [];
  /** What branches were called, until when. */
  readonly #formerNames: { until: number; project: string; id: string; name: string }[] = [];
  /** Endpoints and branches by project until the service's next change: the judge looks far more often. */
  readonly #standing = new Map<string, readonly StoredEndpoint[]>();
  readonly #standingBranches = new Map<string, readonly Branch[]>();

  constructor(options: HostOptions) {
    const { clock, random, firstKey, onError, strictSpec = false, empty = false, lock = "project" } = options;
    this.#options = options;
    this.#clock = clock;
    const store = Store.open(":memory:");
    // Its own wall clock, in whole milliseconds, which nobody sets: only the cluster's machines have theirs stepped.
    const start = clock.now();
    const wall = { now: () => Math.floor(start + clock.monotonic()), after: clock.after.bind(clock) };
    const ports = { clock: wall, random, ids: seededIds(random), store, onError };
    this.service = createService({ ...ports, options: { strictSpec, projectLock: lock === "project" } });
    this.#console = strictSpec ? createService(ports) : this.service;
    this.service.onChange(() => {
      this.#standing.clear();
      this.#standingBranches.clear();
    });
    this.service.change((world, at) =>
      applySeed(world, empty ? withoutEndpoints(seedWith(firstKey)) : seedWith(firstKey), at),
    );
  }

  /** Carries a request out and answers it. */
  request(method: string, path: string, key: string, body?: unknown): Reply {
    if (method !== "GET") this.#remember(path);
    const as = this.#options.empty === true ? this.#options.firstKey : key;
    return this.#call(this.service, method, path, as, body);
  }

  /** Whether the service refuses a write of an operator with 423, for no reason of its own. */
  locksAtRandom(): boolean {
    const { lock, random } = this.#options;
    return typeof lock === "number" && random() < lock;
  }

  /** An endpoint was made under this name. */
  made(endpointID: string, name: string | undefined): void {
    if (name === undefined) return;
    this.#made.set(endpointID, name);
    this.#standing.clear();
  }

  #call(service: Service, method: string, path: string, key: string, body?: unknown): Reply {
    const reply = service.call({
      method,
      path: `/api/v2${path.split("?")[0] ?? ""}`,
      query: Object.fromEntries(new URLSearchParams(path.split("?")[1] ?? "")),
      headers: { authorization: `Bearer ${key}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const retryAfter = reply.headers["retry-after"];
    return {
      status: reply.status,
      text: reply.body,
      retryAfterMs: retryAfter === undefined ? undefined : Number(retryAfter) * 1000,
    };
  }

  /** The answer to a GET as it would have been some time ago; the newest where nothing has changed since. */
  requestLate(path: string, key: string, lagMs: number): Reply {
    const now = this.request("GET", path, key);
    const then = this.#clock.monotonic() - lagMs;
    const past = this.#past.find((one) => one.until > then && one.path === path.split("?")[0]);
    return now.status === 200 && past !== undefined ? past.reply : now;
  }

  /** What users do, whether or not it succeeds: the answer's status. */
  byPeople(method: string, path: string, body?: unknown): Reply {
    if (method === "DELETE") this.#deletedByPeople.set(path.split("/").at(-1) ?? "", this.#clock.monotonic());
    return this.request(method, path, usersKey, body);
  }

  get now(): number {
    return this.#clock.monotonic();
  }

  /** The service's own clock, in milliseconds since the epoch: nobody steps it. */
  get wall(): number {
    return this.service.context.clock.now();
  }

  branchesNamed(project: string, name: string): string[] {
    return this.branches(project).flatMap((branch) => (branch.name === name ? [branch.id] : []));
  }

  hasBranch(project: string, id: string): boolean {
    return this.branches(project).some((branch) => branch.id === id);
  }

  /** Branches that the seed of the service did not make, of both projects. */
  madeBranches(): Branch[] {
    return projects.flatMap((project) => {
      const seeded = branchesOf(project);
      return this.branches(project).filter(({ id }) => !seeded.includes(id));
    });
  }

  branch(project: string, id: string): Branch | undefined {
    return this.branches(project).find((branch) => branch.id === id);
  }

  childrenOf(branch: Branch): Branch[] {
    this.service.settle();
    return this.branches(branch.projectId).filter(({ parentId }) => parentId === branch.id);
  }

  /** True if a branch has the name, or one that was deleted and keeps it while it can be recovered. */
  isNameTaken(project: string, name: string): boolean {
    return this.service.context.store.branches.isTaken(project, name);
  }

  /** Whether a branch is called so, or was after `since`. */
  boreName(project: string, id: string, name: string, since: number): boolean {
    const isIt = (one: { id: string; name: string }) => one.id === id && one.name === name;
    const formerly = this.#formerNames.filter((one) => one.until >= since && one.project === project);
    return [...this.branches(project), ...formerly].some(isIt);
  }

  branches(project: string): readonly Branch[] {
    this.service.settle();
    const known = this.#standingBranches.get(project);
    if (known !== undefined) return known;
    const branches = this.service.context.store.branches.list(project);
    this.#standingBranches.set(project, branches);
    return branches;
  }

  /** A client connects for a moment, which wakes an idle compute. */
  connect(endpointID: string): void {
    this.service.call({ method: "POST", path: `/_connect/${endpointID}`, query: { seconds: "5" } });
  }

  /** When users deleted an endpoint; absent if they did not. */
  deletedByPeopleAt(endpointID: string): number | undefined {
    return this.#deletedByPeople.get(endpointID);
  }

  /** When the service next does something automatically; absent while it rests, but for ends of branches far ahead. */
  restsFrom(): number | undefined {
    this.service.settle();
    const due = this.service.nextDue();
    const isFar = due !== undefined && due - this.wall > farEndMs;
    return isFar && this.madeBranches().some(({ expiresAt }) => expiresAt === due) ? undefined : due;
  }

  endpoints(project: string): readonly StoredEndpoint[] {
    this.service.settle();
    const known = this.#standing.get(project);
    if (known !== undefined) return known;
    const endpoints = this.service.context.store.endpoints.list(project).map((endpoint) => this.#named(endpoint));
    this.#standing.set(project, endpoints);
    return endpoints;
  }

  allEndpoints(): StoredEndpoint[] {
    return projects.flatMap((project) => this.endpoints(project));
  }

  endpoint(id: string): StoredEndpoint | undefined {
    const endpoint = this.service.context.store.endpoints.byId(id);
    return endpoint && this.#named(endpoint);
  }

  /** Whether a start of an endpoint was set off in these last milliseconds, or is yet to come. */
  startsAfresh(id: string, withinMs: number): boolean {
    const { store, clock } = this.service.context;
    const endpoint = store.endpoints.byId(id);
    if (endpoint === undefined) return false;
    if (endpoint.disabled || (endpoint.currentState === "idle" && endpoint.pendingState === undefined)) return true;
    return store.operations
      .page(endpoint.projectId, { beforeSeq: undefined, limit: 1000 })
      .some((one) => one.endpointId === id && one.effect === "start" && one.createdAt >= clock.now() - withinMs - 1);
  }

  #named(endpoint: StoredEndpoint): StoredEndpoint {
    const name = this.#options.strictSpec === true ? this.#made.get(endpoint.id) : endpoint.name;
    return name === endpoint.name ? endpoint : { ...endpoint, name };
  }

  /** Makes a key for the operator's account, in the console; answers its secret. */
  newKey(name: string): string {
    const made: unknown = JSON.parse(this.#inConsole("POST", "/api_keys", { key_name: name }).text ?? "");
    if (typeof made !== "object" || made === null || !("key" in made)) throw new Error("no key was made");
    return String(made.key);
  }

  /** Revokes every key made for the operator before the one of this name; all of them where none is named. */
  revokeKeysBefore(name: string | undefined): void {
    const listed: unknown = JSON.parse(this.#inConsole("GET", "/api_keys").text ?? "[]");
    const keys = KeyList.parse(listed).filter((key) => key.name !== "console");
    const kept = name === undefined ? Number.POSITIVE_INFINITY : (keys.find((key) => key.name === name)?.id ?? 0);
    for (const { id } of keys) if (id < kept) this.#inConsole("DELETE", `/api_keys/${id}`);
  }

  #inConsole(method: string, path: string, body?: unknown): Reply {
    return this.#call(this.#console, method, path, consoleKey, body);
  }

  close(): void {
    this.service.close();
  }

  #remember(path: string): void {
    const project = /^\/projects\/([^/]+)\//.exec(path)?.[1];
    if (project === undefined) return;
    const until = this.#clock.monotonic();
    const isOfBranches = path.includes("/branches");
    for (const list of [`/projects/${project}/endpoints`, ...(isOfBranches ? [`/projects/${project}/branches`] : [])]) {
      const reply = this.request("GET", list, usersKey);
      if (reply.status === 200) this.#past.push({ until, path: list, reply });
    }
    if (isOfBranches)
      this.#formerNames.push(...this.branches(project).map(({ id, name }) => ({ until, project, id, name })));
    if (this.#past.length > 200) this.#past.shift();
  }
}

const KeyList = z.array(z.object({ id: z.number(), name: z.string() }));
