import { expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { carryOut, dryRun } from "../../src/cli/plan/carry-out.ts";
import { prepare } from "../../src/cli/plan/prepare.ts";
import { pendingCreateOf, pendingRestartOf } from "../../src/operator/compute/observe/annotations.ts";
import type { Compute } from "../../src/operator/resources/compute.ts";
import { main, preview, primary, project } from "../service/support/shop.ts";
import { Stage } from "./stage.ts";
import { compute, connection, documents } from "./texts.ts";

// `apply` has the operator's executor: what that guards against, apply guards against.

const restartOfPrimary =
  compute(
    "shop-primary",
    "",
    main,
    `uid: ${derivedUID("shop", "shop-primary")}, annotations: {compute-operator.dev/endpoint-id: ${primary}, compute-operator.dev/restartedAt: now}`,
  ) + "status: {observedGeneration: 1}\n";

/** Lists, plans and carries out the one Compute of a text, so many times; answers with what stands in memory then. */
async function afterRounds(stage: Stage, text: string, rounds: number): Promise<Compute> {
  const ports = stage.ports();
  const none = {
    namespace: undefined,
    kubeconfig: undefined,
    context: undefined,
    fleet: undefined,
    baseURL: undefined,
  };
  const flags = { ...none, createSettleMs: 60_000 };
  const paths = [stage.file("a.yaml", documents(connection, text))];
  const { inventory, tracked } = await prepare({ ...flags, paths }, ports, stage.transport());
  const [one] = tracked;
  if (one === undefined) throw new Error("no Compute in the text");
  for (let round = 0; round < rounds; round++) {
    // Each round needs the outcome of the one before.
    await inventory.refresh();
    const { action, observed } = await dryRun(inventory, one, ports.clock);
    await carryOut(action, observed, { inventory, tracked: one, clock: ports.clock });
    // A write that failed is not sent again before.
    await new Promise<void>((resolve) => stage.time.after(1000, resolve));
  }
  return one.compute;
}

test("the mark of a restart says when the endpoint's operations were last over", async () => {
  using stage = new Stage();
  stage.shop.active();
  stage.fate = ({ path }) => (path.endsWith("/restart") ? "lost before" : "answered");
  const mark = pendingRestartOf(await afterRounds(stage, restartOfPrimary, 1));
  expect(mark?.restedSince).toMatch(/^\d{4}-/);
  expect(mark?.newestOperation).toMatch(/^\d{4}-/);
});

test("the mark of a primary's create says when another was sent while the outcome of the first was not known", async () => {
  using stage = new Stage();
  stage.fate = ({ method }) => (method === "POST" ? "lost before" : "answered");
  expect(pendingCreateOf(await afterRounds(stage, compute("a", "", preview), 1))).not.toHaveProperty("resent");
  expect(pendingCreateOf(await afterRounds(stage, compute("a", "", preview), 2))).toMatchObject({ resent: true });
});

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

test("operations of other endpoints alone do not tell what the endpoint itself did before a restart", async () => {
  using stage = new Stage();
  stage.shop.active();
  stage.fate = ({ path }) => (path.endsWith("/restart") ? "lost before" : "answered");
  const another = { action: "start_compute", status: "finished", endpoint_id: "ep-other", project_id: project };
  const operations = Array.from({ length: 100 }, (_, index) => ({ id: `op-${index}`, ...another }));
  stage.rewrite = ({ method, path }, response) =>
    method === "GET" && path.endsWith("/operations") ? { ...response, body: { operations } } : response;
  const mark = pendingRestartOf(await afterRounds(stage, restartOfPrimary, 1));
  expect(mark?.value).toBe("now");
  expect(mark).not.toHaveProperty("newestOperation");
  expect(mark).not.toHaveProperty("restedSince");
});
