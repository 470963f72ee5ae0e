import { asRecord } from "../objects/record.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { ClusterError, ClusterUnreachable, errorOf, isNotFound, type Target } from "./errors.ts";
import type { JsonPatchOperation } from "./json-patch.ts";
import { type Draft, isObjectOf, type KubeObject, type ObjectRef, pathOf, type ResourceKind } from "./objects.ts";
import type { ClusterRequest, ClusterResponse, ClusterTransport, WatchLine } from "./transport.ts";

export interface ClusterClientOptions {
  clock: Clock;
  /** Deadline of one request, without the wait for a `Retry-After`. */
  timeoutMs: number;
  /** Aborts every request that has no signal of its own. */
  signal: AbortSignal;
  /** Runs right before each write. If it throws, nothing is sent and the write rejects with that error. */
  beforeSend?: () => void;
  /** Receives the object in the answer to each write, before the caller of the write does. */
  onAnswer?: (kind: ResourceKind, object: KubeObject, write: { created: boolean }) => void;
  /** Called for every request that ended; `status` is 0 if no answer came. */
  onRequest?: (request: ClusterRequest, status: number, seconds: number) => void;
}

/** The objects of a kind to list or watch. */
export interface ListSelection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface ListParameters extends ListSelection {
  limit?: number | undefined;
  /** The continue token of the previous page. */
  continue?: string | undefined;
  /** Absent: the newest version. */
  resourceVersion?: string | undefined;
}

export interface WatchParameters extends ListSelection {
  resourceVersion: string;
  /** The server closes the watch after this time. */
  timeoutSeconds: number;
}

/** One page of a list; `continue` is the token of the next page, if there is one. */
export type ListPage = ReturnType<typeof pageOf>;

export interface CallOptions {
  /** Replaces the client's signal. */
  signal?: AbortSignal | undefined;
}

const getAttempts = 4;
const longestRetryAfterMs = 10_000;

/**
 * Requests to the API server as raw JSON, so that no field is lost. Throws `ClusterError` if the server refuses, and
 * `ClusterUnreachable` if no answer came. A read that gets 429 with `Retry-After` waits and tries again; a write is
 * sent exactly once.
 */
export class ClusterClient {
  readonly #transport: ClusterTransport;
  readonly #options: ClusterClientOptions;

  constructor(transport: ClusterTransport, options: ClusterClientOptions) {
    this.#transport = transport;
    this.#options = options;
  }

