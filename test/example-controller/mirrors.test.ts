import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nothingDue } from "../../src/operator/life/due.ts";
import { opened, unsent } from "../../src/operator/life/record.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { Dice } from "../simulation/dice.ts";
import { seededRandom } from "../simulation/random.ts";
import { complaints } from "./judge.ts";
import { guard } from "./kind.ts";
import { type ConfigMap, type Mirror, ownerLabel } from "./mirror.ts";
import { MirrorWorld, type WorldOptions } from "./world.ts";

const strangers = new Map([["b", "a person's"]]);

/** The life of two Mirrors: made, changed, taken away. */
const scenario: readonly ((world: MirrorWorld) => void)[] = [
  (world) => world.apply("one", ["a", "b", "c"]),
  (world) => world.setSource("two"),
  (world) => world.apply("one", ["c"]),
  (world) => world.apply("other", ["a"]),
  (world) => world.delete("one"),
];

async function played(options: WorldOptions, stepMs = 3000): Promise<{ world: MirrorWorld; wrong: string[] }> {
  const world = new MirrorWorld(options);
  world.setSource("one");
  for (const [namespace, value] of strangers) world.setMap(namespace, value);
  world.start();
  for (const act of scenario) {
    await world.clock.advance(stepMs);
    act(world);
  }
  await world.clock.advance(240_000);
  return { world, wrong: complaints(world, strangers) };
}

it("keeps copies as declared, refuses what a person made, and is quiet once all is settled", async () => {
  const { world, wrong } = await played({ seed: 1 }, 20_000);
  expect(wrong).toEqual([]);
  expect(world.maps().filter(({ owner }) => owner !== undefined)).toMatchObject([{ namespace: "a", value: "two" }]);
  const { writes } = world;
  await world.clock.advance(600_000);
  expect(world.writes).toBe(writes);
});

it("keeps its promises if it dies before or after any of its requests", async () => {
  let requests = 0;
  await played({ seed: 1, onRequest: () => requests++ });
  expect(requests).toBeGreaterThan(15);
  const wrong: string[] = [];
  for (let at = 1; at <= requests; at++) {
    for (const ms of [0, 1]) {
      let seen = 0;
      const crash = (_: unknown, world: MirrorWorld) => {
        if (++seen !== at) return;
        // Before the request takes effect, or after it did and before its answer.
        if (ms === 0) world.crash();
        else world.clock.after(0, () => world.crash());
      };
      for (const each of (await played({ seed: 1, onRequest: crash })).wrong) wrong.push(`request ${at}: ${each}`);
    }
  }
  expect(wrong).toEqual([]);
});

/** Faults for the scenario's time; then all is calm. */
function storm(seed: number): WorldOptions {
  const dice = new Dice(seededRandom(seed + 1));
  let left = 60;
  const weather: ClusterWeather = {
    request: (_, timeoutMs) => {
      if (left-- <= 0 || dice.chance(0.6)) return { kind: "answered", arriveMs: 0, replyMs: dice.between(0, 50) };
      // What is late arrives after its sender has given up, by as much as the assumption allows.
      const late = { kind: "answered", arriveMs: dice.between(0, timeoutMs + 25_000), replyMs: 0 } as const;
      const lost = { kind: "lost", arriveMs: 0, afterMs: dice.between(1, timeoutMs) } as const;
      const afterMs = dice.between(1, 500);
      return dice.pick([late, lost, { kind: "refused", afterMs }, { kind: "status", afterMs, status: 500 }] as const);
    },
    watchOpens: () => (left > 0 && dice.chance(0.2) ? { kind: "refused" } : { kind: "opened" }),
    line: () => (left > 0 && dice.chance(0.1) ? { kind: "cut" } : { kind: "delivered", delayMs: dice.between(0, 800) }),
    merges: () => dice.chance(0.3),
  };
  const onRequest = (_: unknown, world: MirrorWorld) => {
    if (left > 0 && dice.chance(0.05)) world.crash();
  };
  return { seed, weather, onRequest, settleMs: 30_000 };
}

it("keeps its promises in 200 seeds of lost, late and refused requests, broken watches and deaths", async () => {
  const wrong: string[] = [];
  for (let seed = 1; seed <= 200; seed++) {
    for (const each of (await played(storm(seed))).wrong) wrong.push(`seed ${seed}: ${each}`);
  }
  expect(wrong).toEqual([]);
});

it("shows two copies in one of these seeds where the record is taken out", async () => {
  let wrong: string[] = [];
  for (let seed = 1; seed <= 200 && wrong.length === 0; seed++) {
    ({ wrong } = await played({ ...storm(seed), isWithoutRecord: true }));
  }
  expect(wrong).toEqual([expect.stringMatching(/^twice: a Mirror has two copies in /)]);
});

