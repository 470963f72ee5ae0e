import { expect, it } from "vitest";
import { replicaWatch } from "../../../../src/service/postgres/fleet/replica-watch.ts";

/** A watch of a primary and its replica `ep-a`, and of `ep-b`, whose primary does not run. */
function watched() {
  const timers: (() => void)[] = [];
  const server = (id: string, type: "read_only" | "read_write", branchId: string) => ({
    endpoint: { id, type, branchId },
    server: {},
  });
  const running = [
    server("ep-primary", "read_write", "br-a"),
    server("ep-a", "read_only", "br-a"),
    server("ep-b", "read_only", "br-b"),
  ];
  const [asked, started, errors]: [string[], string[], unknown[]] = [[], [], []];
  const after = (ms: number, task: () => void) => {
    if (ms === 60_000) timers.push(task);
    return () => {};
  };
  /** What a replica answers: its place, where it does not follow. */
  const answer: { rows: () => Promise<string[][]> } = { rows: () => Promise.resolve([]) };
  const ask = ({ endpoint: { id } }: { endpoint: { id: string } }) => {
    asked.push(id);
    return answer.rows();
  };
  const watch = replicaWatch({
    clock: { after },
    fleet: { running: () => running },
    verifiers: { ask },
    startAgain: (id) => started.push(id),
    onError: (error) => errors.push(error),
  });
  watch.begin();
  const looks = async (rows: () => Promise<string[][]>) => {
    answer.rows = rows;
    timers.shift()?.();
    await expect.poll(() => timers.length).toBe(1);
    return started.length;
  };
  return { running, asked, started, errors, looks };
}

const at = (position: string) => () => Promise.resolve([[position]]);
const following = () => Promise.resolve([]);

it("a replica that does not follow, and is no further a minute later, starts again, and once", async () => {
  const { asked, started, errors, looks } = watched();
  expect([await looks(at("0/1")), await looks(at("0/1")), await looks(at("0/1"))]).toEqual([0, 1, 1]);
  expect([started, errors]).toEqual([["ep-a"], []]);
  // Of one whose primary does not run nothing is expected.
  expect(new Set(asked)).toEqual(new Set(["ep-a"]));
});

it("a replica that follows between two looks, gets further, does not answer or is another server is left alone", async () => {
  const { running, started, looks } = watched();
  await looks(following);
  await looks(following);
  await looks(at("0/1"));
  await looks(following);
  await looks(at("0/1"));
  await looks(at("0/2"));
  await looks(() => Promise.reject(new Error("it ends")));
  await looks(at("0/2"));
  Object.assign(running[1] ?? {}, { server: {} });
  await looks(at("0/2"));
  expect(started).toEqual([]);
});
