import type {
  ClusterRequest,
  ClusterResponse,
  ClusterTransport,
  WatchLine,
} from "../../../src/operator/kube/transport.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { CrashPoint } from "./crash-point.ts";
import type { SimProcess } from "./process.ts";

export interface ClusterPortOptions {
  process: SimProcess;
  /** The connection that this one stands on. */
  inner: ClusterTransport;
  /** The same without weather, for requests whose fate the gate decides. */
  calm: ClusterTransport;
  crashPoint: CrashPoint;
  /** The world's, which goes on when the process does not. */
  clock: Clock;
  invariants: {
    clusterRequested(process: string, request: ClusterRequest): void;
    clusterAnswered(process: string, request: ClusterRequest, status: number, sentAt: number): void;
  };
  crash: () => void;
}

/** The way of one operator process to the API server. */
export class SimClusterTransport implements ClusterTransport {
  readonly #options: ClusterPortOptions;

  constructor(options: ClusterPortOptions) {
    this.#options = options;
  }

  request(request: ClusterRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<ClusterResponse> {
    const { process, invariants, crashPoint, clock } = this.#options;
    if (process.state === "dead") return new Promise(() => {});
    invariants.clusterRequested(process.name, request);
    const verdict = crashPoint({ process: process.name, port: "cluster", what: `${request.method} ${request.path}` });
    switch (verdict) {
      case "pass": {
        const sentAt = clock.monotonic();
        return process.wait(this.#options.inner.request(request, options)).then((response) => {
          invariants.clusterAnswered(process.name, request, response.status, sentAt);
          return response;
        });
      }
      case "crash":
        return process.wait(
          this.#options.calm.request(request, options).finally(() => {
            this.#options.crash();
          }),
        );
      case "lose":
        return process.wait(
          this.#options.calm.request(request, options).then(() => {
            throw new Error("connection reset before the answer came");
          }),
        );
    }
    return verdict satisfies never;
  }

  watch(
    request: { path: string; query: Readonly<Record<string, string>> },
    options: { signal: AbortSignal; idleTimeoutMs: number },
  ): AsyncIterable<WatchLine> {
    const { process, inner } = this.#options;
    return {
      [Symbol.asyncIterator]: () => {
        const lines = inner.watch(request, options)[Symbol.asyncIterator]();
        return {
          next: () => process.wait(lines.next()),
          return: async () => (await lines.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }
}
