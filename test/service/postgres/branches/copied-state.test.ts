import { describe, expect, it } from "vitest";
import { makeState } from "../../../../src/service/postgres/branches/copied-state.ts";
import type { CopiedPoint } from "../../../../src/service/postgres/data/point.ts";

const call: CopiedPoint = { kind: "call", at: 100 };
const log = { first: "a", last: "b", consistentAt: "0/1" };
const found = { position: 1n, place: "", present: { roleNames: [], roles: [], databases: [] } };
const base = { directory: "/base", at: 0, position: 0n, place: "", bytes: 0 };

interface Source {
  /** The newest end of a transaction at each look; the last one stays. */
  ends?: readonly number[];
  now?: number;
  hasBase?: boolean;
  isPresent?: boolean;
}

/** What is done to make the state, in its order, and what is answered. */
async function made(
  point: CopiedPoint | undefined,
  { ends = [0], now = 1000, hasBase = true, isPresent = false }: Source,
) {
  const left = [...ends];
  const done: string[] = [];
  const state = await makeState(point, {
    newestEnd: () => Promise.resolve((left.length > 1 ? left.shift() : left[0]) ?? 0),
    baseFor: () => Promise.resolve(hasBase ? base : undefined),
    copy: () => Promise.resolve(log).finally(() => done.push("copy")),
    recover: (past) => {
      done.push(`recover ${JSON.stringify(past)}`);
      return Promise.resolve(isPresent ? undefined : found);
    },
    remove: () => Promise.resolve().finally(() => done.push("remove")),
    now: () => now,
  });
  return { done, state };
}

const atCall = 'recover {"kind":"time","at":101}';

describe("the state at the call", () => {
  it.each([
    ["is what is there where nobody has written since", { ends: [100] }, ["copy"]],
    ["has what was answered in the millisecond of the call", { ends: [100.9] }, ["copy"]],
    ["is recovered where somebody has written before the copy begins", { ends: [102] }, [atCall]],
    ["is recovered where somebody writes amid the copy", { ends: [0, 102] }, ["copy", "remove", atCall]],
    ["is what is there where no history reaches back to the call", { ends: [102], hasBase: false }, ["copy"]],
    ["is what is there where the clock was set back since the last transaction", { ends: [102], now: 100 }, ["copy"]],
    ["is what is there where its recovery finds the present", { ends: [102], isPresent: true }, [atCall, "copy"]],
  ])("%s", async (_, source: Source, done) => {
    const { done: steps, state } = await made(call, source);
    expect(steps).toEqual(done);
    expect(state).toEqual(done.at(-1) === "copy" ? { log } : { recovered: found });
  });
});

it.each<[string, CopiedPoint | undefined, string]>([
  [
    "a time of the past is recovered, also where somebody writes",
    { kind: "time", at: 50 },
    'recover {"kind":"time","at":50}',
  ],
  ["an LSN of the past is recovered", { kind: "lsn", lsn: "0/10" }, 'recover {"kind":"lsn","lsn":"0/10"}'],
  ["a copy of an earlier version, which names no state, is of what is there", undefined, "copy"],
])("%s", async (_, point, step) => {
  expect((await made(point, { ends: [102] })).done).toEqual([step]);
});
