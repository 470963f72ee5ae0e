import { expect, test } from "vitest";
import { guardRules } from "../../../src/operator/life/guard.ts";
import { countFromZero, stopsTold } from "../../../src/operator/manager/guard-stops.ts";
import { createMetrics } from "../../../src/operator/metrics/metrics.ts";
import { compute } from "../../support/builders.ts";

function counted(text: string): Record<string, number> {
  const rows = [...text.matchAll(/^compute_operator_guard_stops_total\{rule="([^"]+)"\} (\d+)$/gm)];
  return Object.fromEntries(rows.map(([, rule = "", value]) => [rule, Number(value)]));
}

test("every rule of the last guard is shown from 0 on, so that an alert sees its first stop", async () => {
  const metrics = createMetrics();
  countFromZero(metrics);
  expect(counted(await metrics.text())).toEqual(Object.fromEntries(guardRules.map((rule) => [rule, 0])));
});

test("a stop is counted by its rule, and logged as an error that names the object", async () => {
  const metrics = createMetrics();
  const lines: unknown[] = [];
  const told = stopsTold({ metrics, log: { error: (...line) => lines.push(line) } }, "Compute");
  told({ rule: "endpoint-delete-proof", message: "Stopped." }, compute());
  told({ rule: "endpoint-delete-proof", message: "Stopped." }, compute());
  expect(counted(await metrics.text())).toEqual({ "endpoint-delete-proof": 2 });
  const fields = { kind: "Compute", namespace: "team", name: "shop", rule: "endpoint-delete-proof" };
  expect(lines).toEqual([
    [fields, "Stopped."],
    [fields, "Stopped."],
  ]);
});
