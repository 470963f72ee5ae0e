import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { temporaryDirectory } from "../support/guardian.ts";
import { needsTools, runTool } from "../tools/tools.ts";

needsTools("promtool");

/** A directory with the alerts as Prometheus reads them, beside their unit tests. */
function workbench(edit: (rules: string) => string = (rules) => rules) {
  const directory = temporaryDirectory("alerts");
  const { spec }: { spec: unknown } = parse(readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8"));
  writeFileSync(join(directory.path, "rules.yaml"), edit(stringify(spec, { lineWidth: 0 })));
  cpSync("test/deploy/monitoring/rules.test.yaml", join(directory.path, "rules.test.yaml"));
  return { at: (name: string) => join(directory.path, name), [Symbol.dispose]: () => directory.remove() };
}

const alerts = [...readFileSync("deploy/monitoring/prometheus-rule.yaml", "utf8").matchAll(/- alert: (\w+)/g)].map(
  ([, name = ""]) => name,
);

describe("the alerts", () => {
  it("the alerts are valid", async () => {
    using files = workbench();
    const { stdout } = await runTool("promtool", ["check", "rules", files.at("rules.yaml")]);
    expect(stdout).toContain(`SUCCESS: ${alerts.length} rules found`);
  });

  it("fire when they should and not before", async () => {
    using files = workbench();
    const { status, stdout, stderr } = await runTool("promtool", ["test", "rules", files.at("rules.test.yaml")]);
    expect(`${stdout}${stderr}`).toContain("SUCCESS");
    expect(status).toBe(0);
  });

  it("the alerts are written in PromQL that Prometheus reads, and so is the dashboard", async () => {
    using files = workbench();
    const dashboard = readFileSync("deploy/monitoring/dashboard.json", "utf8");
    const expressions = [...dashboard.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, text = ""]) =>
      String(JSON.parse(text)).replaceAll("$namespace", ".*").replaceAll("$__rate_interval", "5m"),
    );
    const rules = expressions.map((expr, index) => ({ record: `panel:${index}`, expr }));
    writeFileSync(files.at("panels.yaml"), stringify({ groups: [{ name: "dashboard", rules }] }));
    const { stdout, stderr } = await runTool("promtool", ["check", "rules", "--lint=none", files.at("panels.yaml")]);
    expect(`${stdout}${stderr}`).toContain(`SUCCESS: ${expressions.length} rules found`);
    expect(expressions.length).toBeGreaterThan(20);
  });

  it("the alerts are all tested", () => {
    const tests = readFileSync("test/deploy/monitoring/rules.test.yaml", "utf8");
    expect(alerts.filter((name) => !tests.includes(`alertname: ${name}\n`))).toEqual([]);
  });

  it("have tests that can fail", async () => {
    using files = workbench((rules) => rules.replaceAll("for: 30m", "for: 1m"));
    const { status } = await runTool("promtool", ["test", "rules", files.at("rules.test.yaml")]);
    expect(status).not.toBe(0);
  });
});
