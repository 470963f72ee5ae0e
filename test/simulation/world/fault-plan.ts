import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";
import type { Random } from "../../../src/operator/runtime/clock.ts";
import type { ClusterWeather, LineFate, RequestFate, WatchFate } from "../api-server/faults.ts";
import type { Edges } from "./edges.ts";

/** What becomes of one request to the service. Times in milliseconds. */
export type ServiceFate =
  | { kind: "answered"; arriveMs: number; replyMs: number; lagMs: number }
  /** The connection is refused: nothing happens. */
  | { kind: "refused"; afterMs: number }
  /** Carried out, but its answer is lost. */
  | { kind: "lost"; arriveMs: number; afterMs: number }
  /** Held up on the way: the client gives up first, or its connection is reset, and then it is carried out. */
  | { kind: "late"; arriveMs: number; resetMs?: number }
  /** The service's own refusal: nothing is done. */
  | { kind: "status"; status: 404 | 423 | 429 | 503; afterMs: number; retryAfterMs: number | undefined }
  /** The service's own 500, or a page of a proxy in front of it: carried out or not. */
  | { kind: "broken"; as: "500" | "html"; carriedOut: boolean; afterMs: number }
  /** Carried out, and the answer breaks off in its middle. */
  | { kind: "cut"; arriveMs: number; replyMs: number };

/** The share of requests that each fault affects, 0 to 1, and how slow the network is. */
export interface Rates {
  service: {
    refused: number;
    lost: number;
    late: number;
    beyond: number;
    status: number;
    broken: number;
    cut: number;
    lag: number;
  };
  cluster: {
    refused: number;
    lost: number;
    status: number;
    cutWatch: number;
    lag: number;
    /** Answered only seconds later. */
    slow: number;
    /** Carried out only after the client gave up. */
    late: number;
  };
  /** The share of requests for a Lease whose answer takes seconds, or longer than the client waits. */
  slowLease: number;
  /** The share of delays that end within milliseconds of a deadline (`Edges`). */
  edges: number;
  /** The longest that a request or a watch line is on its way. */
  slowestMs: number;
  slowestLineMs: number;
  /**
   * How far a lagging list of the service is behind at most: less than the 10 s between two lists that prove absence.
   */
  mostLagMs: number;
}

export const noFaults: Rates = {
  service: { refused: 0, lost: 0, late: 0, beyond: 0, status: 0, broken: 0, cut: 0, lag: 0 },
  cluster: { refused: 0, lost: 0, status: 0, cutWatch: 0, lag: 0, slow: 0, late: 0 },
  slowLease: 0,
  edges: 0,
  slowestMs: 20,
  slowestLineMs: 20,
  mostLagMs: 0,
};

export interface WeatherOptions {
  random: Random;
  rates: Rates;
  createSettleMs: number;
  edges: Edges;
  /** A create that is held up arrives within this share of `--create-settle` after it was sent. */
  latestShare: number;
}

/** Faults of every kind at the rates of the moment, from one seeded source, and how many of each there were. */
export class Weather implements ClusterWeather {
  /** While it is not 0, nothing gets through to the service, or to the API server: outages may overlap. */
  serviceDown = 0;
  clusterDown = 0;
  /** While it is not 0, the operator's reads of endpoints are answered 404, as for want of a right. */
  endpointsHidden = 0;
  readonly tally = new Map<string, number>();
  readonly edges: Edges;
  readonly #options: WeatherOptions;
  readonly #random: Random;
  #rates: Rates;

  constructor(options: WeatherOptions) {
    this.#options = options;
    this.#random = options.random;
    this.edges = options.edges;
    this.#rates = options.rates;
    this.rates = options.rates;
  }

  get rates(): Rates {
    return this.#rates;
  }

  set rates(rates: Rates) {
    this.#rates = rates;
    this.edges.share = rates.edges;
  }

