import type {
  ClusterRequest,
  ClusterResponse,
  ClusterTransport,
  WatchLine,
} from "../../../src/operator/kube/transport.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { RequestFate } from "../api-server/faults.ts";
import type { CrashPoint, Verdict } from "./crash-point.ts";
import type { SimProcess } from "./process.ts";

/** How long after its sender gave up a late request is carried out. */
const lateMs = 5000;

export interface ClusterPortOptions {
  process: SimProcess;
  /** The connection that this one stands on. */
  inner: ClusterTransport;
  /** The same without weather, for a request whose fate the crash point decides. */
  fated: (fate: RequestFate) => Pick<ClusterTransport, "request">;
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
    if (verdict !== "pass") return this.#interrupted(verdict, request, options);
    const sentAt = clock.monotonic();
    return process.wait(this.#options.inner.request(request, options)).then((response) => {
      invariants.clusterAnswered(process.name, request, response.status, sentAt);
      return response;
    });
  }

  #interrupted(
    verdict: Exclude<Verdict, "pass">,
    request: ClusterRequest,
    options: { signal: AbortSignal; timeoutMs: number },
  ): Promise<ClusterResponse> {
    const { process, fated, crash } = this.#options;
    const send = (fate: RequestFate) => fated(fate).request(request, options);
    switch (verdict) {
      case "death":
        return process.wait(send({ kind: "answered", arriveMs: 0, replyMs: 0 }).finally(crash));
      case "lost reply":
        return process.wait(send({ kind: "lost", arriveMs: 0, afterMs: 0 }));
      case "late effect":
        return process.wait(send({ kind: "answered", arriveMs: options.timeoutMs + lateMs, replyMs: 0 }));
      case "refusal":
        return process.wait(send({ kind: "status", afterMs: 0, status: request.method === "GET" ? 503 : 409 }));
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
