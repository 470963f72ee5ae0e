import { parsed, withFlags } from "../command-line.ts";
import { crdsSyntax, parseRunFlags, type RunFlags, runSyntax } from "./flags.ts";
import { HttpTransport } from "./kube/http-transport.ts";
import { type ClusterConnection, loadKubeConfig } from "./kube/kubeconfig.ts";
import { serveHealth } from "./manager/health.ts";
import { createMetrics } from "./metrics/metrics.ts";
import { createOperator } from "./operator.ts";
import { crdsYaml } from "./resources/crd.ts";
import { INSTALL_NAMESPACE } from "./resources/names.ts";
import type { Clock, Random } from "./runtime/clock.ts";
import { createLogger, type LogDestination, type Logger, readableLines } from "./runtime/log.ts";
import { messageOf } from "./runtime/operational-error.ts";
import { httpServiceTransport } from "./service-client/http-transport.ts";
import type { OpenTelemetryTracer } from "./tracing/open-telemetry.ts";

/** The parts of the process that the commands use. */
export interface CommandPorts {
  clock: Clock;
  random: Random;
  /** A fresh identifier on each call. */
  newID: () => string;
  stdout: (line: string) => void;
  stderr: (line: string) => void;
  log: LogDestination;
  /** True if the log goes to a person's terminal. */
  terminal: boolean;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  /** Aborted on SIGINT and SIGTERM. */
  signal: AbortSignal;
}

/** Longest time for requests in flight once the operator is to stop: longer than a write's deadline. */
const drainMs = 6000;

/** `compute-operator run`: answers the exit status. */
export function runCommand(args: readonly string[], ports: CommandPorts): Promise<number> {
  return withFlags(runSyntax, parseRunFlags, args, ports, async (flags) => {
    try {
      return await run(flags, loadKubeConfig({ file: flags.kubeconfig, env: ports.env }), ports);
    } catch (error) {
      ports.stderr(`${runSyntax.name()}: ${messageOf(error)}`);
      return 1;
    }
  });
}

async function run(flags: RunFlags, connection: ClusterConnection, ports: CommandPorts): Promise<number> {
  const { clock, random, env, signal } = ports;
  const destination = ports.terminal ? readableLines(ports.log) : ports.log;
  const log = createLogger({ level: flags.logLevel, destination, clock });
  const userAgent = "compute-operator";
  const serviceTransport = httpServiceTransport({ userAgent, env, now: () => clock.now() });
  const clusterTransport = new HttpTransport({ connection, clock, userAgent });
  const elects = flags.leaderElect ?? connection.inCluster;
  const podNamespace = env.POD_NAMESPACE ?? (connection.inCluster ? connection.namespace : undefined);
  const clusterResourceNamespace = flags.clusterResourceNamespace ?? podNamespace ?? INSTALL_NAMESPACE;
  const lease = {
    namespace: flags.leaseNamespace ?? podNamespace ?? "default",
    name: flags.leaseName,
    identity: `${env.POD_NAME ?? ports.hostname}_${ports.newID()}`,
  };
  const metrics = createMetrics({ processMetrics: true });
  const tracer = await tracerOf(ports, log);
  const operator = createOperator(
    { clusterTransport, serviceTransport, clock, random, log, metrics, tracer },
    { ...flags, clusterResourceNamespace, drainMs, ...(elects ? { lease } : {}) },
  );
  const health = flags.httpPort === 0 ? undefined : await serveHealth(operator, flags.httpPort, log);
  if (flags.namesLease && !elects) {
    log.warn(
      {},
      "--lease-name or --lease-namespace is set, and no lease is held: another operator could run beside this one. Add --leader-elect",
    );
  }
  log.info({ server: connection.server, namespaces: flags.namespaces, leaderElection: elects }, "Started");
  try {
    await operator.run(signal);
  } finally {
    health?.close();
    health?.closeAllConnections();
    await Promise.all([serviceTransport.close(), clusterTransport.close(), tracer?.close()]);
  }
  log.info({}, "Stopped");
  return 0;
}

/** Sends traces where OpenTelemetry's own variable names a collector; the code for it is loaded only then. */
async function tracerOf({ clock, env }: CommandPorts, log: Logger): Promise<OpenTelemetryTracer | undefined> {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (base === undefined || base === "" || env.OTEL_SDK_DISABLED === "true") return undefined;
  const url = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? `${base.replace(/\/+$/, "")}/v1/traces`;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    log.warn(
      {},
      "OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL: no traces are sent. Name the collector's OTLP/HTTP port",
    );
    return undefined;
  }
  const { OpenTelemetryTracer } = await import("./tracing/open-telemetry.ts");
  return new OpenTelemetryTracer({ url, clock, log });
}

/** `compute-operator crds`: prints the CRDs as YAML. */
export function crdsCommand(args: readonly string[], ports: Pick<CommandPorts, "stdout" | "stderr">): Promise<number> {
  return withFlags(
    crdsSyntax,
    (words) => parsed(crdsSyntax, words, {}),
    args,
    ports,
    async () => {
      ports.stdout(crdsYaml().trimEnd());
      return 0;
    },
  );
}
