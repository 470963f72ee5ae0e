import type { ClusterRequest, ClusterTransport, WatchLine } from "../../../src/operator/kube/transport.ts";
import { isJsonObject, type JsonObject } from "../api-server/objects.ts";

/** A cluster that the suite runs on: the one in memory, or a real one. */
export interface Cluster {
  transport: ClusterTransport;
  /** A namespace of this test's own. */
  namespace: string;
  /** Lets time pass until `check` answers something; fails when it does not within seconds. */
  eventually<T>(what: string, check: () => Promise<T | undefined>): Promise<T>;
}

/** An answer, read loosely: the suite looks into all kinds of objects. */
export interface Answer {
  status: number;
  body: JsonObject;
}

const timeoutMs = 10_000;

export async function call(cluster: Cluster, request: ClusterRequest): Promise<Answer> {
  const { status, body } = await cluster.transport.request(request, { signal: AbortSignal.any([]), timeoutMs });
  return { status, body: isJsonObject(body) ? body : {} };
}

export const get = (cluster: Cluster, path: string, query: Record<string, string> = {}) =>
  call(cluster, { method: "GET", path, query });
export const post = (cluster: Cluster, path: string, body: unknown) => call(cluster, { method: "POST", path, body });
export const put = (cluster: Cluster, path: string, body: unknown) => call(cluster, { method: "PUT", path, body });
export const remove = (cluster: Cluster, path: string, body?: unknown) =>
  call(cluster, { method: "DELETE", path, ...(body === undefined ? {} : { body }) });
export const patch = (cluster: Cluster, path: string, body: unknown) =>
  call(cluster, { method: "PATCH", path, body, contentType: "application/json-patch+json" });

/** A member deep inside an answer, by a path of dots; `undefined` where there is none. */
export function at(body: unknown, path: string): unknown {
  let value: unknown = body;
  for (const part of path.split(".")) {
    if (Array.isArray(value)) value = value[Number(part)];
    else value = isJsonObject(value) ? value[part] : undefined;
  }
  return value;
}

export function textAt(body: unknown, path: string): string {
  const value = at(body, path);
  if (typeof value !== "string") throw new Error(`no text at ${path} of ${JSON.stringify(body)}`);
  return value;
}

/** Items of a list's answer. */
export function itemsOf(answer: Answer): JsonObject[] {
  const items = answer.body["items"];
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

export function namesOf(answer: Answer): string[] {
  return itemsOf(answer).map((item) => textAt(item, "metadata.name"));
}

/** A watch whose lines are read in the background, as `TYPE name` and in full. */
export class Watching {
  readonly lines: WatchLine[] = [];
  ended: "no" | "in order" | Error = "no";
  readonly #cluster: Cluster;
  readonly #abort = new AbortController();

  constructor(cluster: Cluster, path: string, query: Record<string, string>) {
    this.#cluster = cluster;
    void this.#read(path, query);
  }

  /** The first `count` lines besides bookmarks, as `TYPE name`. */
  async reported(count: number): Promise<string[]> {
    const reported = () => this.lines.filter((line) => line.type !== "BOOKMARK");
    await this.#cluster.eventually(`${count} lines of a watch`, async () =>
      reported().length >= count ? true : undefined,
    );
    return reported().map(({ type, object }) => `${type} ${String(at(object, "metadata.name"))}`);
  }

  async end(): Promise<"in order" | Error> {
    return this.#cluster.eventually("the end of a watch", async () => (this.ended === "no" ? undefined : this.ended));
  }

  stop(): void {
    this.#abort.abort();
  }

  async #read(path: string, query: Record<string, string>): Promise<void> {
    try {
      const options = { signal: this.#abort.signal, idleTimeoutMs: 60_000 };
      const lines = this.#cluster.transport.watch({ path, query: { watch: "true", ...query } }, options);
      for await (const line of lines) this.lines.push(line);
      this.ended = "in order";
    } catch (error) {
      this.ended = error instanceof Error ? error : new Error(String(error));
    }
  }
}
