import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { ServiceTransport } from "../../../src/operator/client/transport.ts";
import type { ClusterRequest, ClusterTransport } from "../../../src/operator/cluster/transport.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { ApiServer } from "../api-server/server.ts";
import { InMemoryClusterTransport } from "../api-server/transport.ts";
import { seededRandom } from "../random.ts";
import { SimClusterTransport } from "./cluster-port.ts";
import { type Rates, Weather } from "./fates.ts";
import { type Gate, openGate } from "./gate.ts";
import { type OperatorHandle, startOperator } from "./operator.ts";
import { People } from "./people.ts";
import { SimProcess } from "./process.ts";
import { Promises } from "./promises.ts";
import { ServiceHost } from "./service-host.ts";
import { SimServiceTransport } from "./service-port.ts";
import { Witness } from "./witness.ts";

/** Changes to the ports of an operator, by which a test plants a bug in it from outside. */
export interface Plant {
  service?: (inner: ServiceTransport, process: SimProcess) => ServiceTransport;
  cluster?: (inner: ClusterTransport, process: SimProcess) => ClusterTransport;
}

export interface WorldOptions {
  seed: number;
  /** One leads without an election; two compete for a Lease. */
  operators: 1 | 2;
  rates: Rates;
  gate?: Gate;
  plant?: Plant;
}

export const createSettleMs = 60_000;
/** Some hundred are usual in the busiest seconds. */
const mostTasksASecond = 5000;
const firstKey = "key-number-0-of-the-simulated-operator";

const definitions: readonly unknown[] = ["computes", "serviceconnections", "computepools"].map((name) =>
  parse(readFileSync(`crds/${name}.yaml`, "utf8")),
);

/** The whole of it in one process, on one clock and one seed: cluster, service, operators, people and weather. */
export class World {
  readonly clock = new VirtualClock();
  readonly server: ApiServer;
  readonly host: ServiceHost;
  readonly weather: Weather;
  readonly people: People;
  readonly promises: Promises;
  readonly witness: Witness;
  readonly #options: WorldOptions;
  readonly #running = new Map<string, { process: SimProcess; operator: OperatorHandle; cut: () => void }>();
  #started = 0;
  #keysMade = 0;
  /** When the operator was last given a key. */
  keyChangedAt = 0;
  #actor: string | undefined;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { seed, rates } = options;
    const { clock } = this;
    this.server = new ApiServer({ clock, random: seededRandom(seed ^ 0x51ed), controllerManager: true });
    for (const body of definitions) {
      this.server.handle({ method: "POST", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body });
    }
    this.host = new ServiceHost({
      clock,
      random: seededRandom(seed ^ 0x2c0f),
      firstKey,
      onError: (error) => this.promises.report("the service works", inWords(error)),
    });
    this.weather = new Weather(seededRandom(seed ^ 0x7a3d), rates, createSettleMs);
    this.people = new People(this.server);
    this.promises = new Promises({ clock, endpoints: () => this.host.allEndpoints() });
    const { server, host, promises, people } = this;
    this.witness = new Witness({ clock, server, host, promises, computes: () => people.computes() });
    this.witness.keys.add(firstKey);
    this.server.store.subscribe((change) => this.witness.clusterChanged(change, this.#actor));
    this.people.settle(firstKey);
  }

  start(): void {
    for (let index = 0; index < this.#options.operators; index++) this.#start();
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
    this.witness.note(() => `${name} dies`);
    running.process.kill();
    running.cut();
    this.#running.delete(name);
    this.clock.after(downMs, () => this.#start());
  }

  pause(ms: number, slept: boolean): void {
    const name = this.leader();
    const process = name === undefined ? undefined : this.#running.get(name)?.process;
    if (process === undefined) return;
    process.pause();
    this.clock.after(ms, () => process.resume(slept));
  }

  cutWatches(): void {
    for (const { cut } of this.#running.values()) cut();
  }

  leader(): string | undefined {
    const holder = this.witness.leaders.holder();
    if (holder !== undefined && this.#running.has(holder)) return holder;
    return [...this.#running.keys()][0];
  }

  /** A new key for the operator, made at the service and put into the Secret; answers its name. */
  giveNewKey(): string {
    const name = `key-${++this.#keysMade}`;
    const key = this.host.newKey(name);
    this.witness.keys.add(key);
    this.people.setKey(key);
    this.keyChangedAt = this.clock.monotonic();
    return name;
  }

  close(): void {
    for (const { process } of this.#running.values()) process.kill();
    this.host.close();
  }

  #start(): void {
    const process = new SimProcess(`operator-${++this.#started}`, this.clock);
    const { seed, plant = {}, operators } = this.#options;
    const { cluster, service, cut } = this.#portsOf(process);
    const operator = startOperator({
      process,
      clusterTransport: plant.cluster?.(cluster, process) ?? cluster,
      serviceTransport: plant.service?.(service, process) ?? service,
      random: seededRandom(seed + this.#started * 7919),
      elect: operators > 1,
      createSettleMs,
      line: (line) => this.witness.logged(process.name, line),
      onEnd: (error) => {
        if (error === undefined) return;
        this.promises.report("the operator keeps running", `${process.name} ended: ${inWords(error)}`);
      },
    });
    this.#running.set(process.name, { process, operator, cut });
  }

  #portsOf(process: SimProcess): { cluster: ClusterTransport; service: ServiceTransport; cut: () => void } {
    const { clock, host, weather, witness, server } = this;
    const { gate = openGate } = this.#options;
    const front = {
      store: server.store,
      handle: (request: ClusterRequest, asOf?: number) => this.#as(process.name, () => server.handle(request, asOf)),
      watch: server.watch.bind(server),
    };
    const crash = () => this.kill(500, process.name);
    const inner = new InMemoryClusterTransport(front, clock, weather);
    const calm = new InMemoryClusterTransport(front, clock);
    return {
      cluster: new SimClusterTransport({ process, inner, calm, gate, crash, witness }),
      service: new SimServiceTransport({ process, host, clock, weather, gate, crash, createSettleMs, witness }),
      cut: () => inner.cutWatches(),
    };
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
