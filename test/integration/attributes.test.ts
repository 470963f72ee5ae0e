import { expect, it } from "vitest";
import { z } from "zod";
import { EndpointPatchBody } from "../../src/service/computes/requests.ts";
import { specWith } from "../support/compute-fields.ts";
import { project } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const Schema = z.object({
  enum: z.array(z.unknown()).optional(),
  get properties() {
    return z.record(z.string(), Schema).optional();
  },
});
type Schema = z.infer<typeof Schema>;
type Values = Record<string, unknown>;

/** Attributes that no field of a Compute stands for. `value` is set outside the operator, which must keep it. */
const inexpressible: Record<string, { because: string; value?: unknown }> = {
  name: { because: "The operator keeps its signature there." },
  provisioner: { because: "The service decides what runs its computes.", value: "k8s-pod" },
  "settings.pgbouncer_settings": { because: "The service stores them only.", value: { default_pool_size: "20" } },
  "settings.preload_libraries.use_defaults": { because: "Its effect is undocumented.", value: false },
  "settings.preload_libraries.enabled_libraries": { because: "The libraries are undocumented.", value: ["pg_cron"] },
};

/** Two manifests that differ wherever the service allows two values. */
const first = {
  projectID: project,
  branchID: "br-0-a",
  ...specWith(0),
  scaleToZero: { enabled: true, after: "10m" },
  postgresSettings: { work_mem: "8MB" },
};
const second = {
  projectID: project,
  branchID: "br-0-b",
  ...specWith(1),
  scaleToZero: { enabled: true, after: "20m" },
  postgresSettings: { work_mem: "16MB" },
};

it("every attribute of the service's PATCH goes from the manifest to the service, is stored, and is read back", async () => {
  const schema = Schema.parse(z.toJSONSchema(EndpointPatchBody.shape.endpoint, { io: "input" }));
  const attributes = new Map(attributesOf(schema));
  const paths = [...attributes.keys()];
  expect(paths).toEqual(expect.arrayContaining(Object.keys(inexpressible)));
  const expressible = paths.filter((path) => !(path in inexpressible));
  const changeable = expressible.filter((path) => attributes.get(path)?.enum?.length !== 1);

  await using world = new SmallWorld([first.branchID, second.branchID], 1);
  const sent = () => valuesOf(world.host.calls.findLast(({ method }) => method !== "GET")?.body, "endpoint.");
  const shown = () => valuesOf(world.endpoint(world.compute(0).status.endpointID));
  function valuesOf(body: unknown, prefix = ""): Values {
    const values = paths.map((path) => [path, valueAt(body, `${prefix}${path}`)]);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }

  world.declare(0, first);
  await world.settle(1);
  const created = sent();
  expect(Object.keys(created)).toEqual(expect.arrayContaining(expressible));

  const others: Values = {};
  for (const [path, { value }] of Object.entries(inexpressible)) if (value !== undefined) others[path] = value;
  const endpoint = `/projects/${project}/endpoints/${world.compute(0).status.endpointID}`;
  world.console("PATCH", endpoint, { endpoint: nested({ ...created, ...others }) });
  expect(shown()).toEqual({ ...created, ...others });

  await world.clock.advance(60_000);
  world.declare(0, second);
  await world.settle(1);
  const changed = sent();
  expect(Object.keys(changed)).toEqual(expect.arrayContaining(changeable));
  expect(changeable.filter((path) => JSON.stringify(changed[path]) === JSON.stringify(created[path]))).toEqual([]);
  expect(shown()).toEqual({ ...created, ...changed, ...others });

  world.console("PATCH", endpoint, { endpoint: nested({ ...created, ...others }) });
  await world.clock.advance(120_000);
  expect(sent(), "what the operator corrects").toEqual(changed);
  expect(shown()).toEqual({ ...created, ...changed, ...others });
});

/** The attributes by their paths. A map by names is one attribute. */
function attributesOf(schema: Schema, path = ""): [string, Schema][] {
  if (schema.properties === undefined) return [[path.slice(1), schema]];
  return Object.entries(schema.properties).flatMap(([name, part]) => attributesOf(part, `${path}.${name}`));
}

function valueAt(from: unknown, path: string): unknown {
  return path.split(".").reduce((value, name) => z.looseObject({}).safeParse(value).data?.[name], from);
}

/** Values by their paths, as a body. */
function nested(values: Values): Values {
  const names = new Set(Object.keys(values).map((path) => path.split(".")[0] ?? ""));
  const bodyOf = (name: string) => {
    const inner = Object.entries(values).filter(([path]) => path.startsWith(`${name}.`));
    return inner.length === 0
      ? values[name]
      : nested(Object.fromEntries(inner.map(([path, value]) => [path.slice(name.length + 1), value])));
  };
  return Object.fromEntries([...names].map((name) => [name, bodyOf(name)]));
}
