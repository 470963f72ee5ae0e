import { expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { computeStrategy } from "../../src/cli/plan/compute/strategy.ts";
import { dryRun } from "../../src/cli/plan/strategy.ts";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { main, preview, primary, project } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

// `apply` has the operator's executor: what that guards against, apply guards against.

const restartOfPrimary =
  compute(
    "shop-primary",
    "adopt: {branchPrimary: true}",
    main,
    `uid: ${derivedUID("shop", "shop-primary")}, annotations: {compute-operator.dev/endpoint-id: ${primary}, compute-operator.dev/restartedAt: now}`,
  ) + "status: {observedGeneration: 1}\n";

/** Lists, plans and carries out the one Compute of a text, so many times; answers with what stands in memory then. */
async function afterRounds(stage: Stage, text: string, rounds: number): Promise<Compute> {
  const { inventory } = await stage.prepare(documents(connection, text));
  const [one] = inventory.tracked.Compute;
  if (one === undefined) throw new Error("no Compute in the text");
  for (let round = 0; round < rounds; round++) {
    // Each round needs the outcome of the one before.
    await inventory.refresh();
    const { action, seen } = await dryRun(computeStrategy, one, inventory);
    await computeStrategy.carryOut(action, seen, one, inventory);
    // A write that failed is not sent again before.
    await new Promise<void>((resolve) => stage.time.after(1000, resolve));
  }
  return one.object;
}

test("a restart is recorded with the endpoint's last start, which shows later whether it was carried out", async () => {
  using stage = new Stage();
  stage.shop.active();
  stage.fate = ({ path }) => (path.endsWith("/restart") ? "lost before" : "answered");
  const { pendingWrite } = (await afterRounds(stage, restartOfPrimary, 1)).status;
  expect(pendingWrite).toMatchObject({ operation: "restart", by: "apply", value: "now" });
  expect(pendingWrite?.startedAt).toMatch(/^\d{4}-/);
});

test.each(["read_write", "read_only"])(
  "a create of a %s without an answer is not sent again while it may take effect",
  async (type) => {
    using stage = new Stage();
    let sent = 0;
    stage.fate = ({ method }) => {
      if (method !== "POST") return "answered";
      sent += 1;
      return "lost before";
    };
    const { pendingWrite } = (await afterRounds(stage, compute("a", `type: ${type}`, preview), 3)).status;
    expect(pendingWrite).toMatchObject({ operation: "create", n: 1 });
    expect(sent).toBe(1);
  },
);

test("an answer with an endpoint that stood before is not taken for what the create made", async () => {
  using stage = new Stage();
  const { endpoint } = stage.shop.create({ branch_id: preview, type: "read_only", name: "reports" });
  stage.shop.finishOperations();
  stage.rewrite = ({ method, path }, response) =>
    method === "POST" && path.endsWith("/endpoints") ? { ...response, body: { endpoint, operations: [] } } : response;
  const text = documents(connection, compute("a", "type: read_only", preview));
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes", "--timeout", "5s"]);
  expect(run.out).not.toContain(`created ${endpoint.id}`);
  expect(run.out).toContain("got no usable answer");
  expect(stage.writes.map(({ line }) => line)).toEqual([`POST /projects/${project}/endpoints`]);
});

test("a compute that a list showed idle, and that runs by now, is not taken for restarted when the restart is refused", async () => {
  using stage = new Stage();
  stage.shop.active();
  stage.rewrite = ({ method, path }, response) => {
    if (path.endsWith("/restart")) return { status: 400, body: { code: "", message: "not now" }, json: true };
    if (method !== "GET" || !path.endsWith("/endpoints")) return response;
    const text = JSON.stringify(response.body).replaceAll('"current_state":"active"', '"current_state":"idle"');
    return { ...response, body: JSON.parse(text) };
  };
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, restartOfPrimary)), "--yes"]);
  expect(run.status).toBe(1);
  expect(run.out).toContain("! shop/shop-primary: Rejected: ");
});

test("a start that failed after its create is told, and not waited for", async () => {
  using stage = new Stage();
  const linked = `uid: ${derivedUID("shop", "shop-primary")}, annotations: {compute-operator.dev/endpoint-id: ${primary}}`;
  const text = compute("shop-primary", "", main, linked);
  const { inventory } = await stage.prepare(documents(connection, text));
  const [one] = inventory.tracked.Compute;
  if (one === undefined) throw new Error("no Compute in the text");
  stage.rewrite = (_, response) => ({
    ...response,
    body: JSON.parse(JSON.stringify(response.body).replaceAll(/"current_state":"\w+"/g, '"current_state":"init"')),
  });
  for (const [id, status] of [
    ["op-create", "finished"],
    ["op-start", "failed"],
  ] as const) {
    const action = id === "op-create" ? "create_compute" : "start_compute";
    one.project.operations.set(id, { id, action, status, endpoint_id: primary, project_id: project });
  }
  await inventory.refresh();
  const { action } = await dryRun(computeStrategy, one, inventory);
  expect(action).toMatchObject({ kind: "wait", reason: "OperationFailed" });
});
