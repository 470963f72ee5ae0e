import { describe, expect, test } from "vitest";
import { guardedPatch } from "../../../src/operator/kube/json-patch.ts";
import { isObjectOf, readObject } from "../../../src/operator/kube/objects.ts";
import { computeKind, parseCompute } from "../../../src/operator/resources/compute.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { setUp } from "./reflector-world.ts";

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

describe("an object that is kept", () => {
  const applied = configMap("eu", "a");
  const raw = {
    ...applied,
    metadata: {
      ...applied.metadata,
      uid: "uid-1",
      resourceVersion: "7",
      labels: { app: "shop" },
      annotations: { [lastApplied]: "{}" },
      managedFields: [{ manager: "kubectl" }],
    },
  };

  test("lacks its field managers and kubectl's copy of it, whether or not it is parsed", () => {
    const kept = readObject({ kind: configMaps, log: silentLogger }, raw);
    expect(kept?.metadata).toEqual({
      ...applied.metadata,
      uid: "uid-1",
      resourceVersion: "7",
      labels: { app: "shop" },
      annotations: {},
    });
    const spec = { projectID: "shop", branchID: "br-main" };
    const parse = (object: unknown) => {
      const parsed = parseCompute(object);
      return parsed.ok ? parsed.value : undefined;
    };
    const compute = readObject({ kind: computeKind, log: silentLogger, parse }, { ...raw, kind: "Compute", spec });
    expect(compute?.metadata.annotations).toEqual({});
    expect(compute?.metadata).not.toHaveProperty("managedFields");
  });

  test("keeps empty annotations, so that adding the first does not wipe out those that it lacks", () => {
    const kept = readObject({ kind: configMaps, log: silentLogger }, raw);
    const ops = kept && guardedPatch(kept).setAnnotation("own", "x").ops();
    expect(ops?.slice(1)).toEqual([{ op: "add", path: "/metadata/annotations/own", value: "x" }]);
  });

  test("leaves what it was read from as it was", () => {
    readObject({ kind: configMaps, log: silentLogger }, raw);
    expect(raw.metadata.managedFields).toEqual([{ manager: "kubectl" }]);
    expect(raw.metadata.annotations).toEqual({ [lastApplied]: "{}" });
  });
});

test("each version of an object is parsed once, whether a list or the watch brings it, or brings it again", async () => {
  const parsed: string[] = [];
  const { clock, cluster, outside, started, reflector } = setUp({
    parse: (raw) => {
      if (!isObjectOf(configMaps, raw)) return undefined;
      parsed.push(`${raw.metadata.name} ${raw.metadata.resourceVersion}`);
      return raw;
    },
  });
  outside.create("a");
  await started();
  const changed = outside.change("a", { x: "1" });
  reflector.answered(changed, false);
  await clock.advance(100);
  expect(reflector.store.get("default", "a")?.data).toEqual({ x: "1" });
  cluster.server.store.compact();
  await clock.advance(3 * 3_600_000);
  expect(cluster.lists().length).toBeGreaterThan(1);
  expect(parsed.length).toBe(2);
  expect(new Set(parsed).size).toBe(2);
});
