import { expect, test } from "vitest";
import { Stage } from "./command-stage.ts";
import { connection, documents, pool } from "./texts.ts";

/** A stage with a pool that apply has made, whose replicas have clients. */
async function readers(replicas: number): Promise<Stage> {
  const stage = new Stage();
  const path = stage.file("pool.yaml", documents(connection, pool("readers", replicas)));
  expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0 });
  for (const { id, type } of stage.shop.list()) if (type === "read_only") stage.shop.connect(id, 24 * 3600);
  stage.shop.finishOperations();
  stage.writes.length = 0;
  return stage;
}

/** Applies the pool with another size. */
function resize(stage: Stage, replicas: number, maxUnavailable?: number) {
  const text = pool("readers", replicas).replace("max: 1", "max: 2");
  const most =
    maxUnavailable === undefined ? text : text.replace("spec: {", `spec: {maxUnavailable: ${maxUnavailable}, `);
  return stage.run("apply", ["-f", stage.file("pool.yaml", documents(connection, most)), "--yes"]);
}

const patches = ({ writes }: Stage) => writes.filter(({ line }) => line.startsWith("PATCH")).length;

test.each([
  [1, undefined],
  [2, 2],
])(
  "apply changes %d of the replicas with maxUnavailable %s, says that the others follow, and exits 0",
  async (sent, most) => {
    using stage = await readers(4);
    const run = await resize(stage, 4, most);
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(patches(stage)).toBe(sent);
    expect(run.out).toContain(
      `shop/readers-3: WaitingForTurn: computeUnits.max 2 would cut connections, and apply sends that to at most ${sent} of the replicas of ComputePool readers at a time (spec.maxUnavailable): the others follow when it is run again.`,
    );
    expect(run.out).toContain(`Applied: ${sent} as declared, ${4 - sent} waiting for their turn.`);
  },
);

test("apply, run again, changes the replica whose turn is next, until all are as declared", async () => {
  using stage = await readers(2);
  expect((await resize(stage, 2)).out).toContain("Applied: 1 as declared, 1 waiting for their turn.");
  expect((await resize(stage, 2)).out).toContain("Applied: 2 as declared.");
  expect((await resize(stage, 2)).out).not.toContain("Applied");
  expect(patches(stage)).toBe(2);
});

test("apply changes suspended replicas all at once: none has a connection to cut", async () => {
  using stage = new Stage();
  const path = stage.file("pool.yaml", documents(connection, pool("readers", 3)));
  await stage.run("apply", ["-f", path, "--yes"]);
  stage.time.pass(3_600_000);
  stage.shop.finishOperations();
  stage.writes.length = 0;
  expect((await resize(stage, 3)).out).toContain("Applied: 3 as declared.");
  expect(patches(stage)).toBe(3);
});

test("apply makes a replica that is missing beside the one whose turn it is", async () => {
  using stage = await readers(2);
  expect((await resize(stage, 3)).out).toContain("Applied: 2 as declared, 1 waiting for their turn.");
  expect(stage.shop.list().filter(({ type }) => type === "read_only")).toHaveLength(3);
});
