import type { ServiceTransport } from "../../../src/operator/client/transport.ts";
import type { ClusterTransport } from "../../../src/operator/cluster/transport.ts";
import { createOperator } from "../../../src/operator/operator.ts";
import type { Random } from "../../../src/operator/runtime/clock.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import type { SimProcess } from "./process.ts";

export interface OperatorHandle {
  stop(): void;
}

export interface StartOptions {
  process: SimProcess;
  clusterTransport: ClusterTransport;
  serviceTransport: ServiceTransport;
  random: Random;
  /** Whether it competes for a Lease, under the name of its process. */
  elect: boolean;
  createSettleMs: number;
  line: (line: string) => void;
  onEnd: (error: unknown) => void;
}

/** Starts the operator's real code in a simulated process. */
export function startOperator(options: StartOptions): OperatorHandle {
  const { process, elect, createSettleMs, clusterTransport, serviceTransport, random } = options;
  const stop = new AbortController();
  const log = createLogger({ level: "info", clock: process.clock, destination: { write: options.line } });
  const operator = createOperator(
    { clusterTransport, serviceTransport, clock: process.clock, random, log },
    {
      namespaces: [],
      selects: () => true,
      workers: 8,
      allowedBaseURLs: ["https://service.test/api/v2"],
      createSettleMs,
      maxDeletesPerMinute: 60,
      budgetShare: 1,
      drainMs: 5000,
      ...(elect ? { lease: { namespace: "default", name: "compute-operator", identity: process.name } } : {}),
    },
  );
  operator.run(stop.signal).then(
    () => options.onEnd(undefined),
    (error: unknown) => options.onEnd(error),
  );
  return { stop: () => stop.abort() };
}
