/** One request to the Kubernetes API server. */
export interface ClusterRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Without the query, e.g. `/apis/compute-operator.dev/v1alpha1/computes`. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Of the body. Default `application/json`. */
  contentType?: "application/json" | "application/json-patch+json";
}

/** Any complete answer of the API server, refusals included. */
export interface ClusterResponse {
  status: number;
  /** The parsed JSON body; `undefined` if there was none. */
  body: unknown;
  /** The wait that `Retry-After` asks for, in milliseconds. */
  retryAfterMs?: number;
}

/** One line of a watch: `type` is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. */
export interface WatchLine {
  type: string;
  object: unknown;
}

/**
 * The port of every request to the cluster. The real one speaks HTTP; tests use an API server in memory, or break it on
 * purpose.
 */
export interface ClusterTransport {
  /** Resolves with any complete answer; rejects if none came (refused, reset, cut off, too late, aborted). */
  request(request: ClusterRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<ClusterResponse>;
  /**
   * Opens a watch and yields its lines. Ends when the server closes it; throws if it is cut off or no line came for
   * `idleTimeoutMs`, and a `ClusterError` if the answer is not 200.
   */
  watch(
    request: { path: string; query: Readonly<Record<string, string>> },
    options: { signal: AbortSignal; idleTimeoutMs: number },
  ): AsyncIterable<WatchLine>;
}
