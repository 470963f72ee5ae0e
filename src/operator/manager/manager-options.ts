import type { ClusterClient } from "../kube/client.ts";
import type { RecordEvent } from "../kube/event-record.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OperatorOptions } from "../options.ts";
import type { DeletionBrake } from "../project/deletion-brake.ts";
import type { RuntimePorts } from "../runtime/log.ts";
import type { Tracer } from "../runtime/tracer.ts";
import type { Budgets } from "../service-client/budgets.ts";
import type { ServiceTransport } from "../service-client/transport.ts";
import type { Informers } from "./informers.ts";
import type { MetricNamespaces } from "./metric-namespaces.ts";

/** Parts and settings that a term of leadership is made with. */
export interface ManagerOptions extends RuntimePorts {
  cluster: ClusterClient;
  serviceTransport: ServiceTransport;
  /** Belongs to the process, not to the term of leadership: requests of an earlier term count. */
  budgets: Budgets;
  /** Belongs to the process too, as does `brake`. */
  namesShownBy: Set<string>;
  brake: DeletionBrake;
  branchBrake: DeletionBrake;
  beforeWrite: () => void;
  informers: Informers;
  metrics: Metrics;
  tracer: Tracer;
  namespaces: MetricNamespaces;
  options: OperatorOptions;
  event: RecordEvent;
}