/** Creates of copies that arrive when their sender has long given up. */
const lateCreates = (arriveMs: number): ClusterWeather => ({
  ...calm,
  request: ({ method, path }) =>
    method === "POST" && path.endsWith("/configmaps")
      ? { kind: "answered", arriveMs, replyMs: 0 }
      : { kind: "answered", arriveMs: 0, replyMs: 0 },
});

it.each([
  [15_000, []],
  [0, ["leaked: the copy in a has no Mirror"]],
])("a copy that arrives late outlives its Mirror only without a settle time: %d ms", async (settleMs, expected) => {
  const world = new MirrorWorld({ seed: 1, weather: lateCreates(9000), settleMs });
  world.setSource("one");
  world.start();
  await world.clock.advance(1000);
  world.apply("one", ["a"]);
  await world.clock.advance(1500);
  world.delete("one");
  await world.clock.advance(120_000);
  expect(complaints(world, new Map())).toEqual(expected);
});

it.each([
  [false, []],
  [true, ["twice: a Mirror has two copies in a"]],
])(
  "a create that outlives its process is sent twice only without its record: %s",
  async (isWithoutRecord, expected) => {
    // Another process leads after the lease of 15 s, and before the create arrives.
    const world = new MirrorWorld({ seed: 1, weather: lateCreates(25_000), isWithoutRecord });
    world.setSource("one");
    world.start();
    await world.clock.advance(1000);
    world.apply("one", ["a"]);
    await world.clock.advance(1500);
    world.crash();
    await world.clock.advance(180_000);
    expect(complaints(world, new Map())).toEqual(expected);
  },
);

it.each([false, true])(
  "a create without a reply is sent twice only without a settle time, by a proxy: %s",
  async (hasProxy) => {
    const twice: string[] = [];
    for (const settleMs of [15_000, 0]) {
      const world = new MirrorWorld({ seed: 1, weather: lateCreates(9000), settleMs, hasProxy });
      world.setSource("one");
      world.start();
      await world.clock.advance(1000);
      world.apply("one", ["a"]);
      await world.clock.advance(120_000);
      twice.push(...[...world.twice].map((copies) => `${settleMs}: ${copies}`));
    }
    expect(twice).toEqual(["0: a Mirror has two copies in a"]);
  },
);

it("makes each copy at once where every request is answered", async () => {
  const world = new MirrorWorld({ seed: 1 });
  world.setSource("one");
  world.start();
  await world.clock.advance(1000);
  world.apply("one", ["a", "b", "c"]);
  await world.clock.advance(2000);
  expect(complaints(world, new Map())).toEqual([]);
  expect(world.mirrors()).toMatchObject([
    { status: { copies: 3, conditions: [{ type: "Ready" }, { type: "Synced" }] } },
  ]);
});

const mirror: Mirror = {
  metadata: { name: "one", namespace: "shop", uid: "uid-1", resourceVersion: "1" },
  spec: { source: "settings", targets: ["a"] },
  status: {},
};
const copyOf = (uid: string): ConfigMap => ({
  metadata: { name: "one-x", namespace: "a", uid: "uid-2", resourceVersion: "2", labels: { [ownerLabel]: uid } },
});
const own = [copyOf("uid-1")];
const open = opened(unsent({ target: "a", since: "2026-01-01T00:00:00Z" }), 0);

it("a new kind costs at most 200 lines of code, as its page counts them", () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, path), "utf8");
  const page = read("../../docs/own-operator.md");
  const counts = ["kind.ts", "mirror.ts", "controller.ts"].map((file) => {
    const lines = read(file)
      .replaceAll(/^import [^;]*;$/gm, "")
      .split("\n");
    const code = lines.filter((line) => !/^\s*($|\/[/*]|\*)/.test(line)).length;
    expect(page).toContain(`[${file}](../test/example-controller/${file}) | ${code} |`);
    return code;
  });
  const [kind = 0, mirrors = 0] = counts;
  expect(kind + mirrors).toBeLessThanOrEqual(200);
});

it.each([
  ["a create beside a copy", { kind: "create", target: "a" }, own, undefined],
  ["a create while another is open", { kind: "create", target: "b" }, own, open],
  ["an update of another's copy", { kind: "update", copy: copyOf("other") }, own, undefined],
  ["a deletion of another's copy", { kind: "delete", copy: copyOf("other") }, own, undefined],
  ["a release beside a copy", { kind: "release" }, own, undefined],
  ["a release while a create is open", { kind: "release" }, [], open],
] as const)("the last guard stops %s", (_, action, copies, write) => {
  expect(guard(action, { mirror, copies }, { requeue: nothingDue, write })?.rule).toBe(`copy-${action.kind}`);
});

it("the last guard lets pass what has its proof", () => {
  const actions = [
    [{ kind: "create", target: "b" }, own],
    [{ kind: "delete", copy: copyOf("uid-1") }, own],
    [{ kind: "release" }, []],
  ] as const;
  for (const [action, copies] of actions) {
    expect(guard(action, { mirror, copies }, { requeue: nothingDue, write: undefined })).toBeUndefined();
  }
});
