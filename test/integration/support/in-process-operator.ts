import { HttpTransport } from "../../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../../src/operator/kube/kubeconfig.ts";
import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { createOperator, type Operator, type OperatorSettings } from "../../../src/operator/operator.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import type { ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import { realClock } from "../../support/real-clock.ts";
import { inMemorySettings } from "./in-memory.ts";
import { quickClock } from "./quick-clock.ts";

/** How much faster than life the operator's timers run: a refresh interval of 5 s is over in one. */
export const speed = 5;

export interface InProcessOptions {
  /** Of the account that the operator logs in with. */
  kubeconfig: string;
  serviceTransport: ServiceTransport;
  settings?: Partial<OperatorSettings>;
  /** `speed` times faster than life where left out. */
  clock?: Clock;
  /** What lies between the operator and the API server. */
  around?: (transport: ClusterTransport) => ClusterTransport;
}

/** The operator in this process over a real API server. */
export class InProcessOperator implements AsyncDisposable {
  /** The lines that it wrote to its log. */
  readonly log: string[] = [];
  readonly transport: HttpTransport;
  readonly #options: InProcessOptions;
  #stop = new AbortController();
  #operator: Operator | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: InProcessOptions) {
    this.#options = options;
    const connection = loadKubeConfig({ file: options.kubeconfig, env: {} });
    this.transport = new HttpTransport({ connection, clock: realClock, userAgent: "compute-operator/test" });
  }

  /** Starts an operator that knows nothing of an earlier one. */
  start(): void {
    const { serviceTransport, settings, clock = quickClock(speed), around = (transport) => transport } = this.#options;
    const destination = { write: (line: string) => void this.log.push(line) };
    const log = createLogger({ level: "info", clock, destination });
    this.#stop = new AbortController();
    this.#operator = createOperator(
      { clusterTransport: around(this.transport), serviceTransport, clock, random: Math.random, log },
      { ...inMemorySettings, createSettleMs: 15_000, maxDeletesPerMinute: 1000, drainMs: 5000, ...settings },
    );
    this.#running = this.#operator.run(this.#stop.signal);
  }

  /** Ends the operator as its process ends. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** A scrape of the operator that runs now. */
  async metrics(): Promise<string> {
    return (await this.#operator?.metrics.text()) ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.transport.close();
  }
}
