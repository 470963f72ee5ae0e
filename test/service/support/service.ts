import type { ServiceClock } from "../../../src/service/clock.ts";
import type { ServiceCall, ServiceReply } from "../../../src/service/http/message.ts";
import type { TestControls } from "../../../src/service/http/test-controls.ts";
import { seededIds } from "../../../src/service/ids.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import { type Seed, Seed as SeedSchema } from "../../../src/service/seed/document.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { createService, type Service } from "../../../src/service/service.ts";
import { Database } from "../../../src/service/store/database.ts";
import { Store } from "../../../src/service/store/store.ts";
import { seededRandom } from "../../simulation/random.ts";

/** A body read as loosely as a test wants to look into it. */
export interface Body {
  [field: string]: unknown;
}

/** An answer with its body parsed. */
export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Body;
}

/** Time that a test drives. */
export class DrivenTime {
  #now = Date.UTC(2026, 0, 1);
  #readMs = 0;

  now(): number {
    const now = this.#now;
    this.#now += this.#readMs;
    return now;
  }

  /** From now on so long passes after each look at the clock, as on a busy machine. */
  readsTake(ms: number): void {
    this.#readMs = ms;
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** The timers of a service that listens. */
  timers: Pick<ServiceClock, "after"> | undefined;

  after(ms: number, task: () => void): () => void {
    if (this.timers) return this.timers.after(ms, task);
    throw new Error("the core of the service waits for nothing");
  }
}

/** The service in this process, on a clock that the test drives. */
export class TestService {
  readonly time: DrivenTime;
  readonly core: Service;
  /** Under the store, to look at what is written. */
  readonly database: Database;
  readonly errors: unknown[] = [];

  constructor(ports: TestServiceOptions = {}) {
    const { file = ":memory:", time = new DrivenTime(), seed = 1, testControls, ...options } = ports;
    this.time = time;
    this.database = new Database(file);
    const random = seededRandom(seed);
    this.core = createService({
      clock: time,
      random,
      ids: seededIds(random),
      store: new Store(this.database),
      options,
      ...(testControls && { testControls }),
      onError: (error) => this.errors.push(error),
    });
  }

  applySeed(seed: SeedInput): this {
    const document: Seed = SeedSchema.parse(seed);
    this.core.change((context, at) => applySeed(context, document, at));
    return this;
  }

  /** Sends a request below `/api/v2` with a key. */
  send(key: string | undefined, line: string, body?: unknown): Answer {
    const [method = "", target = ""] = line.split(" ");
    const { pathname, search } = new URL(target, "http://service");
    const path = pathname.startsWith("/_") ? pathname : `/api/v2${pathname}`;
    const call: ServiceCall = {
      method,
      path,
      query: Object.fromEntries(new URLSearchParams(search)),
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    };
    return answerOf(this.core.call(call));
  }
}

export interface TestServiceOptions extends Partial<ServiceOptions> {
  file?: string;
  time?: DrivenTime;
  /** Of the random numbers. */
  seed?: number;
  testControls?: TestControls;
}

export type SeedInput = Parameters<(typeof SeedSchema)["parse"]>[0];

function answerOf({ status, headers, body }: ServiceReply): Answer {
  return { status, headers, body: body === undefined ? {} : parse(body) };
}

function parse(body: string): Body {
  return JSON.parse(body);
}
