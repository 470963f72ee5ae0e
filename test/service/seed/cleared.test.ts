import { expect, it } from "vitest";
import { clearedFor } from "../../../src/service/seed/cleared.ts";
import { Seed } from "../../../src/service/seed/document.ts";
import { project, Shop, shopSeed } from "../support/shop.ts";

const { projects } = Seed.parse(shopSeed);

/** A start of the shop's service with its seed, which may be told to end while it rests. */
class Start {
  readonly happened: string[] = [];
  readonly #shop = new Shop();
  readonly #ends = new AbortController();
  readonly #endsAfter: number;

  constructor(endsAfter = Number.POSITIVE_INFINITY) {
    this.#endsAfter = endsAfter;
  }

  deleteProject(): void {
    this.#shop.ana(`DELETE /projects/${project}`);
  }

  get isClear(): boolean {
    return !this.#shop.core.context.store.removed.any();
  }

  run(): Promise<boolean> {
    const { context } = this.#shop.core;
    const after = (_: number, task: () => void) => {
      this.happened.push("rest");
      if (this.happened.length >= this.#endsAfter) this.#ends.abort();
      queueMicrotask(task);
      return () => {};
    };
    const clear = () => {
      this.happened.push("clear");
      this.#shop.core.change(({ store }) => store.removed.clearSome());
    };
    const service = { clear, context: { ...context, clock: { now: () => context.clock.now(), after } } };
    return clearedFor(projects, service, this.#ends.signal);
  }
}

it("rows of deleted projects are cleared in turns before a seed plants a project that may have had their ids", async () => {
  const start = new Start();
  start.deleteProject();
  expect([await start.run(), start.isClear]).toEqual([true, true]);
  expect(start.happened.slice(0, 4)).toEqual(["clear", "rest", "clear", "rest"]);
});

it("nothing is cleared before a seed that has no project to plant", async () => {
  const start = new Start();
  expect([await start.run(), start.happened]).toEqual([true, []]);
});

it("a service that is told to end clears no more, and plants nothing", async () => {
  const start = new Start(2);
  start.deleteProject();
  expect([await start.run(), start.isClear, start.happened.length]).toEqual([false, false, 2]);
});
