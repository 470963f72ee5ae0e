import { describe, expect, test } from "vitest";
import { parseCompute } from "../../../src/operator/resources/compute.ts";
import { parseComputePool } from "../../../src/operator/resources/compute-pool.ts";
import { parseServiceConnection } from "../../../src/operator/resources/service-connection.ts";

const metadata = { name: "shop-primary", namespace: "shop", uid: "u-1", resourceVersion: "7" };
const spec = { projectID: "shiny-wind-028834", branchID: "br-aged-salad-637688" };

describe("reading a Compute", () => {
  test("fills in the defaults that the CRD has and no other field", () => {
    expect(parseCompute({ metadata, spec })).toEqual({
      ok: true,
      value: {
        metadata,
        spec: {
          ...spec,
          connectionRef: { kind: "ServiceConnection", name: "default" },
          type: "read_write",
          driftPolicy: "Correct",
        },
        status: {},
      },
    });
  });

  test("takes a status field that does not fit as absent and keeps the others", () => {
    const status = { state: 4, host: "ep-a.example.com", operations: "none", computeUnits: { min: 17, max: 99 } };
    const read = parseCompute({ metadata, spec, status });
    expect(read.ok && read.value.status).toEqual({ host: "ep-a.example.com", computeUnits: { min: 17, max: 99 } });
  });

  test("passes fields that a newer version may have added", () => {
    expect(parseCompute({ metadata: { ...metadata, selfLink: "x" }, spec: { ...spec, later: 1 }, more: 2 }).ok).toBe(
      true,
    );
  });

  test.each([null, undefined, 7, "text", [], {}, { metadata }, { metadata, spec: { projectID: 1 } }])(
    "names the problem of %j instead of throwing",
    (raw) => {
      const read = parseCompute(raw);
      expect(read.ok ? "" : read.problem).toMatch(/expected/);
    },
  );
});

test("reading a ServiceConnection fills in key, interval and budget", () => {
  const read = parseServiceConnection({
    metadata,
    spec: { baseURL: "http://127.0.0.1:8090/api/v2", apiKeySecretRef: { name: "service" } },
  });
  expect(read.ok && read.value.spec).toEqual({
    baseURL: "http://127.0.0.1:8090/api/v2",
    apiKeySecretRef: { name: "service", key: "api-key" },
    refreshInterval: "30s",
    requestBudget: { perMinute: 700, burst: 40 },
  });
});

test("a ComputePool's template has no type and takes over nothing", () => {
  const read = parseComputePool({
    metadata,
    spec: { replicas: 2, template: { ...spec, type: "read_write", adopt: { branchPrimary: true } } },
  });
  expect(read.ok && Object.keys(read.value.spec.template).toSorted()).toEqual([
    "branchID",
    "connectionRef",
    "driftPolicy",
    "projectID",
  ]);
});
