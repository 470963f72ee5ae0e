import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { createOperator } from "../../../src/operator/operator.ts";
import { labelSelector } from "../../../src/operator/resources/selector.ts";
import type { Random } from "../../../src/operator/runtime/clock.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import type { ServiceTransport } from "../../../src/operator/service-client/transport.ts";
import type { SimProcess } from "./process.ts";

/** Where the Secrets of ClusterServiceConnections lie. */
export const operatorNamespace = "compute-operator-system";

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
  /** The label selector of the Computes that it takes care of; all where left out. */
  selector?: string | undefined;
  /** `--fleet`. */
  fleet: string | undefined;
  createSettleMs: number;
  maxDeletesPerMinute: number;
  line: (line: string) => void;
  onEnd: (error: unknown) => void;
}

/** Starts the operator's real code in a simulated process. */
export function startOperator(options: StartOptions): OperatorHandle {
  const { process, elect, selector = "", createSettleMs, maxDeletesPerMinute } = options;
  const { clusterTransport, serviceTransport, random } = options;
  const stop = new AbortController();
  const log = createLogger({ level: "info", clock: process.clock, destination: { write: options.line } });
  const operator = createOperator(
    { clusterTransport, serviceTransport, clock: process.clock, random, log },
    {
      namespaces: [],
      clusterResourceNamespace: operatorNamespace,
      selects: labelSelector(selector),
      workers: 8,
      allowedBaseURLs: ["https://*.test/api/v2"],
      createSettleMs,
      maxDeletesPerMinute,
      budgetShare: selector === "" ? 1 : 0.5,
      drainMs: 5000,
      fleet: options.fleet,
      ...(elect ? { lease: { namespace: "default", name: "compute-operator", identity: process.name } } : {}),
    },
  );
  operator.run(stop.signal).then(
    () => options.onEnd(undefined),
    (error: unknown) => options.onEnd(error),
  );
  return { stop: () => stop.abort() };
}
