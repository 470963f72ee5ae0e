import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parseCompute } from "../../../src/operator/resources/compute.ts";
import { brokenWhenWritten } from "../../../src/operator/resources/compute-spec.ts";
import { createNamespace } from "../../control-plane/shared-control-plane.ts";
import { applyAll } from "./apply-all.ts";
import { type Fields, manifest } from "./manifest.ts";

const cu = fc.constantFrom<unknown>(0.25, 0.5, 0.75, 1, 1.5, 2, 8, 16, 17, 18, 56, 57, -1, "2");
const id = fc.constantFrom<unknown>("shiny-wind-028834", "a", "A", "", "a_b", "-", "a".repeat(60), "a".repeat(61), 7);
const endpointID = fc.constantFrom<unknown>("ep-a", "ep-", "br-a", `ep-${"a".repeat(58)}`, "ep-A", 5);
const after = fc.constantFrom<unknown>(
  "5m",
  "60s",
  "59s",
  "1h30m",
  "168h",
  "168h1s",
  "7d",
  "",
  "m",
  "1.5h",
  "-5m",
  300,
);
const text = fc.constantFrom<unknown>("shop", "", "Shop", "shop-db", "a".repeat(64), "a.b", ".a");
const maybe = (arbitrary: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const names = fc.constantFrom("team", "DATABASE_URL", "host", "a/b", "a b", "compute-operator.dev/x");
const values = fc.constantFrom("x", "{host}:{port}", "{uri}", "${host}", "$x", "{", "a b", "");
const template = fc.record(
  {
    data: fc.dictionary(names, values),
    labels: fc.dictionary(names, values),
    annotations: fc.dictionary(names, values),
  },
  { requiredKeys: [] },
);

/** Specs of which some are valid, and most of the others wrong in one or two places. */
const spec: fc.Arbitrary<Fields> = fc
  .record({
    projectID: fc.oneof({ weight: 9, arbitrary: fc.constant<unknown>("shiny-wind-028834") }, id),
    branchID: fc.oneof({ weight: 9, arbitrary: fc.constant<unknown>("br-main") }, id),
    type: maybe(fc.constantFrom("read_write", "read_only", "primary")),
    computeUnits: maybe(fc.record({ min: cu, max: cu }, { requiredKeys: ["max"] })),
    scaleToZero: maybe(fc.record({ enabled: fc.boolean(), after }, { requiredKeys: [] })),
    adopt: maybe(fc.record({ endpointID, branchPrimary: fc.boolean(), former: fc.boolean() }, { requiredKeys: [] })),
    deletionPolicy: maybe(fc.constantFrom("Delete", "Retain", "Keep")),
    connectionSecret: maybe(
      fc.record({ name: text, database: text, role: text, template: maybe(template) }, { requiredKeys: ["name"] }),
    ),
    postgresSettings: maybe(fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom<unknown>("1", 1, ""))),
  })
  .map((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)));

/** As the CLI reads a manifest. */
function isTaken(parsed: ReturnType<typeof parseCompute>): boolean {
  return parsed.ok && brokenWhenWritten(parsed.value.spec).length === 0;
}

it("a manifest passes without an API server exactly where it passes with one", async () => {
  const specs = fc.sample(spec, { numRuns: 150, seed: 20_260_101 });
  const objects = specs.map((fields, index) => ({ kind: "Compute" as const, name: `sample-${index}`, fields }));
  const namespace = await createNamespace("agreement");
  const answer = await applyAll(namespace, objects, "--dry-run=server");
  const verdicts = objects.map(({ name, fields }) => ({
    fields,
    server: answer.done(name).includes("created"),
    alone: isTaken(parseCompute(manifest("Compute", fields, name))),
  }));
  expect(verdicts.filter(({ server, alone }) => server !== alone)).toEqual([]);
  const passing = verdicts.filter(({ server }) => server).length;
  expect(passing).toBeGreaterThan(10);
  expect(passing).toBeLessThan(140);
});
