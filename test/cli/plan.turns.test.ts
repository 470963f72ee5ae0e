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

test.each([undefined, 2])(
  "apply changes all replicas in one run, in turns of maxUnavailable %s, and says which wait for theirs",
  async (most) => {
    using stage = await readers(4);
    const run = await resize(stage, 4, most);
    expect(run).toMatchObject({ status: 0, err: "" });
    expect(patches(stage)).toBe(4);
    expect(run.out).toContain("Applied: 4 as declared.");
    const waits = "shop/readers-3: WaitingForTurn: A change that cuts connections waits: at most 1 of";
    expect(run.out.includes(waits)).toBe(most === undefined);
    expect((await resize(stage, 4, most)).out).not.toContain("Applied");
  },
);

test("apply changes no two replicas at a time where maxUnavailable is 1", async () => {
  using stage = await readers(3);
  const changing: number[] = [];
  stage.rewrite = (_, response) => {
    const pending = stage.shop.list().filter(({ type, pending_state }) => type === "read_only" && pending_state);
    changing.push(pending.length);
    return response;
  };
  expect((await resize(stage, 3)).out).toContain("Applied: 3 as declared.");
  expect(Math.max(...changing)).toBe(1);
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
  expect((await resize(stage, 3)).out).toContain("Applied: 3 as declared.");
  expect(stage.shop.list().filter(({ type }) => type === "read_only")).toHaveLength(3);
});

test("apply leaves the others where the change of a replica is refused, says how to go on, and exits 1", async () => {
  using stage = await readers(3);
  stage.rewrite = (request, response) =>
    request.method === "PATCH"
      ? { ...response, status: 400, body: { code: "", message: "not on this plan" } }
      : response;
  const run = await resize(stage, 3);
  expect(run.status).toBe(1);
  expect(patches(stage)).toBe(1);
  expect(run.out).toContain("(spec.maxUnavailable): the others follow when it is run again.");
  expect(run.out).toContain("Applied: 0 as declared, 2 waiting for their turn, 1 not.");
});
