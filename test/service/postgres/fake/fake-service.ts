import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { cryptoIds } from "../../../../src/service/ids.ts";
import type { ServiceOptions } from "../../../../src/service/options.ts";
import { Postgres, type PostgresSettings } from "../../../../src/service/postgres/postgres.ts";
import { rules as known, type Rules } from "../../../../src/service/rules.ts";
import { Seed } from "../../../../src/service/seed/document.ts";
import { applySeed } from "../../../../src/service/seed/seed.ts";
import { createService, type Service } from "../../../../src/service/service.ts";
import type { StoredEndpoint } from "../../../../src/service/store/endpoints.ts";
import { Store } from "../../../../src/service/store/store.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { realClock } from "../../../support/real-clock.ts";
import { CreatedBranch, main, primary, project, seed } from "../rig.ts";
import { type Content, FakeData } from "./fake-data.ts";
import { FakeMachine, type FakeServer } from "./fake-machine.ts";
import { HastenedClock } from "./hastened-clock.ts";

/** A directory in memory, where a system has one: nothing there waits for a disk. */
const inMemory = "/dev/shm";

/** How often a test looks at a service in which nothing happens. */
const mostLooks = 2000;

export interface FakesOptions {
  /** True for a store in a file, for a service that ends and begins again. */
  keepsStore?: boolean;
  settings?: Partial<PostgresSettings>;
  env?: Readonly<Record<string, string>>;
  /** How much faster the service's own times pass. */
  timeScale?: number;
  projectLock?: boolean;
  rules?: Rules;
}

export interface Begun {
  id: string;
  action: string;
  status: string;
  error: string | undefined;
}

