import { describe, expect, test } from "vitest";
import { main, preview, primary, project, staging } from "../service/support/shop.ts";
import { hidingBranches, Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const plan = (stage: Stage, text: string, ...flags: string[]) =>
  stage.run("plan", ["-f", stage.file("a.yaml", documents(connection, text)), ...flags]);

describe("ids are checked against the service before anything is sent", () => {
  test("a branch that the project does not have is refused, with those that it has", async () => {
    using stage = new Stage();
    const run = await plan(stage, documents(compute("a", "", "br-nowhere"), compute("b")));
    expect(run.status).toBe(1);
    expect(run.out).toContain(
      `! shop/a  refuse   BranchNotFound: Project ${project} has no branch br-nowhere: it has ${main} (main), ${preview} (preview), ${staging} (staging). Correct spec.branchID.`,
    );
    expect(run.out).toContain("+ shop/b  create");
  });

  test("a move to such a branch is refused too", async () => {
    using stage = new Stage();
    const moving = compute("a", `adopt: {endpointID: ${primary}}`, main);
    expect(
      (await stage.run("apply", ["-f", stage.file("b.yaml", documents(connection, compute("b"))), "--yes"])).status,
    ).toBe(0);
    expect((await plan(stage, moving)).status).toBe(0);
    const run = await plan(stage, compute("b", "", "br-nowhere"));
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("has no branch br-nowhere") });
    expect((await plan(stage, compute("b", "", staging))).status).toBe(2);
  });

  test("a project and an endpoint that are not there are problems", async () => {
    using stage = new Stage();
    const elsewhere = await plan(stage, compute("a").replace(project, "eve-own"));
    expect(elsewhere).toMatchObject({ status: 1, out: expect.stringMatching(/! shop\/a +error +ProjectNotFound: /) });
    const adopting = await plan(stage, compute("a", "adopt: {endpointID: ep-nowhere}", main));
    expect(adopting).toMatchObject({
      status: 1,
      out: expect.stringMatching(/! shop\/a +refuse +AdoptionRefused: .*ep-nowhere/),
    });
  });

  test("a service without a route for branches, or that lists none, refuses none", async () => {
    using stage = new Stage();
    stage.rewrite = hidingBranches;
    expect((await plan(stage, compute("a", "", "br-nowhere"))).status).toBe(2);
    stage.rewrite = ({ path }, response) =>
      path.endsWith("/branches") ? { status: 200, body: { branches: [] }, json: true } : response;
    expect((await plan(stage, compute("a", "", "br-nowhere"))).status).toBe(2);
  });
});

test.each([
  ["computeUnits: {min: 2, max: 2}", "computeUnits.max 1 → 2; restarts the compute, which cuts its connections"],
  ["disabled: true", "disabled false → true; cuts its connections"],
  ["scaleToZero: {enabled: true, after: 10m}", "scaleToZero.after 300s → 600s"],
])("the consequences of %s are named for a compute that runs", async (spec, said) => {
  using stage = new Stage();
  stage.shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  stage.shop.finishOperations();
  const text = compute("a", `adopt: {branchPrimary: true}, ${spec}`, main);
  expect((await plan(stage, text)).out.split("\n")[0]).toMatch(new RegExp(`${said}$`));
  const { computes } = JSON.parse((await plan(stage, text, "-o", "json")).out);
  expect(computes[0].interrupts).toBe(said.split("; ")[1]);
});

test("the consequences of a move to another branch are named", async () => {
  using stage = new Stage();
  const path = stage.file("a.yaml", documents(connection, compute("a")));
  expect((await stage.run("apply", ["-f", path, "--yes"])).status).toBe(0);
  const { out } = await plan(stage, compute("a", "", staging), "-o", "markdown");
  expect(out).toContain(`branchID \`${preview}\` → \`${staging}\`; cuts its connections |`);
});

test("no consequences are named for a compute that is suspended", async () => {
  using stage = new Stage();
  stage.shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  stage.shop.finishOperations();
  const text = compute("a", "adopt: {branchPrimary: true}, computeUnits: {min: 2, max: 2}", main);
  const { out } = await plan(stage, text);
  expect(out).toContain("computeUnits.max 1 → 2");
  expect(out).not.toContain("restarts");
});
