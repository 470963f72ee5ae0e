/** The object of a reconcile, and its wait in the queue. */
export interface TracedReconcile {
  kind: string;
  uid: string;
  namespace?: string | undefined;
  name?: string | undefined;
  waitedMs: number;
}

/** A request that has ended: the code is that of the answer, or `none` or 0. */
export interface TracedRequest {
  to: "service" | "kubernetes";
  method: string;
  /** The path; of the service with braces instead of ids. */
  route: string;
  code: string;
  seconds: number;
}

/** Trace of a reconcile and its requests. It never sees a header, a key or a body. */
export interface Tracer {
  /** Runs a reconcile, whose work resolves with its result; requests that end meanwhile belong to it. */
  reconcile(reconcile: TracedReconcile, work: () => Promise<string>): Promise<string>;
  /** Reports the decision of the reconcile in progress. */
  decided(action: string): void;
  requested(request: TracedRequest): void;
}

export const noTracer: Tracer = { reconcile: (_, work) => work(), decided: () => {}, requested: () => {} };
