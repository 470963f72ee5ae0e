import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";

/** What becomes of one request on its way to the API server and back. Times in milliseconds. */
export type RequestFate =
  | { kind: "answered"; arriveMs: number; replyMs: number; lagRevisions?: number }
  /** The connection was refused or broke before the request arrived. */
  | { kind: "refused"; afterMs: number }
  /** It is carried out, but its answer never comes. */
  | { kind: "lost"; arriveMs: number; afterMs: number }
  /** An overloaded or failing server, or one with a policy, answers without doing anything. */
  | { kind: "status"; afterMs: number; status: RefusedWith; retryAfterMs?: number; message?: string };

/** What an overloaded or failing server, or one with a policy, answers. */
export type RefusedWith = 403 | 409 | 429 | 500 | 503;

/** What becomes of one attempt to open a watch. */
export type WatchFate =
  | { kind: "opened" }
  /** The connection was refused. */
  | { kind: "refused" }
  | { kind: "status"; status: RefusedWith; retryAfterMs?: number };

/** What becomes of one watch line. */
export type LineFate = { kind: "delivered"; delayMs: number } | { kind: "cut" };

/** Decides the fate of all that passes between one client and the API server. */
export interface ClusterWeather {
  request(request: ClusterRequest, timeoutMs: number): RequestFate;
  watchOpens(path: string): WatchFate;
  line(path: string): LineFate;
  /** Whether changes of one object that wait for delivery are sent as one event. */
  merges(): boolean;
}

/** Everything arrives at once and in order. */
export const calm: ClusterWeather = {
  request: () => ({ kind: "answered", arriveMs: 0, replyMs: 0 }),
  watchOpens: () => ({ kind: "opened" }),
  line: () => ({ kind: "delivered", delayMs: 0 }),
  merges: () => false,
};
