import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { readLine } from "../../src/cli/commands/ports.ts";
import { renderPlan } from "../../src/cli/plan/render.ts";
import { main, preview, project } from "../service/support/shop.ts";
import { Beside } from "./beside.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

// What a sample of the mutation tool's changes showed that no other test notices.

describe("an answer of a person", () => {
  test("an answer is read to the end of its line, and the terminal stays open", async () => {
    const terminal = new PassThrough();
    terminal.write("yes\nand more");
    const { signal } = new AbortController();
    expect(await readLine(terminal, signal)).toBe("yes");
  });

  test("an answer may come in pieces", async () => {
    const terminal = new PassThrough();
    const answer = readLine(terminal, new AbortController().signal);
    terminal.write("y");
    terminal.write("es ");
    terminal.write("\n");
    expect(await answer).toBe("yes");
  });

  test("a prompt that is aborted gets no answer", async () => {
    const stopping = new AbortController();
    const answer = readLine(new PassThrough(), stopping.signal);
    stopping.abort();
    expect(await answer).toBe("");
  });
});

test.each(["two words", "schlüssel", "k".repeat(1025)])(
  "a malformed key is refused, and not shown: %s",
  async (key) => {
    using stage = new Stage();
    stage.env = { COMPUTE_OPERATOR_API_KEY: key };
    const run = await stage.run("export", ["--project", project]);
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toContain(
      "COMPUTE_OPERATOR_API_KEY holds no API key: it must be the key alone, no spaces, ASCII only",
    );
    expect(run.err).not.toContain(key);
  },
);

test.each(["Default", "a/b", ""])("export refuses --connection %j, which no object can be called", async (name) => {
  using stage = new Stage();
  stage.env = { COMPUTE_OPERATOR_API_KEY: "ana-key" };
  const run = await stage.run("export", ["--project", project, "--connection", name]);
  expect(run).toMatchObject({ status: 1, out: "" });
  expect(run.err).toContain("--connection");
});

describe("a plan", () => {
  const entry = { project, branch: main, type: "read_write" as const, fields: [] };

  test("a plan in Markdown leaves out what is unchanged, and fences code that has backticks itself", () => {
    const entries = [
      { ...entry, compute: "shop/same", step: "none" as const },
      { ...entry, compute: "shop/`odd`", step: "refuse" as const, reason: "Conflict" as const, message: "Taken." },
    ];
    const text = renderPlan({ entries }, "markdown", false);
    expect(text).not.toContain("shop/same");
    expect(text).toContain("`` shop/`odd` ``");
    expect(text).toContain("1 refused, 1 unchanged");
  });

  test("a line of a plan is red where something is refused or deleted, yellow where it is changed", () => {
    const line = (step: "refuse" | "delete" | "patch") =>
      renderPlan({ entries: [{ ...entry, compute: "shop/a", step }] }, "text", true).split("m")[0];
    expect([line("refuse"), line("delete"), line("patch")]).toEqual(["\u001B[31", "\u001B[31", "\u001B[33"]);
  });

  test("the plan of a change shows the fields that are sent, and no other that the manifest has", async () => {
    using stage = new Stage();
    const text = (units: string) => documents(connection, compute("a", `computeUnits: ${units}, disabled: false`));
    const path = stage.file("a.yaml", text("{min: 1, max: 1}"));
    expect((await stage.run("apply", ["-f", path, "--yes"])).status).toBe(0);
    stage.file("a.yaml", text("{min: 1, max: 2}"));
    const run = await stage.run("plan", ["-f", path, "--output", "json"]);
    const [{ fields }] = JSON.parse(run.out).computes;
    expect(fields.map(({ field }: { field: string }) => field)).toEqual(["computeUnits.max"]);
  });
});

test("apply creates nothing for a Compute of the cluster that has no endpoint yet", async () => {
  using beside = new Beside(connection);
  beside.post(compute("new", "type: read_only", preview));
  const run = await beside.run("apply", compute("new", "type: read_only", preview));
  expect(run.out).toContain("This Compute is in a cluster, whose operator keeps it, so apply sends nothing for it.");
  expect(beside.stage.writes).toEqual([]);
});