  /** The object; `undefined` if it does not exist (404). */
  async get<T extends KubeObject>(
    kind: ResourceKind<T>,
    ref: ObjectRef,
    call: CallOptions = {},
  ): Promise<T | undefined> {
    try {
      return asObject(kind, await this.#read({ method: "GET", path: pathOf(kind, ref) }, call, targetOf(kind, ref)));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async listPage<T extends KubeObject>(
    kind: ResourceKind<T>,
    parameters: ListParameters = {},
    call: CallOptions = {},
  ): Promise<ListPage> {
    const { namespace, ...query } = parameters;
    const path = pathOf(kind, { namespace });
    return pageOf(await this.#read({ method: "GET", path, query: queryOf(query) }, call), path);
  }

  /** Lines of a watch with bookmarks; see `ClusterTransport.watch`. */
  watch<T extends KubeObject>(
    kind: ResourceKind<T>,
    parameters: WatchParameters,
    options: { signal: AbortSignal; idleTimeoutMs: number },
  ): AsyncIterable<WatchLine> {
    const { namespace, ...query } = parameters;
    const path = pathOf(kind, { namespace });
    const bookmarked = { ...queryOf(query), watch: "true", allowWatchBookmarks: "true" };
    return this.#transport.watch({ path, query: bookmarked }, options);
  }

  async create<T extends KubeObject>(kind: ResourceKind<T>, object: Draft<T>, call: CallOptions = {}): Promise<T> {
    const { namespace, name = "" } = object.metadata;
    const path = pathOf(kind, { namespace });
    const about = targetOf(kind, { namespace, name });
    const response = await this.#write({ method: "POST", path, body: object }, call, about);
    return this.#answered(kind, response, { created: true });
  }

  /** Applies a JSON Patch, all of it or nothing. `guardedPatch` builds one; `isStale` recognises its refusal. */
  async patch<T extends KubeObject>(
    kind: ResourceKind<T>,
    ref: ObjectRef,
    ops: readonly JsonPatchOperation[],
    options: CallOptions & { subresource?: "status" } = {},
  ): Promise<T> {
    const path = pathOf(kind, { ...ref, subresource: options.subresource });
    const contentType = "application/json-patch+json";
    const about = targetOf(kind, ref);
    const response = await this.#write({ method: "PATCH", path, body: ops, contentType }, options, about);
    return this.#answered(kind, response, { created: false });
  }

  /**
   * Deletes this very version of an object, or marks it if it has finalizers; one that was changed meanwhile is refused
   * with 409. With the uid alone, the API server also removes an object to which a finalizer is added while it deletes:
   * 72 of 400 that were sent together. A missing object is no error.
   */
  async delete<T extends KubeObject>(
    kind: ResourceKind<T>,
    ref: ObjectRef & Partial<Pick<KubeObject["metadata"], "uid" | "resourceVersion">>,
    options: CallOptions = {},
  ): Promise<void> {
    const { uid, resourceVersion } = ref;
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid, resourceVersion } };
    try {
      const path = pathOf(kind, ref);
      const response = await this.#write({ method: "DELETE", path, body }, options, targetOf(kind, ref));
      // The answer is a Status if the object is gone, else the object with its deletion timestamp.
      if (isObjectOf(kind, response.body)) this.#answered(kind, response, { created: false });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  #answered<T extends KubeObject>(kind: ResourceKind<T>, response: ClusterResponse, write: { created: boolean }): T {
    const object = asObject(kind, response);
    this.#options.onAnswer?.(kind, object, write);
    return object;
  }

  async #write(request: ClusterRequest, call: CallOptions, about: Target): Promise<ClusterResponse> {
    this.#options.beforeSend?.();
    return successful(await this.#send(request, call), request, about);
  }

  async #read(request: ClusterRequest, call: CallOptions, about?: Target): Promise<ClusterResponse> {
    for (let attempt = 1; ; attempt += 1) {
      const response = await this.#send(request, call);
      if (response.status !== 429 || response.retryAfterMs === undefined || attempt === getAttempts) {
        return successful(response, request, about);
      }
      const { clock, signal } = this.#options;
      await sleep(clock, Math.min(longestRetryAfterMs, response.retryAfterMs), call.signal ?? signal);
    }
  }

  async #send(request: ClusterRequest, call: CallOptions): Promise<ClusterResponse> {
    const { clock, timeoutMs, signal, onRequest } = this.#options;
    const startedAt = clock.monotonic();
    const seconds = () => (clock.monotonic() - startedAt) / 1000;
    try {
      const response = await this.#transport.request(request, { signal: call.signal ?? signal, timeoutMs });
      onRequest?.(request, response.status, seconds());
      return response;
    } catch (error) {
      onRequest?.(request, 0, seconds());
      if (error instanceof ClusterError || error instanceof ClusterUnreachable) throw error;
      throw new ClusterUnreachable(`${request.method} ${request.path}: no answer`, { cause: error });
    }
  }
}

function successful(response: ClusterResponse, request: ClusterRequest, about?: Target): ClusterResponse {
  if (response.status >= 200 && response.status < 300) return response;
  throw errorOf(response, `${request.method} ${request.path}`, about);
}

function targetOf({ kind }: ResourceKind, { namespace, name }: ObjectRef): Target {
  return { kind, namespace, name };
}

function asObject<T extends KubeObject>(kind: ResourceKind<T>, response: ClusterResponse): T {
  if (isObjectOf(kind, response.body)) return response.body;
  throw new ClusterUnreachable(`the answer of the API server is not a ${kind.kind} with a name and a uid`);
}

/** Items are unchecked, because one of them may be invalid. */
function pageOf(response: ClusterResponse, path: string) {
  const { items, metadata } = asRecord(response.body);
  const { resourceVersion, continue: token } = asRecord(metadata);
  if (!(Array.isArray(items) || items === null) || typeof resourceVersion !== "string") {
    throw new ClusterUnreachable(`GET ${path}: the answer is not a list`);
  }
  const unchecked: readonly unknown[] = items ?? [];
  return { items: unchecked, resourceVersion, continue: typeof token === "string" && token !== "" ? token : undefined };
}

function queryOf(parameters: object): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query[name] = String(value);
  }
  return query;
}
