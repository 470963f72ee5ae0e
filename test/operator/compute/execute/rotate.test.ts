import { expect, test } from "vitest";
import { after, atOnce } from "../../../../src/operator/life/outcome.ts";
import { Acting, linked, settled } from "./executing.ts";

test.each([
  ["is not allowed any more by the time it would leave", "second", false, [true, false], atOnce],
  ["is of a request that the Secret shows as carried out", "first", true, [], after(2000)],
])(
  "a reset of a password that %s is not sent, and leaves no note of one",
  async (_, value, isAllowed, noted, requeue) => {
    const notes: boolean[] = [];
    const acting = new Acting({
      isStillAllowed: () => isAllowed,
      secrets: {
        recordedNow: () => Promise.resolve({ role: "app", rotatedAt: 0, handled: "first" }),
        readSoon: () => {},
        noteReset: (_compute, at) => {
          notes.push(at !== undefined);
          return Promise.resolve();
        },
        remove: () => Promise.resolve([]),
      },
    });
    const annotations = { ...linked.annotations, "compute-operator.dev/passwordRotationAt": value };
    const spec = { connectionSecret: { name: "db", database: "shop", role: "app" } };
    const self = acting.stored({ metadata: { ...linked, annotations }, spec, status: settled });
    const password = { state: "unstored" } as const;
    acting.remember({ password });
    const action = {
      kind: "rotate",
      endpointID: "ep-one",
      branchID: "br-main",
      role: "app",
      request: value,
      now: 1,
    } as const;
    const outcome = await acting.execute(action, self);
    expect([outcome.requeue, notes, acting.effects]).toEqual([requeue, noted, []]);
    expect(acting.tools.state.known.password).toEqual(password);
  },
);
