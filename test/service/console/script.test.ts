import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import { script } from "../../../src/service/console/script.ts";

function answerOf(status: number, text = Promise.resolve("")) {
  return Promise.resolve({ ok: status < 400, status, text: () => text });
}

/** A page that runs the script: a stream of changes, and the waits before the page is fetched again. */
class Page {
  readonly waits: number[] = [];
  /** The streams that it has opened, and how many of them are open. */
  streams = 0;
  open = 0;
  /** The stream meets an error, and is in this state. */
  fail: (readyState: number) => void = () => {};
  /** Some time passes. */
  pass = () => {};
  #now = 0;
  #fetch = () => {};
  #tell: (event: { data: string }) => void = () => {};

  /** `drawn`: the random numbers; `takes`: the time of each fetch, and `gets` its answer. */
  constructor(drawn: number, takes: number, gets = () => answerOf(200)) {
    const part = { dataset: { changes: "0" }, querySelectorAll: () => [] };
    const same = { isEqualNode: () => true };
    const shown = {
      documentElement: { classList: { add: () => {}, remove: () => {} } },
      querySelector: (what: string) => (what === "main[data-changes]" ? part : same),
      addEventListener: () => {},
    };
    const listen = (event: string, act: (told: { data: string; target: { readyState: number } }) => void) => {
      if (event === "changes") this.#tell = (told) => act({ ...told, target: { readyState: 1 } });
      if (event === "error") this.fail = (readyState) => act({ data: "", target: { readyState } });
    };
    const opened = (by: 1 | -1) => {
      this.streams += Math.max(0, by);
      this.open += by;
    };
    runInNewContext(script.reply.body ?? "", {
      document: shown,
      addEventListener: () => {},
      location: { href: "" },
      Math: { max: Math.max, min: Math.min, random: () => drawn },
      performance: { now: () => this.#now },
      setTimeout: (act: () => void, ms: number) => {
        this.waits.push(ms);
        this.#fetch = act;
        return this.waits.length;
      },
      clearTimeout: () => {},
      setInterval: (act: () => void) => {
        this.pass = act;
      },
      fetch: () => {
        this.#now += takes;
        return gets();
      },
      DOMParser: class {
        parseFromString = () => shown;
      },
      EventSource: class {
        static readonly CLOSED = 2;
        addEventListener = listen;
        close = () => opened(-1);
        constructor() {
          opened(1);
        }
      },
    });
  }

  /** A change is told. */
  change(count: number): void {
    this.#tell({ data: String(count) });
  }

  /** The wait ends, and the page is fetched. */
  async fetched(): Promise<void> {
    this.#fetch();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it.each([
  [0, 400],
  [0.5, 600],
  [0.999, 799.6],
])("a page is fetched after a change at a time of its own: where it draws %d, after %d ms", (drawn, ms) => {
  const page = new Page(drawn, 10);
  page.change(1);
  page.change(2);
  expect(page.waits).toEqual([ms]);
});

it.each([
  { took: "300 ms", takes: 300, ms: 3000 },
  { took: "a night in which the machine slept", takes: 30_000_000, ms: 10_000 },
])("a page whose fetch took $took is fetched again no sooner than $ms ms after a change", async ({ takes, ms }) => {
  const page = new Page(0, takes);
  page.change(1);
  await page.fetched();
  page.change(2);
  expect(page.waits).toEqual([400, ms]);
});

it.each([
  ["is answered 502 by a proxy", () => answerOf(502)],
  ["is answered 429 by a proxy that limits each client", () => answerOf(429)],
  ["gets no answer", () => Promise.reject(new Error("the network is gone"))],
  ["has the connection cut", () => answerOf(200, Promise.reject(new Error("the connection is cut")))],
])(
  "a page that %s as it is fetched after a change is fetched again, though no other change is told",
  async (_, gets) => {
    const page = new Page(0, 10, gets);
    page.change(1);
    await page.fetched();
    await page.fetched();
    expect(page.waits).toEqual([400, 5000, 5000]);
  },
);

it("a page asks for the stream of changes again and again, and so hears of the end of a session by its time alone", () => {
  const page = new Page(0, 10);
  page.pass();
  page.pass();
  expect([page.streams, page.open]).toEqual([3, 1]);
});

it("a page leaves a stream that broke to the browser, which opens it again, and opens another once that has given up", () => {
  const page = new Page(0, 10);
  page.fail(0);
  expect(page.waits).toEqual([]);
  page.fail(2);
  expect(page.waits).toEqual([5000]);
});

it("a form that changes something is sent once, though its button is clicked twice, until it has had its time", () => {
  const listeners = new Map<string, (event: object) => void>();
  const addEventListener = (name: string, act: (event: object) => void) => listeners.set(name, act);
  const waits: { act: () => void; ms: number }[] = [];
  runInNewContext(script.reply.body ?? "", {
    document: { documentElement: { classList: { add: () => {} } }, querySelector: () => null, addEventListener },
    addEventListener,
    setTimeout: (act: () => void, ms: number) => waits.push({ act, ms }),
  });
  const isSent = (method: string) => {
    const preventDefault = vi.fn<() => void>();
    listeners.get("submit")?.({ target: { method }, preventDefault });
    return preventDefault.mock.calls.length === 0;
  };
  expect([isSent("get"), isSent("post"), isSent("post"), isSent("get")]).toEqual([true, true, false, true]);
  expect(waits.map(({ ms }) => ms)).toEqual([10_000]);
  waits[0]?.act();
  expect([isSent("post"), isSent("post")]).toEqual([true, false]);
  // Back from another page.
  listeners.get("pageshow")?.({});
  expect([isSent("post"), isSent("post")]).toEqual([true, false]);
});
