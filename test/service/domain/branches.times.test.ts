import { beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { main, preview, primary, project, Shop, staging } from "../support/shop.ts";

const base = `/projects/${project}/branches`;
const Branches = z.object({
  branches: z.array(
    z.looseObject({ id: z.string(), created_at: z.string(), updated_at: z.string(), state_changed_at: z.string() }),
  ),
});

let shop: Shop;
let since: number;
beforeEach(() => {
  shop = new Shop();
  since = shop.time.now();
});

/** When each branch was changed, and when its state was, in minutes after the beginning. */
function times(): Record<string, [changed: number, state: number]> {
  const minutes = (time: string) => Math.round((Date.parse(time) - since) / 60_000);
  return Object.fromEntries(
    Branches.parse(shop.ana(`GET ${base}`).body).branches.map(({ id, updated_at, state_changed_at }) => [
      id,
      [minutes(updated_at), minutes(state_changed_at)],
    ]),
  );
}

/** Sends a change a minute after the one before. */
function minuteLater(line: string, body?: object): void {
  shop.time.pass(60_000);
  expect(shop.ana(line, body).body["message"]).toBeUndefined();
}

it("a branch that becomes the default one was changed then, as was the one that it replaces, and no other", () => {
  minuteLater(`POST ${base}/${preview}/set_as_default`);
  expect(times()).toEqual({ [main]: [1, 0], [preview]: [1, 0], [staging]: [0, 0] });
});

it("a branch that is renamed or given an end was changed then, and its state was not", () => {
  minuteLater(`PATCH ${base}/${preview}`, { branch: { name: "next" } });
  const expires_at = new Date(shop.time.now() + 3_600_000).toISOString();
  minuteLater(`PATCH ${base}/${staging}`, { branch: { expires_at } });
  expect(times()).toEqual({ [main]: [0, 0], [preview]: [1, 0], [staging]: [2, 0] });
});

it("the state of a branch changes when its restore begins, and when its computes have restarted", () => {
  shop.create({ branch_id: preview, type: "read_write" });
  shop.finishOperations();
  minuteLater(`POST ${base}/${preview}/restore`, { source_branch_id: main });
  const begun = new Date(shop.time.now()).toISOString();
  const shown = () => Branches.shape.branches.element.parse(shop.ana(`GET ${base}/${preview}`).body["branch"]);
  expect(shown()).toMatchObject({ current_state: "resetting", state_changed_at: begun, updated_at: begun });
  shop.finishOperations();
  const { state_changed_at } = shown();
  expect(Date.parse(state_changed_at)).toBeGreaterThan(Date.parse(begun));
  expect(shown()).toMatchObject({ current_state: "ready", updated_at: state_changed_at });
});

it("the usage of its computes and their changes are no change of a branch", () => {
  shop.active();
  minuteLater(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { suspend_timeout_seconds: 60 } });
  expect(times()[main]).toEqual([0, 0]);
});

it("a branch whose data another one is still to get stays past its end, and is not deleted, until that one has it", () => {
  const { branchData } = shop.core.context.store;
  const isThere = () => shop.ana(`GET ${base}/${preview}`).status === 200;
  const expires_at = new Date(shop.time.now() + 60_000).toISOString();
  expect(shop.ana(`PATCH ${base}/${preview}`, { branch: { expires_at } }).status).toBe(200);
  shop.core.change(() => branchData.setSource({ branchId: staging, sourceId: preview }));
  shop.time.pass(60_000);
  expect([isThere(), shop.ana(`DELETE ${base}/${preview}`)]).toMatchObject([true, { status: 422 }]);
  shop.core.change(() => branchData.clearSource(staging));
  expect(isThere()).toBe(false);
});

it("a branch that ends is renamed also while the machine's clock is set back, and keeps its end", () => {
  const expires_at = new Date(since + 29 * 86_400_000).toISOString().replace(".000Z", "Z");
  minuteLater(`PATCH ${base}/${staging}`, { branch: { expires_at } });
  shop.time.pass(-7 * 86_400_000);
  const { status, body } = shop.ana(`PATCH ${base}/${staging}`, { branch: { name: "next" } });
  expect([status, body["branch"]]).toMatchObject([200, { name: "next", expires_at }]);
});

it("a branch that is the default one already is not changed by being made that", () => {
  minuteLater(`POST ${base}/${main}/set_as_default`);
  expect(times()).toEqual({ [main]: [0, 0], [preview]: [0, 0], [staging]: [0, 0] });
});

it("a branch with the schema of one that ends does not end with it", () => {
  const expires_at = new Date(since + 86_400_000).toISOString();
  minuteLater(`PATCH ${base}/${staging}`, { branch: { expires_at } });
  const made = shop.ana(`POST ${base}`, { branch: { parent_id: staging, init_source: "schema-only" } });
  expect(made.status).toBe(201);
  expect(made.body["branch"]).not.toHaveProperty("expires_at");
});
