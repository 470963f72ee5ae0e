import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { apply, createNamespace, kubectl, tryKubectl } from "../control-plane/shared-control-plane.ts";
import { after, type Kind, manifest, template, units } from "../operator/resources/manifest.ts";
import { eventually } from "../support/eventually.ts";

const prefix = "access.compute-operator.dev/";
const size = `${prefix}max-compute-units`;
const replicas = `${prefix}max-pool-replicas`;
const scaleToZero = `${prefix}scale-to-zero`;

const off = { scaleToZero: { enabled: false } };

/** What stands in each namespace before it is labelled. */
const older = [
  manifest("Compute", { ...units(8, 8), ...off }, "older"),
  manifest("ComputePool", { replicas: 5, ...template({ ...units(8, 8), ...off }) }, "older-pool"),
  manifest("Compute", {}, "older-unset"),
];

let limited = "";
let free = "";
let mistyped = "";

function placed<M extends { metadata: object }>(object: M, namespace: string) {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

async function namespaceWith(name: string, labels: readonly string[]): Promise<string> {
  const namespace = await createNamespace(name);
  await apply(older.map((object) => placed(object, namespace)));
  if (labels.length > 0) await kubectl(["label", "namespace", namespace, ...labels]);
  return namespace;
}

/** Whether the API server admits the object; nothing is stored. */
function tried(kind: Kind, fields: object, { namespace = limited, name = "tried" } = {}) {
  const input = JSON.stringify(placed(manifest(kind, { ...fields }, name), namespace));
  return tryKubectl(["apply", "--dry-run=server", "-f", "-"], { input });
}

beforeAll(async () => {
  await kubectl(["apply", "-k", "deploy/samples/guard-rails"]);
  [limited, free, mistyped] = await Promise.all([
    namespaceWith("limited", [`${size}=4`, `${replicas}=3`, `${scaleToZero}=required`]),
    namespaceWith("free", []),
    namespaceWith("mistyped", [`${size}=four`, `${replicas}=3.5`]),
  ]);
  // A policy takes effect a moment after it is stored, and a label a moment after it is set.
  const refused = [
    () => tried("Compute", { ...units(8, 8), ...after("5m") }),
    () => tried("Compute", { ...units(1, 1), ...off }),
    () => tried("ComputePool", { replicas: 4, ...template({ ...units(1, 1), ...after("5m") }) }),
    () => tried("Compute", units(1, 1), { namespace: mistyped }),
    () => tried("ComputePool", { replicas: 1, ...template({}) }, { namespace: mistyped }),
  ];
  for (const [index, attempt] of refused.entries()) {
    await eventually(`policy ${index} to take effect`, async () => ((await attempt()).status === 0 ? undefined : true));
  }
});

const on = after("5m");
const increase = "or ask an administrator of the cluster for more";
const tooLarge = `Compute NS/tried asks for up to 8 CU, and namespace NS allows at most 4 CU: set spec.computeUnits.max to 4 or less, ${increase}`;

describe("in a namespace with limits", () => {
  it.each<[string, Kind, object, string]>([
    ["a Compute above the largest size", "Compute", { ...units(1, 8), ...on }, tooLarge],
    [
      "a Compute that leaves its size to the service",
      "Compute",
      on,
      `Compute NS/tried leaves its size to the service, which may choose any, and namespace NS allows at most 4 CU: set spec.computeUnits.max to 4 or less, ${increase}`,
    ],
    [
      "a pool whose replicas are above the largest size",
      "ComputePool",
      template({ ...units(0.5, 5), ...on }),
      `ComputePool NS/tried asks for up to 5 CU, and namespace NS allows at most 4 CU: set spec.template.computeUnits.max to 4 or less, ${increase}`,
    ],
    [
      "a Compute without scale to zero",
      "Compute",
      { ...units(1, 1), ...off },
      "Compute NS/tried turns scale to zero off, and namespace NS requires it: set spec.scaleToZero.enabled to true, or ask an administrator of the cluster for an exception",
    ],
    [
      "a Compute that leaves scale to zero to the service",
      "Compute",
      units(1, 1),
      "Compute NS/tried leaves scale to zero to the service, which may have it off, and namespace NS requires it: set spec.scaleToZero.enabled to true, or ask an administrator of the cluster for an exception",
    ],
    [
      "a pool without scale to zero",
      "ComputePool",
      template({ ...units(1, 1), ...off }),
      "ComputePool NS/tried turns scale to zero off, and namespace NS requires it: set spec.template.scaleToZero.enabled to true",
    ],
    [
      "a pool with too many replicas",
      "ComputePool",
      { replicas: 4, ...template({ ...units(1, 1), ...on }) },
      `ComputePool NS/tried asks for 4 replicas, and namespace NS allows at most 3: set spec.replicas to 3 or less, ${increase}`,
    ],
  ])("%s is refused, with what to do", async (_, kind, fields, message) => {
    const { status, stderr } = await tried(kind, fields);
    expect(status).not.toBe(0);
    expect(stderr).toContain(`denied request: ${message.replaceAll("NS", limited)}`);
    expect((await tried(kind, fields, { namespace: free })).stderr).toBe("");
  });

  it.each<[string, Kind, object]>([
    ["a Compute of the largest size", "Compute", { ...units(0.25, 4), ...on }],
    ["a pool of the largest size and number", "ComputePool", { replicas: 3, ...template({ ...units(4, 4), ...on }) }],
    ["a pool without replicas", "ComputePool", { replicas: 0, ...template({ ...units(1, 1), ...on }) }],
  ])("%s is admitted", async (_, kind, fields) => {
    expect(await tried(kind, fields)).toMatchObject({ status: 0, stderr: "" });
  });

  it("a Compute is refused as docs/how-to.md shows it", () => {
    const shown = /^Compute shop\/reports asks for .*$/m.exec(readFileSync("docs/how-to.md", "utf8"));
    expect(shown?.[0]).toBe(tooLarge.replace("NS/tried", "shop/reports").replace("NS", "shop"));
  });

  it("kubectl scale stops at the limit", async () => {
    const pool = manifest("ComputePool", { replicas: 1, ...template({ ...units(1, 1), ...on }) }, "readers");
    await apply([placed(pool, limited)]);
    const scale = (count: number) => tryKubectl(["scale", "computepool/readers", "-n", limited, `--replicas=${count}`]);
    expect(await scale(3)).toMatchObject({ status: 0 });
    expect((await scale(4)).stderr).toContain(
      `ComputePool ${limited}/readers asks for 4 replicas, and namespace ${limited} allows at most 3`,
    );
    expect(await scale(0)).toMatchObject({ status: 0 });
  });
});

describe("what exceeded a limit before it was set", () => {
  it("can be changed otherwise, as the operator does when it adds and removes its finalizer", async () => {
    for (const object of ["compute/older", "compute/older-unset", "computepool/older-pool"]) {
      for (const finalizers of [["compute-operator.dev/endpoint"], null]) {
        const patch = JSON.stringify({ metadata: { finalizers } });
        const { stderr } = await tryKubectl(["patch", object, "-n", limited, "--type=merge", "-p", patch]);
        expect(stderr).toBe("");
      }
    }
  });

  it.each<[string, Kind, string, object]>([
    ["a Compute made smaller", "Compute", "older", { ...units(6, 6), ...off }],
    ["a Compute with scale to zero turned on", "Compute", "older", { ...units(8, 8), ...on }],
    ["a pool made smaller", "ComputePool", "older-pool", { replicas: 4, ...template({ ...units(6, 6), ...off }) }],
  ])("%s is admitted though it is not within the limits yet", async (_, kind, name, fields) => {
    expect((await tried(kind, fields, { name })).stderr).toBe("");
  });

  it.each<[string, Kind, string, object, string]>([
    ["a Compute made larger", "Compute", "older", { ...units(9, 9), ...off }, "asks for up to 9 CU"],
    ["a Compute that drops its size", "Compute", "older", off, "leaves its size to the service"],
    ["a Compute that is given a size above the limit", "Compute", "older-unset", units(8, 8), "asks for up to 8 CU"],
    ["a Compute whose scale to zero is turned off", "Compute", "older-unset", off, "turns scale to zero off"],
    [
      "a pool with more replicas",
      "ComputePool",
      "older-pool",
      { replicas: 6, ...template({ ...units(8, 8), ...off }) },
      "asks for 6 replicas",
    ],
  ])("%s is refused", async (_, kind, name, fields, message) => {
    expect((await tried(kind, fields, { name })).stderr).toContain(message);
  });
});

describe("a label that is no limit", () => {
  it("a label that is no limit is reported, and what stands is not held up by it", async () => {
    const { stderr } = await tried("Compute", units(1, 1), { namespace: mistyped });
    expect(stderr).toContain(
      `the label ${size} of namespace ${mistyped} must be a number such as 4 or 0.5, and is "four": ask an administrator of the cluster to correct it`,
    );
    const scale = await tryKubectl(["scale", "computepool/older-pool", "-n", mistyped, "--replicas=6"]);
    expect(scale.stderr).toContain(
      `the label ${replicas} of namespace ${mistyped} must be a whole number such as 3, and is "3.5": ask an administrator of the cluster to correct it`,
    );
    const fewer = await tryKubectl(["scale", "computepool/older-pool", "-n", mistyped, "--replicas=4"]);
    expect(fewer.stderr).toBe("");
    expect((await tried("Compute", { ...units(8, 8), ...on }, { namespace: mistyped, name: "older" })).stderr).toBe("");
  });
});
