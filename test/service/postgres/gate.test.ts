import { beforeEach, expect, it } from "vitest";
import type { Running } from "../../../src/service/postgres/fleet-ports.ts";
import { Gate } from "../../../src/service/postgres/gate.ts";
import { Sessions } from "../../../src/service/postgres/sessions.ts";
import { primary, project, Shop } from "../support/shop.ts";

const target = { endpointId: primary, pooled: false };
const running: Running = JSON.parse('{"config": {}}');

let shop: Shop;
let gate: Gate;
let sessions: Sessions;
/** What follows the changes of the service now. */
let followers: Set<() => void>;
let server: Running | undefined;
beforeEach(() => {
  shop = new Shop();
  sessions = new Sessions();
  followers = new Set();
  server = running;
  const { core } = shop;
  gate = new Gate(
    {
      context: core.context,
      change: (act) => core.change(act),
      onChange: (follower) => {
        followers.add(follower);
        const stop = core.onChange(follower);
        return () => {
          followers.delete(follower);
          stop();
        };
      },
    },
    {
      fleet: { serverOf: () => server },
      poolers: undefined,
      sockets: { path: () => "" },
      sessions,
      verifiers: { of: () => Promise.reject(new Error("not asked")) },
    },
  );
});

/** What the store has of the compute. */
function stored(change: object): void {
  shop.core.change(({ store }) => {
    const endpoint = store.endpoints.byId(primary);
    if (endpoint) store.endpoints.update({ ...endpoint, ...change });
  });
}

it.each([
  ["is let in", () => shop.finishOperations().core.settle(), undefined],
  ["is refused, because its compute is disabled", () => stored({ disabled: true }), "is disabled"],
  [
    "is refused, because its compute is gone",
    () => shop.core.change(({ store }) => store.endpoints.delete(store.endpoints.byId(primary) ?? never())),
    "there is no compute",
  ],
  [
    "is refused, because its compute cannot be started",
    () => {
      shop.core.change(({ store }, at) => {
        for (const one of store.operations.unfinishedOf(project, primary)) store.operations.fail(one, at);
      });
      stored({ pendingState: undefined, currentState: "idle" });
    },
    "could not be started",
  ],
])("a client that waited for its compute and then %s follows no change any more", async (_, happen, refusal) => {
  const waiting = gate.admit(target);
  expect(followers.size).toBe(1);
  shop.core.change(() => {});
  expect(followers.size).toBe(1);
  happen();
  const outcome = await waiting.then(
    () => undefined,
    (error: unknown) => String(error),
  );
  expect(outcome ?? "").toContain(refusal ?? "");
  expect(outcome === undefined).toBe(refusal === undefined);
  expect([followers.size, sessions.any(primary)]).toEqual([0, refusal === undefined]);
});

it("a client whose compute is up follows no change at all", async () => {
  shop.active();
  await gate.admit(target);
  expect(followers.size).toBe(0);
});

it("a client whose compute falls asleep again and again is refused after three tries, and leaves nothing behind", async () => {
  server = undefined;
  const waiting = gate.admit(target);
  waiting.catch(() => {});
  for (let tries = 0; tries < 3; tries += 1) {
    shop.core.change(({ store }, at) => {
      for (const one of store.operations.unfinishedOf(project, primary)) {
        store.operations.setStatus(one.seq, "finished", at, undefined);
      }
      const endpoint = store.endpoints.byId(primary);
      if (endpoint) store.endpoints.update({ ...endpoint, pendingState: undefined, currentState: "idle" });
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(waiting).rejects.toThrow(`compute ${primary} is suspended again and again`);
  expect([followers.size, sessions.any(primary)]).toEqual([0, false]);
});

function never(): never {
  throw new Error("the compute is gone already");
}
