import type { ClusterRequest, ClusterTransport } from "../../../src/operator/kube/transport.ts";
import type { ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { calm, type RequestFate } from "../api-server/faults.ts";
import { underShippedRights } from "../api-server/rights.ts";
import { ApiServer } from "../api-server/server.ts";
import { InMemoryClusterTransport } from "../api-server/transport.ts";
import { seededRandom } from "../random.ts";
import { BranchesGuard } from "./branch-guard.ts";
import { SimClusterTransport } from "./cluster-port.ts";
import { type CrashPoint, noCrash } from "./crash-point.ts";
import { Edges } from "./edges.ts";
import { Weather } from "./fault-plan.ts";
import { Invariants } from "./invariants.ts";
import { LossGuard } from "./loss-guard.ts";
import { type OperatorHandle, startOperator } from "./operator.ts";
import { SimProcess } from "./process.ts";
import { Promises } from "./promises.ts";
import type { Script } from "./run-script.ts";
import { type Lock, ServiceHost } from "./service-host.ts";
import { SimServiceTransport } from "./service-port.ts";
import { strangersKey } from "./service-seed.ts";
import { Services } from "./services.ts";
import { otherServiceURL, serviceURL, Workload } from "./workload.ts";

/** Changes to the ports of an operator, by which a test plants a bug in it from outside. */
export interface Plant {
  service?: (inner: ServiceTransport, process: SimProcess) => ServiceTransport;
  cluster?: (inner: ClusterTransport, process: SimProcess) => ClusterTransport;
}

export interface WorldOptions extends Omit<Script, "actions" | "boundaryAtMs" | "calmAtMs"> {
  crashPoint?: CrashPoint;
  plant?: Plant;
}

export const createSettleMs = 60_000;
/** Some hundred are usual in the busiest seconds. */
const mostTasksASecond = 5000;
const firstKey = "key-number-0-of-the-simulated-operator";

/** The label selectors of two operators that divide the Computes, as `deploy/overlays/two-shards` has them. */
export const shards = { a: "compute-operator.dev/shard!=b", b: "compute-operator.dev/shard=b" } as const;
type Shard = keyof typeof shards;

/** The whole of it in one process, on one clock and one seed: cluster, service, operators, users and weather. */
export class World {
  readonly clock = new VirtualClock();
  readonly server: ApiServer;
  /** The service that connections are meant to lead to. */
  readonly host: ServiceHost;
  readonly services = new Services(this.clock);
  readonly weather: Weather;
  readonly workload: Workload;
  readonly promises: Promises;
  readonly invariants: Invariants;
  readonly branches: BranchesGuard;
  readonly losses: LossGuard;
  readonly #options: WorldOptions;
  /** Of all processes, those that died too. */
  readonly #operators: OperatorHandle[] = [];
  readonly #running = new Map<string, { process: SimProcess; cut: () => void; shard: Shard | undefined }>();
  #started = 0;
  #keysMade = 0;
  /** The `--fleet` that operators are started with. */
  fleet: string | undefined;
  #actor: string | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.fleet = options.fleet;
    const { seed, rates, refreshMs = 30_000 } = options;
    const { clock } = this;
    this.server = new ApiServer({ clock, random: seededRandom(seed ^ 0x51ed), controllerManager: true });
    const { lock = "project" } = options;
    this.host = this.#newHost(seed ^ 0x2c0f, { strictSpec: options.strictSpec ?? false, lock });
    const awaited = () => [...this.#running.values()].flatMap(({ process }) => process.awaited());
    const noted = (inMs: number) => this.#askBefore(inMs);
    const edges = new Edges({ clock, random: seededRandom(seed ^ 0x6ed9), awaited, noted });
    // A shard may yet send what the other has taken for sent: that much less is left for a create to arrive.
    const latestShare = options.shards === true ? 0.9 : 1;
    this.weather = new Weather({ random: seededRandom(seed ^ 0x7a3d), rates, createSettleMs, edges, latestShare });
    this.workload = new Workload(this.server, options);
    this.services.add(serviceURL, this.host);
    const { server, services, workload } = this;
    const poolStands = (uid: string) => this.workload.poolStands(uid);
    const shown = { namesShown: !this.strictSpec, fleet: () => this.fleet };
    this.promises = new Promises({ clock, server, services, refreshMs, poolStands, ...shown });
    const { promises, maxDeletesPerMinute } = this;
    const computes = () => workload.managed();
    const uninstallingSince = () => promises.register.uninstallingSince;
    this.branches = new BranchesGuard({ clock, host: this.host, uninstallingSince }, promises.report.bind(promises));
    const { branches } = this;
    this.invariants = new Invariants({ clock, server, services, promises, branches, computes, maxDeletesPerMinute });
    this.invariants.keys.add(firstKey);
    this.invariants.keys.add(strangersKey);
    this.server.store.subscribe((change) => this.invariants.clusterChanged(change, this.#actor));
    this.losses = new LossGuard({ clock, services, computes });
    this.server.store.subscribe((change) => this.losses.changed(change));
    this.services.key = firstKey;
    this.workload.settle(firstKey);
  }

  get strictSpec(): boolean {
    return this.#options.strictSpec === true;
  }

  get maxDeletesPerMinute(): number {
    return this.#options.maxDeletesPerMinute ?? 60;
  }

  start(): void {
    if (this.#options.shards === true) {
      for (const shard of ["a", "b"] as const) this.#start(shard);
    } else for (let index = 0; index < this.#options.operators; index++) this.#start();
  }

  /** Lets time pass until `atMs`, or until a promise is broken. */
  async runUntil(atMs: number): Promise<void> {
    let second = Math.floor(this.clock.monotonic() / 1000);
    let tasks = 0;
    while (this.promises.violations.length === 0 && (await this.clock.runNext(atMs))) {
      const now = Math.floor(this.clock.monotonic() / 1000);
      tasks = now === second ? tasks + 1 : 0;
      second = now;
      if (tasks > mostTasksASecond) this.promises.report("no hot loop", `${tasks} timers went off in one second`);
    }
    if (this.promises.violations.length === 0) await this.clock.advance(Math.max(0, atMs - this.clock.monotonic()));
  }

  /** A process dies, the leading one if none is named, and another takes its place some time later. */
  kill(downMs: number, name = this.leader()): void {
    const running = name === undefined ? undefined : this.#running.get(name);
    if (name === undefined || running === undefined) return;
    this.invariants.note(() => `${name} dies`);
    running.process.kill();
    running.cut();
    this.#running.delete(name);
    this.clock.after(downMs, () => this.#start(running.shard));
  }

  pause(ms: number, slept: boolean): void {
    const name = this.leader();
    const process = name === undefined ? undefined : this.#running.get(name)?.process;
    if (process === undefined) return;
    process.pause();
    this.clock.after(ms, () => {
      this.promises.woken(process.name, ms);
      process.resume(slept);
    });
  }

  /** Names of those that run. */
  get processes(): string[] {
    return [...this.#running.keys()];
  }

  cutWatches(): void {
    for (const { cut } of this.#running.values()) cut();
  }

  leader(): string | undefined {
    const holder = this.invariants.leaders.holder();
    if (holder !== undefined && this.#running.has(holder)) return holder;
    return [...this.#running.keys()][0];
  }

  /** A new key for the operator, made at the service and put into the Secret; answers its name. */
  giveNewKey(): string {
    const name = `key-${++this.#keysMade}`;
    const key = this.host.newKey(name);
    this.invariants.keys.add(key);
    this.#setKey(key);
    return name;
  }

  giveStrangersKey(): void {
    this.#setKey(strangersKey);
  }

  #setKey(key: string): void {
    this.services.key = key;
    this.workload.setKey(key);
  }

  /** The base URL of the connection is edited to a service that has none of the endpoints. */
  pointElsewhere(): void {
    if (!this.services.has(otherServiceURL)) {
      this.services.add(otherServiceURL, this.#newHost(this.#options.seed ^ 0x1b77, { empty: true }));
    }
    this.#point(otherServiceURL);
  }

  pointBack(): void {
    this.#point(serviceURL);
  }

  #point(baseURL: string): void {
    this.services.lead(baseURL);
    this.workload.setBaseURL(baseURL);
  }

  close(): void {
    for (const { process } of this.#running.values()) process.kill();
    // None can act any more; Node keeps an AbortSignal that others depend on, and all that listens to it, until then.
    for (const operator of this.#operators) operator.stop();
    this.services.close();
  }

  #newHost(seed: number, kind: { strictSpec?: boolean; empty?: boolean; lock?: Lock }): ServiceHost {
    return new ServiceHost({
      ...kind,
      clock: this.clock,
      random: seededRandom(seed),
      firstKey,
      onError: (error) => this.promises.report("the service works", inWords(error)),
    });
  }

  #start(shard?: Shard): void {
    const process = new SimProcess(`operator-${++this.#started}`, this.clock);
    const { seed, plant = {}, operators } = this.#options;
    const { cluster, service, cut } = this.#portsOf(process);
    const operator = startOperator({
      process,
      clusterTransport: plant.cluster?.(cluster, process) ?? cluster,
      serviceTransport: plant.service?.(service, process) ?? service,
      random: seededRandom(seed + this.#started * 7919),
      elect: operators > 1,
      selector: shard === undefined ? undefined : shards[shard],
      fleet: this.fleet,
      createSettleMs,
      maxDeletesPerMinute: this.maxDeletesPerMinute,
      line: (line) => this.invariants.logged(process.name, line),
      onEnd: (error) => {
        if (error === undefined) return;
        this.promises.report("the operator keeps running", `${process.name} ended: ${inWords(error)}`);
      },
    });
    this.#operators.push(operator);
    this.#running.set(process.name, { process, cut, shard });
    this.promises.started(process.name, shard === undefined ? undefined : shards[shard]);
  }

  #portsOf(process: SimProcess): { cluster: ClusterTransport; service: ServiceTransport; cut: () => void } {
    const { clock, weather, invariants, server, services } = this;
    const { crashPoint = noCrash } = this.#options;
    const front = underShippedRights({
      store: server.store,
      handle: (request: ClusterRequest, asOf?: number) => this.#as(process.name, () => server.handle(request, asOf)),
      watch: server.watch.bind(server),
    });
    const crash = () => this.kill(500, process.name);
    const inner = new InMemoryClusterTransport(front, clock, weather);
    const fated = (fate: RequestFate) => new InMemoryClusterTransport(front, clock, { ...calm, request: () => fate });
    const shared = { process, clock, crashPoint, crash, invariants };
    return {
      cluster: new SimClusterTransport({ ...shared, inner, fated }),
      service: new SimServiceTransport({ ...shared, services, weather, createSettleMs }),
      cut: () => inner.cutWatches(),
    };
  }

  /** Shortly before a create settles, users request a refresh of all that is pending, and then of all the rest. */
  #askBefore(inMs: number): void {
    const { edges } = this.weather;
    for (const [pending, earliest, latest] of [
      [true, 1000, 400],
      [false, 400, 20],
    ] as const) {
      this.clock.after(inMs - edges.between(latest, earliest), () => {
        if (edges.share > 0) this.workload.askForAll({ pending }, `before-${this.clock.monotonic()}`);
      });
    }
  }

  #as<T>(actor: string, act: () => T): T {
    this.#actor = actor;
    try {
      return act();
    } finally {
      this.#actor = undefined;
    }
  }
}

function inWords(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : "an unknown error";
}
