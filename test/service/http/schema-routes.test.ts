import { expect, it, test } from "vitest";
import { main, preview, project, Shop } from "../support/shop.ts";

const shop = new Shop();
const ask = (branch: string, call: string) => shop.ana(`GET /projects/${project}/branches/${branch}/${call}`);

it("gives the schemas of the model's databases, which have no tables and do not differ", () => {
  expect(ask(main, "schema?db_name=neondb")).toMatchObject({ status: 200, body: { sql: "" } });
  expect(ask(preview, "compare_schema?db_name=neondb")).toMatchObject({ status: 200, body: { diff: "" } });
  expect(ask(preview, `compare_schema?db_name=neondb&base_branch_id=${main}`).body).toEqual({ diff: "" });
});

test.each([
  [main, "schema?db_name=none", 404, "database not found"],
  [main, "schema", 400, /db_name/],
  [main, "schema?db_name=neondb&lsn=0/1&timestamp=2026-01-01T00:00:00Z", 400, /not at both/],
  [main, "compare_schema?db_name=neondb", 400, "base_branch_id is needed for a branch without a parent"],
  [preview, "compare_schema?db_name=neondb&base_branch_id=br-none", 404, "base branch not found"],
])("refuses on %s: %s", (branch, call, status, message) => {
  const { status: answered, body } = ask(branch, call);
  expect(answered).toBe(status);
  expect(body["message"]).toMatch(message);
});
