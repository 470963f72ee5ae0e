import type { OperatorSettings } from "../../../src/operator/operator.ts";
import type { Clock } from "../../../src/operator/runtime/clock.ts";
import { storedKeySecret } from "./manifests.ts";
import { goodKey } from "./seeded-service.ts";

/** Of an operator for all namespaces, on a driven clock and in one process with its service. */
export const inMemorySettings = {
  namespaces: [],
  selects: () => true,
  workers: 16,
  allowedBaseURLs: ["http://*.test/api/v2"],
  createSettleMs: 60_000,
  maxDeletesPerMinute: 60,
  budgetShare: 1,
  drainMs: 1000,
} satisfies Partial<OperatorSettings>;

/** Gives a namespace of an API server in memory the connection `default`, with its Secret, to http://service.test. */
export function connectNamespace(namespace: string, post: (path: string, body: unknown) => unknown): void {
  post(`/api/v1/namespaces/${namespace}/secrets`, storedKeySecret(goodKey));
  post(`/apis/compute-operator.dev/v1alpha1/namespaces/${namespace}/serviceconnections`, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ServiceConnection",
    metadata: { name: "default" },
    spec: {
      baseURL: "http://service.test/api/v2",
      apiKeySecretRef: { name: "service-api-key" },
      requestBudget: { perMinute: 100_000, burst: 1000 },
    },
  });
}

/** The clock in whole milliseconds, as Date.now has them. */
export function wholeMilliseconds(clock: Pick<Clock, "now" | "after">): Pick<Clock, "now" | "after"> {
  return { now: () => Math.floor(clock.now()), after: (ms, task) => clock.after(ms, task) };
}
