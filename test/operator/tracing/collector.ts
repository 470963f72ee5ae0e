import { createServer, type Server } from "node:http";
import { z } from "zod";

const attribute = z.object({
  key: z.string(),
  value: z.object({ stringValue: z.string().optional(), intValue: z.coerce.number().optional() }),
});
const span = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().default(""),
  name: z.string(),
  startTimeUnixNano: z.string().transform(Number),
  endTimeUnixNano: z.string().transform(Number),
  attributes: z.array(attribute),
  status: z.object({ code: z.number().default(0) }).prefault({}),
});
const request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.object({ spans: z.array(span) })),
    }),
  ),
});

/** A span as the collector got it; its children are in the order in which they began. */
export interface Received {
  name: string;
  traceID: string;
  id: string;
  parent: string;
  startMs: number;
  endMs: number;
  isError: boolean;
  attributes: Readonly<Record<string, string | number | undefined>>;
  service: string | number | undefined;
}

/** A collector that takes OTLP over HTTP, as JSON; or that takes no request's body, or answers none. */
export class Collector implements AsyncDisposable {
  readonly #server: Server;
  readonly requests: { path: string; body: string; headers: NodeJS.Dict<string | string[]> }[] = [];

  static async start(answers: "200" | "400" | "503" | "never" = "200"): Promise<Collector> {
    const collector = new Collector(answers);
    await new Promise<void>((resolve) => collector.#server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  private constructor(answers: string) {
    this.#server = createServer((incoming, outgoing) => {
      let body = "";
      incoming.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      incoming.on("end", () => {
        this.requests.push({ path: incoming.url ?? "", body, headers: incoming.headers });
        if (answers === "never") return;
        outgoing.writeHead(Number(answers), { "content-type": "application/json" }).end("{}");
      });
    });
  }

  /** As in `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  get endpoint(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the collector has no port");
    return `http://127.0.0.1:${address.port}`;
  }

  get spans(): Received[] {
    const all = this.requests.flatMap(({ body }) => request.parse(JSON.parse(body)).resourceSpans);
    return all
      .flatMap(({ resource, scopeSpans }) => {
        const service = valuesOf(resource.attributes)["service.name"];
        return scopeSpans.flatMap(({ spans }) => spans.map((each) => ({ ...received(each), service })));
      })
      .toSorted((a, b) => a.startMs - b.startMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function received(one: z.output<typeof span>): Omit<Received, "service"> {
  return {
    name: one.name,
    traceID: one.traceId,
    id: one.spanId,
    parent: one.parentSpanId,
    startMs: one.startTimeUnixNano / 1e6,
    endMs: one.endTimeUnixNano / 1e6,
    isError: one.status.code === 2,
    attributes: valuesOf(one.attributes),
  };
}

function valuesOf(attributes: readonly z.output<typeof attribute>[]): Record<string, string | number | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