  service(write: boolean, path: string, timeoutMs: number): ServiceFate {
    if (this.endpointsHidden > 0 && !write && path.includes("/endpoints")) {
      const fate: ServiceFate = { kind: "status", status: 404, afterMs: this.#latency(), retryAfterMs: undefined };
      return this.#counted("service 404", fate);
    }
    if (this.serviceDown > 0) return this.#counted("service down", { kind: "refused", afterMs: this.#between(1, 200) });
    const rates = this.rates.service;
    const { createSettleMs } = this.#options;
    const arriveMs = this.#latency();
    const replyMs = this.#latency();
    switch (this.#pick(rates)) {
      case "refused":
        return this.#counted("service refused", { kind: "refused", afterMs: arriveMs });
      case "lost":
        return this.#counted("service reply lost", {
          kind: "lost",
          arriveMs,
          afterMs: arriveMs + this.#between(1, 2000),
        });
      case "late":
        if (!write) break;
        return this.#counted("service late", this.#heldUp());
      case "beyond": {
        if (!write) break;
        const beyond = this.#between(createSettleMs * 1.2, createSettleMs * 3);
        return this.#counted("service late beyond settle", { kind: "late", arriveMs: beyond });
      }
      case "status":
        return this.#status(arriveMs);
      case "broken": {
        const as = this.#random() < 0.5 ? "500" : "html";
        const carriedOut = this.#random() < 0.5;
        return this.#counted(`service ${as}`, { kind: "broken", as, carriedOut, afterMs: arriveMs + replyMs });
      }
      case "cut":
        return this.#counted("service answer cut", { kind: "cut", arriveMs, replyMs });
      case "lag":
        if (write) break;
        return this.#counted("service stale answer", {
          kind: "answered",
          arriveMs,
          replyMs,
          lagMs: this.#between(100, this.rates.mostLagMs),
        });
      case undefined:
        break;
    }
    return { kind: "answered", lagMs: 0, ...this.#onItsWay(arriveMs, replyMs, timeoutMs) };
  }

  request(request: ClusterRequest, timeoutMs: number): RequestFate {
    if (this.clusterDown > 0) return this.#counted("cluster down", { kind: "refused", afterMs: this.#between(1, 100) });
    const arriveMs = this.#latency();
    const replyMs = this.#latency();
    if (request.path.includes("/leases") && this.edges.chance(this.rates.slowLease)) {
      return this.#counted("lease slow", {
        kind: "answered",
        arriveMs,
        replyMs: this.edges.between(timeoutMs / 5, timeoutMs * 1.2),
      });
    }
    switch (this.#pick(this.rates.cluster)) {
      case "refused":
        return this.#counted("cluster refused", { kind: "refused", afterMs: arriveMs });
      case "lost":
        return this.#counted("cluster reply lost", {
          kind: "lost",
          arriveMs,
          afterMs: arriveMs + this.#between(1, 500),
        });
      case "status": {
        const status = [429, 500, 503, 409] as const;
        const chosen = status[Math.floor(this.#random() * (request.method === "GET" ? 3 : 4))] ?? 500;
        const retryAfterMs = chosen === 429 ? { retryAfterMs: 1000 } : {};
        return this.#counted(`cluster ${chosen}`, {
          kind: "status",
          status: chosen,
          afterMs: arriveMs,
          ...retryAfterMs,
        });
      }
      case "lag":
        // A list that asks for the newest there is gets it from any replica.
        if (request.query?.["resourceVersion"] !== "0") break;
        return this.#counted("cluster stale list", {
          kind: "answered",
          arriveMs,
          replyMs,
          lagRevisions: Math.floor(this.#between(1, 30)),
        });
      case "slow":
        return this.#counted("cluster slow", {
          kind: "answered",
          arriveMs,
          replyMs: this.edges.delay(0, timeoutMs, timeoutMs) ?? this.edges.between(0, timeoutMs),
        });
      case "late":
        return this.#counted("cluster late", {
          kind: "answered",
          arriveMs: timeoutMs + (this.edges.delay(0, timeoutMs) ?? this.edges.between(0, timeoutMs)),
          replyMs,
        });
      case "cutWatch":
      case undefined:
        break;
    }
    return { kind: "answered", ...this.#onItsWay(arriveMs, replyMs, timeoutMs) };
  }

  watchOpens(): WatchFate {
    if (this.clusterDown > 0) return { kind: "refused" };
    if (this.#random() >= this.rates.cluster.status) return { kind: "opened" };
    const status = ([429, 500, 503] as const)[Math.floor(this.#random() * 3)] ?? 500;
    const asks = this.#random() < 0.5 ? {} : { retryAfterMs: this.#between(1, 10) * 1000 };
    return this.#counted(`watch ${status}`, { kind: "status", status, ...asks });
  }

  line(): LineFate {
    if (this.#random() < this.rates.cluster.cutWatch) return this.#counted("watch cut", { kind: "cut" });
    const delayMs = this.#random() < 0.5 ? 0 : this.#between(0, this.rates.slowestLineMs);
    return { kind: "delivered", delayMs: this.edges.delay(0, this.rates.slowestLineMs) ?? delayMs };
  }

  merges(): boolean {
    return this.rates.slowestLineMs > 20 && this.#random() < 0.2;
  }

  /** How long something lasts that was to last so long. */
  lasting(ms: number): number {
    return this.edges.delay(ms / 2, ms * 2) ?? ms;
  }

  /** A write that arrives long after it was sent, and at the latest right before `--create-settle` is over. */
  #heldUp(): ServiceFate {
    const { latestShare, createSettleMs } = this.#options;
    const arriveMs = this.#between(5000, createSettleMs * 0.9);
    if (!this.edges.chance(0.6)) return { kind: "late", arriveMs };
    const resetMs = this.edges.between(1, 50);
    this.edges.note(resetMs + createSettleMs);
    return { kind: "late", arriveMs: createSettleMs * latestShare - this.edges.between(1, 50), resetMs };
  }

  /** How long a request and its answer are on their way: now and then so long that either ends at a deadline. */
  #onItsWay(arriveMs: number, replyMs: number, timeoutMs: number): { arriveMs: number; replyMs: number } {
    const aimed = this.edges.delay(0, timeoutMs, timeoutMs);
    if (aimed === undefined) return { arriveMs, replyMs };
    if (this.edges.chance(0.3)) return { arriveMs: aimed, replyMs };
    return { arriveMs: Math.min(arriveMs, aimed), replyMs: Math.max(0, aimed - arriveMs) };
  }

  #status(afterMs: number): ServiceFate {
    const statuses = [423, 429, 503] as const;
    const status = statuses[Math.floor(this.#random() * 3)] ?? 423;
    const asks = this.#random() < 0.5 ? undefined : Math.ceil(this.#between(1, 8)) * 1000;
    return this.#counted(`service ${status}`, { kind: "status", status, afterMs, retryAfterMs: asks });
  }

  #latency(): number {
    return this.#random() < 0.7 ? this.#between(0, 10) : this.#between(0, this.rates.slowestMs);
  }

  #between(low: number, high: number): number {
    return Math.floor(low + (high - low) * this.#random());
  }

  #pick<K extends string>(rates: Record<K, number>): K | undefined {
    let point = this.#random();
    for (const [kind, rate] of entriesOf(rates)) {
      if (point < rate) return kind;
      point -= rate;
    }
    return undefined;
  }

  #counted<F>(name: string, fate: F): F {
    this.tally.set(name, (this.tally.get(name) ?? 0) + 1);
    return fate;
  }
}

function entriesOf<K extends string>(rates: Record<K, number>): [K, number][] {
  const entries: [K, number][] = [];
  for (const kind in rates) entries.push([kind, rates[kind]]);
  return entries;
}
