import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type HrTime,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { TracedReconcile, TracedRequest, Tracer } from "../runtime/tracer.ts";
import { soonMs } from "../runtime/waits.ts";

// Bundled into a file of its own, which is loaded only where traces are asked for.

export interface OpenTelemetryOptions {
  /** Of OTLP over HTTP, e.g. `http://collector:4318/v1/traces`. */
  url: string;
  clock: Clock;
  log: Logger;
}

/** Longest time for a batch to reach the collector, in milliseconds. */
const exportMs = 5000;

/** A reconcile in progress: its span, and the difference between wall and monotonic time when it began. */
interface Current {
  span: Span;
  epoch: number;
  hasEnded: boolean;
}

/**
 * Reconciles as OpenTelemetry traces, sent in batches to a collector. Spans wait in a bounded queue: those that find it
 * full are dropped, and nothing waits for the collector.
 */
export class OpenTelemetryTracer implements Tracer {
  readonly #options: OpenTelemetryOptions;
  readonly #provider: TracerProvider;
  readonly #current = new AsyncLocalStorage<Current>();

  constructor(options: OpenTelemetryOptions) {
    this.#options = options;
    const exporter = reportingExporter(
      new OTLPTraceExporter({ url: options.url, timeoutMillis: exportMs }),
      options.log,
    );
    const named = resourceFromAttributes({ "service.name": "compute-operator" });
    this.#provider = new TracerProvider({
      resource: defaultResource()
        .merge(named)
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: exportMs })],
    });
  }

  reconcile({ kind, uid, namespace, name, waitedMs }: TracedReconcile, work: () => Promise<string>): Promise<string> {
    const { clock } = this.#options;
    const epoch = clock.now() - clock.monotonic();
    const startedAt = clock.monotonic();
    const object = { "compute_operator.uid": uid, "k8s.namespace.name": namespace, "compute_operator.name": name };
    const span = this.#begin(undefined, `reconcile ${kind}`, epoch + startedAt - waitedMs, SpanKind.INTERNAL, object);
    this.#begin(span, "wait in queue", epoch + startedAt - waitedMs, SpanKind.INTERNAL, {}).end(
      timeOf(epoch + startedAt),
    );
    const current: Current = { span, epoch, hasEnded: false };
    return this.#current.run(current, async () => {
      try {
        const result = await work();
        span.setAttribute("compute_operator.result", result);
        if (result === "error") span.setStatus({ code: SpanStatusCode.ERROR });
        return result;
      } finally {
        current.hasEnded = true;
        span.end(timeOf(epoch + clock.monotonic()));
      }
    });
  }

  decided(action: string): void {
    this.#inProgress?.span.setAttribute("compute_operator.action", action);
  }

  requested({ to, method, route, code, seconds }: TracedRequest): void {
    const current = this.#inProgress;
    // Lists of the service are shared, and begun by none or by a reconcile that has ended. Other requests to the API
    // server are watches and leases.
    if (current === undefined && to === "kubernetes") return;
    const { clock } = this.#options;
    const endedAt = clock.monotonic() + (current?.epoch ?? clock.now() - clock.monotonic());
    const path = to === "kubernetes" ? routeOf(route) : route;
    const status = Number(code) || 0;
    const span = this.#begin(current?.span, `${method} ${path}`, endedAt - seconds * 1000, SpanKind.CLIENT, {
      "peer.service": to,
      "http.request.method": method,
      "http.route": path,
      ...(status === 0 ? { "error.type": "no_answer" } : { "http.response.status_code": status }),
    });
    if (status === 0 || status >= 400) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(timeOf(endedAt));
  }

  /** Sends what is left, as far as the collector takes it in time. */
  async close(): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(soonMs, late.resolve);
    await Promise.race([this.#provider.shutdown().catch(() => {}), late.promise]);
    cancel();
  }

  /** The current reconcile. Work that outlives it, such as a timer that it set, does not belong to it. */
  get #inProgress(): Current | undefined {
    const current = this.#current.getStore();
    return current?.hasEnded === true ? undefined : current;
  }

  #begin(parent: Span | undefined, name: string, at: number, kind: SpanKind, attributes: Attributes): Span {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent);
    const tracer = this.#provider.getTracer("compute-operator");
    return tracer.startSpan(name, { startTime: timeOf(at), kind, attributes }, context);
  }
}

/** An exporter that reports in the log, once, that the collector takes nothing, and that it does again. */
function reportingExporter(exporter: SpanExporter, log: Logger): SpanExporter {
  let fails = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const isRefused = result.error !== undefined;
        if (isRefused && !fails)
          log.warn({}, "The collector takes no traces: spans are dropped. Nothing else depends on it");
        if (!isRefused && fails) log.info({}, "The collector takes traces again");
        fails = isRefused;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
  };
}

/** Milliseconds since the epoch as seconds and nanoseconds. */
function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * 1e6)];
}

/** A path of the API server without names, e.g. `/apis/GROUP/VERSION/namespaces/{namespace}/computes/{name}/status`. */
function routeOf(path: string): string {
  const parts = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)(\/namespaces\/[^/]+)?\/([^/]+)(\/[^/]+)?(\/\w+)?$/.exec(path);
  if (parts === null) return "other";
  const [, group = "", namespace, resource = "", name, subresource = ""] = parts;
  return `${group}${namespace === undefined ? "" : "/namespaces/{namespace}"}/${resource}${name === undefined ? "" : "/{name}"}${subresource}`;
}