/** The service in this process, with fake servers behind its computes. */
export class ServiceOnFakes implements AsyncDisposable {
  readonly clock = new HastenedClock();
  readonly machine = new FakeMachine(() => this.clock.now());
  readonly errors: unknown[] = [];
  /** Lines for the operator of the service. */
  readonly lines: string[] = [];
  readonly #directory = temporaryDirectory("fakes", existsSync(inMemory) ? inMemory : undefined);
  readonly data = join(this.#directory.path, "service.sqlite");
  readonly #file: string;
  #postgres: Postgres | undefined;
  #service: Service | undefined;

  readonly #settings: Partial<PostgresSettings>;
  readonly #env: Readonly<Record<string, string>>;
  readonly #options: Pick<ServiceOptions, "timeScale" | "projectLock" | "rules">;

  constructor({
    keepsStore = false,
    settings = {},
    env = {},
    timeScale = 1,
    projectLock = true,
    rules = known.specification,
  }: FakesOptions = {}) {
    this.#file = keepsStore ? this.data : ":memory:";
    this.#settings = settings;
    this.#env = env;
    this.#options = { timeScale, projectLock, rules };
  }

  static async start(document: object = seed, options: FakesOptions = {}): Promise<ServiceOnFakes> {
    const fakes = new ServiceOnFakes(options);
    await fakes.start(document);
    return fakes;
  }

  /** `document`: what is planted first. */
  async start(document?: object): Promise<void> {
    await this.open(document);
    await this.begin();
  }

  /** Opens the service, which lets no client in yet. */
  async open(document?: object): Promise<void> {
    const { clock, machine } = this;
    const [ids, store] = [cryptoIds(), Store.open(this.#file)];
    const settings = {
      host: "127.0.0.1",
      port: 0,
      advertise: undefined,
      domain: undefined,
      binaries: machine.install(join(this.#directory.path, "bin")),
      user: undefined,
      data: this.data,
      temporaryDiskScale: 1,
      ...this.#settings,
    };
    const env = { XDG_CACHE_HOME: this.#directory.path, ...this.#env };
    const onError = (error: unknown) => this.errors.push(error);
    const stderr = (line: string) => this.lines.push(line);
    const ports = { clock, ids, store, processes: machine, env, stderr, onError };
    this.#postgres = await Postgres.open(settings, ports).catch((error: unknown) => {
      store.close();
      throw error;
    });
    const options = this.#options;
    this.#service = createService({ clock, random: () => 0.5, ids, store, options, behind: this.#postgres, onError });
    if (document) this.core.change((context, at) => applySeed(context, Seed.parse(document), at));
  }

  async begin(): Promise<void> {
    await this.postgres.begin(this.core);
    await this.settled();
    await this.until(() => this.store.branchData.missing().length === 0);
  }

  get core(): Service {
    if (!this.#service) throw new Error("the service does not run");
    return this.#service;
  }

  get postgres(): Postgres {
    if (!this.#postgres) throw new Error("the service does not run");
    return this.#postgres;
  }

  get store(): Store {
    return this.core.context.store;
  }

  /** Sends a request as Ana. */
  async send(line: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const [method = "", target = ""] = line.split(" ");
    const { pathname, searchParams } = new URL(`/api/v2${target}`, "http://service");
    const headers = { authorization: "Bearer ana-key" };
    const call = {
      method,
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const now = this.core.call(call);
    const reply = (await now.later) ?? now;
    return { status: reply.status, body: JSON.parse(reply.body ?? "{}") };
  }

  /** A change that must be accepted, with its operations to their end; answers these in the order of their begin. */
  async change(line: string, body?: unknown): Promise<Begun[]> {
    const before = new Set(this.operations().map(({ id }) => id));
    const { status, body: answer } = await this.send(line, body);
    if (status >= 300) throw new Error(`${line}: ${status} ${JSON.stringify(answer)}`);
    await this.settled();
    return this.operations().filter(({ id }) => !before.has(id));
  }

  /** Oldest first. */
  operations(): Begun[] {
    const all = this.store.operations.page(project, { beforeSeq: undefined, limit: 1000 });
    return all
      .toSorted((one, other) => one.seq - other.seq)
      .map(({ id, action, status, error }) => ({ id, action, status, error }));
  }

  /** As `change`, in short: what each operation did and how it ended. */
  async outcome(line: string, body?: unknown): Promise<string[]> {
    return (await this.change(line, body)).map(({ action, status }) => `${action} ${status}`);
  }

  /** Makes a branch, whose operations must end well; answers its id and those of its computes. */
  async branch(branch: object, computes: readonly object[] = []): Promise<{ id: string; computes: string[] }> {
    const { status, body } = await this.send(`POST /projects/${project}/branches`, { branch, endpoints: computes });
    if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
    await this.settled();
    const made = CreatedBranch.parse(body);
    return { id: made.branch.id, computes: made.endpoints.map(({ id }) => id) };
  }

  /** Makes a compute, and answers its id when its operations have ended. */
  async endpoint(endpoint: object): Promise<string> {
    const { status, body } = await this.send(`POST /projects/${project}/endpoints`, { endpoint });
    if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
    await this.settled();
    return z.object({ endpoint: z.looseObject({ id: z.string() }) }).parse(body).endpoint.id;
  }

  /** Writes a row, as a client of a running server does. */
  write(word: string, branchId = main): void {
    this.serverOf(branchId).data.change(this.clock.now(), ({ rows }) => void rows.push(word));
  }

  /** Resolves when no operation runs and none has begun. */
  async settled(): Promise<void> {
    await this.until(() => this.operations().every(({ status }) => status !== "running" && status !== "scheduling"));
  }

  /** Looks again until something is so; fails where nothing happens any more that could make it so. */
  async until(done: () => boolean): Promise<void> {
    let before = "";
    for (let same = 0; same < mostLooks; same += 1) {
      this.core.settle();
      if (done()) return;
      const now = this.#happened();
      if (now !== before) [before, same] = [now, 0];
      await new Promise<void>((resolve) => realClock.after(1, resolve));
    }
    throw new Error(`nothing happens any more: ${JSON.stringify(this.operations())}`);
  }

  #happened(): string {
    const { events, statements } = this.machine;
    return JSON.stringify([events.length, statements.length, this.operations().map(({ status }) => status)]);
  }

  compute(id = primary): StoredEndpoint {
    const found = this.store.endpoints.byId(id);
    if (!found) throw new Error(`there is no compute ${id}`);
    return found;
  }

  /** The directory of a branch's data. */
  directoryOf(branchId = main): string {
    const row = this.store.branchData.get(branchId);
    return join(`${this.data}.postgres`, "branches", `${branchId}.${row?.generation ?? "none"}`);
  }

  /** What the data of a branch holds, whether its server runs or not. */
  contentOf(branchId = main): Content {
    return new FakeData(this.directoryOf(branchId)).content;
  }

  /** The password that the API gives a role of the main branch. */
  passwordOf(name = "app"): string {
    const role = this.store.catalogs.roles(main).find((one) => one.name === name);
    return role ? this.postgres.catalog.passwordOf(role) : "";
  }

  replicaOf(endpointId: string): string {
    return join(`${this.data}.postgres`, "replicas", endpointId);
  }

  /** The server that runs on a branch's data. */
  serverOf(branchId = main): FakeServer {
    const found = this.machine.servers.get(this.directoryOf(branchId));
    if (!found) throw new Error(`no server runs on branch ${branchId}`);
    return found;
  }

  /** Names in a directory beside the data file; none where it is not there. */
  async names(directory: string): Promise<string[]> {
    const path = join(`${this.data}.postgres`, directory);
    return existsSync(path) ? (await readdir(path)).toSorted() : [];
  }

  /** Ends the service in order. */
  async stop(): Promise<void> {
    const [postgres, service] = [this.#postgres, this.#service];
    this.#postgres = undefined;
    this.#service = undefined;
    await postgres?.close();
    service?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    this.#directory.remove();
  }
}
