import { expect, test } from "vitest";
import { main, preview, project, staging } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

/** A Compute that gives the name of its branch. */
const named = (branchName: string, spec = "") =>
  compute("a", spec).replace(`branchID: ${preview}`, `branchName: ${branchName}`);
const argsOf = (stage: Stage, manifest: string) => ["-f", stage.file("a.yaml", documents(connection, manifest))];

/** How often branches were listed since. */
function branchLists(stage: Stage): () => number {
  let count = 0;
  stage.fate = ({ path }) => {
    if (path.endsWith("/branches")) count += 1;
    return "answered";
  };
  return () => count;
}

test("plan and apply find the branch by one list each, and a plan after that finds nothing to do", async () => {
  using stage = new Stage();
  const lists = branchLists(stage);
  const args = argsOf(stage, named("preview"));
  const planned = await stage.run("plan", [...args, "--output", "json"]);
  expect(planned).toMatchObject({ status: 2, err: "" });
  expect(planned.out).toContain(`"branch": "${preview}"`);
  expect(await stage.run("apply", [...args, "--yes"])).toMatchObject({ status: 0 });
  expect(stage.writes).toMatchObject([{ body: { endpoint: { branch_id: preview } } }]);
  expect(await stage.run("plan", args)).toMatchObject({ status: 0 });
  expect(lists()).toBe(3);
});

test("a plan without names lists branches only for an id that no endpoint is on, once for all", async () => {
  using stage = new Stage();
  const lists = branchLists(stage);
  await stage.run("plan", argsOf(stage, compute("a", "adopt: {branchPrimary: true}", main)));
  expect(lists()).toBe(0);
  await stage.run("plan", argsOf(stage, documents(compute("a"), compute("b", "type: read_only"))));
  expect(lists()).toBe(1);
});

test("plan shows the move of an endpoint whose branch's name has gone to another branch", async () => {
  using stage = new Stage();
  await stage.run("apply", [...argsOf(stage, named("preview")), "--yes"]);
  const rename = (id: string, name: string) =>
    stage.shop.ana(`PATCH /projects/${project}/branches/${id}`, { branch: { name } });
  rename(preview, "elsewhere");
  rename(staging, "preview");
  const moved = await stage.run("plan", [...argsOf(stage, named("preview")), "--output", "json"]);
  expect(moved.status).toBe(2);
  expect(JSON.parse(moved.out)).toMatchObject({
    computes: [{ step: "patch", fields: [{ field: "branchID", theirs: preview, ours: staging }] }],
  });
});

test("a name that no branch has is said by plan, fails apply, and nothing is sent", async () => {
  using stage = new Stage();
  const args = argsOf(stage, named("nowhere"));
  expect((await stage.run("plan", args)).out).toContain(`Project ${project} has no branch named "nowhere"`);
  expect(await stage.run("apply", [...args, "--yes"])).toMatchObject({ status: 1 });
  expect(stage.writes).toEqual([]);
});
