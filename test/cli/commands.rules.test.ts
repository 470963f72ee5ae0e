import { describe, expect, test } from "vitest";
import { type RulesName, rules, rulesNames } from "../../src/service/rules.ts";
import { keys, main, project } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const declared = documents(
  connection,
  compute("shop-primary", "adopt: {branchPrimary: true}, computeUnits: {min: 0.5, max: 4}", main),
  compute("shop-preview", "computeUnits: {min: 1, max: 9}, scaleToZero: {enabled: true, after: 5m}"),
  pool("shop-readers", 2),
);

describe.each(rulesNames)("under the rules %s of the service", (name: RulesName) => {
  const stageOf = () => new Stage({ rules: rules[name] });

  test("apply carries the plan out once, and then plan finds nothing to do", async () => {
    using stage = stageOf();
    const path = stage.file("shop.yaml", declared);
    expect((await stage.run("plan", ["-f", path])).status).toBe(2);
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0, err: "" });
    expect(stage.writes).toHaveLength(4);
    expect(await stage.run("plan", ["-f", path])).toMatchObject({ status: 0 });
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0 });
    expect(stage.writes).toHaveLength(4);
  });

  test("export prints a manifest for every compute, without the fields whose end is announced", async () => {
    using stage = stageOf();
    await stage.run("apply", ["-f", stage.file("shop.yaml", declared), "--yes"]);
    stage.env = { COMPUTE_OPERATOR_API_KEY: keys.shop };
    const exported = await stage.run("export", ["--project", project]);
    expect(exported.status).toBe(0);
    expect(exported.out.match(/^kind: Compute$/gm)).toHaveLength(stage.shop.list().length);
    expect(stage.shop.list().every((endpoint) => "pooler_enabled" in endpoint)).toBe(true);
    expect(exported.out).not.toContain("pooler");
  });

  test("a range wider than the service takes ends apply with the service's words, after one request", async () => {
    using stage = stageOf();
    const widest = rules[name].widestRange;
    const path = stage.file("shop.yaml", documents(connection, compute("wide", "computeUnits: {min: 0.25, max: 16}")));
    const run = await stage.run("apply", ["-f", path, "--yes"]);
    expect(run.status).toBe(widest < 15.75 ? 1 : 0);
    expect(stage.writes).toHaveLength(1);
    expect(run.out.includes("Rejected")).toBe(widest < 15.75);
  });
});
