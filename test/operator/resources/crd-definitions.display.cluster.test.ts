import { beforeAll, describe, expect, it } from "vitest";
import { createNamespace, kubectl } from "../../control-plane/shared-control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { type Fields, type Kind, manifest } from "./manifest.ts";

let namespace = "";
beforeAll(async () => {
  namespace = await createNamespace("display");
});

const condition = (type: string, reason: string) => ({
  type,
  status: "True",
  reason,
  message: `It is ${reason}.`,
  lastTransitionTime: "2026-01-02T03:04:05Z",
  observedGeneration: 1,
});

/** Stores an object and its status. */
async function store(kind: Kind, name: string, status: Fields): Promise<void> {
  const plural = kind.toLowerCase();
  await kubectl(["apply", "-n", namespace, "-f", "-"], { input: JSON.stringify(manifest(kind, {}, name)) });
  const patch = JSON.stringify({ status });
  await kubectl(["patch", "-n", namespace, plural, name, "--subresource=status", "--type=merge", "-p", patch]);
}

/** What kubectl prints, cell by cell; ages differ from run to run and read as AGE. */
async function table(...args: string[]): Promise<string[][]> {
  const text = await kubectl(["get", "-n", namespace, ...args]);
  return text
    .trimEnd()
    .split("\n")
    .map((line) =>
      line
        .trim()
        .split(/ {2,}/)
        .map((cell) => (/^\d+[smhdy]\d*[smhd]?$/.test(cell) ? "AGE" : cell)),
    );
}

const reasons = (reason: string) => ({ conditions: [condition("Ready", reason), condition("Synced", reason)] });

const computeStatus = {
  observedGeneration: 1,
  ...reasons("Active"),
  type: "read_write",
  access: "rw",
  branchID: "br-aged-salad-637688",
  branch: "br-aged-salad-637688",
  size: "0.25–2 CU",
  state: "Active",
  endpointID: "ep-cool-term-123456",
  lastActive: "2026-01-02T03:04:05Z",
  host: "ep-cool-term-123456.us-east-2.aws.example.com",
};
const shown = ["rw", "br-aged-salad-637688", "0.25–2 CU", "Active", "True", "Active", "AGE", "AGE"];
const head = ["NAME", "TYPE", "BRANCH", "SIZE", "STATE", "READY", "REASON", "LAST-ACTIVE", "AGE"];
const wide = [...head, "PROJECT", "BRANCH-ID", "ENDPOINT", "HOST"];

describe("kubectl get", () => {
  it("shows of a Compute what a console would and why it is not ready, and ids and host with -o wide", async () => {
    await store("Compute", "shop-primary", computeStatus);
    expect(await table("cmp")).toEqual([head, ["shop-primary", ...shown]]);
    const { branchID, endpointID, host } = computeStatus;
    expect(await table("computes", "-o", "wide")).toEqual([
      wide,
      ["shop-primary", ...shown, "shiny-wind-028834", branchID, endpointID, host],
    ]);
  });

  it("needs at most 112 columns for ids of usual length", async () => {
    const seen = { ...computeStatus, state: "NotCreated", ...reasons("BranchNotFound") };
    for (const name of ["shop-primary", "shop-preview"]) await store("Compute", name, seen);
    const lines = (await kubectl(["get", "-n", namespace, "computes"])).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(112);
    await kubectl(["delete", "-n", namespace, "computes", "shop-preview"]);
  });

  it("shows a Branch by its name and its ids with -o wide, in columns as of a Compute", async () => {
    const ends = { branchID: "br-cold-lake-1", branchName: "shop/pr-42", expiresAt: "2026-01-05T03:04:05Z" };
    await store("Branch", "pr-42", { ...ends, state: "Ready", ...reasons("Available") });
    const row = ["pr-42", "shop/pr-42", "Ready", "True", "Available", ends.expiresAt, "AGE"];
    const columns = ["NAME", "BRANCH", "STATE", "READY", "REASON", "EXPIRES", "AGE"];
    expect(await table("brn")).toEqual([columns, row]);
    expect(await table("brn", "-o", "wide")).toEqual([
      [...columns, "PROJECT", "BRANCH-ID"],
      [...row, "shiny-wind-028834", "br-cold-lake-1"],
    ]);
  });

  it.each([
    ["branch", "by-name", { branchName: "main branch" }, "main branch"],
    ["Branch", "by-ref", { branchRef: { name: "pr-42" } }, "pr-42"],
  ])("shows the %s of a pool by its name, where the manifest gives that", async (_, name, given, shows) => {
    const pool = manifest("ComputePool", { template: { projectID: "shiny-wind-028834", ...given } }, name);
    await kubectl(["create", "-n", namespace, "-f", "-"], { input: JSON.stringify(pool) });
    const [, row = []] = await table("cpool", name, "-o", "wide");
    expect(row.at(-1)).toBe(shows);
    await kubectl(["delete", "-n", namespace, `computepool/${name}`]);
  });

  it("shows of a ServiceConnection whether its key works, by its short name", async () => {
    await store("ServiceConnection", "default", {
      conditions: [condition("Ready", "Authenticated")],
      keyType: "organization",
      projectCount: 3,
    });
    expect(await table("sconn", "-o", "wide")).toEqual([
      ["NAME", "READY", "REASON", "KEY-TYPE", "PROJECTS", "AGE", "BASE-URL"],
      ["default", "True", "Authenticated", "organization", "3", "AGE", "https://console.example.com/api/v2"],
    ]);
  });

  it("shows of a ComputePool how many replicas are ready, and kubectl scale sets their number", async () => {
    const conditions = [condition("Ready", "Scaling")];
    await store("ComputePool", "readers", { replicas: 2, readyReplicas: 1, selector: "a=b", conditions });
    await kubectl(["scale", "-n", namespace, "computepool/readers", "--replicas=4"]);
    expect(await table("computepools")).toEqual([
      ["NAME", "DESIRED", "REPLICAS", "READY", "REASON", "AGE"],
      ["readers", "4", "2", "1", "Scaling", "AGE"],
    ]);
  });

  it("finds all kinds by their category", async () => {
    expect(await kubectl(["get", "-n", namespace, "compute-operator", "-o", "name"])).toMatch(
      /compute\..*\/shop-primary\n(.|\n)*serviceconnection\..*\/default/,
    );
  });
});

describe("a status", () => {
  it("takes whatever a service may say tomorrow", async () => {
    await store("Compute", "odd", {
      ...computeStatus,
      state: "Dreaming",
      currentState: "hibernating",
      createdAt: "yesterday",
      computeUnits: { min: 17, max: 99.5 },
      type: "read_sometimes",
      capacity: { vCPU: { min: 17, max: 99.5 }, memoryGB: 4, maxConnections: -1 },
      operations: [{ id: "not a uuid", action: "teleport", status: "pondering", failuresCount: -3 }],
    });
    const printed = await kubectl(["get", "-n", namespace, "compute", "odd", "-o", "jsonpath={.status.capacity}"]);
    expect(JSON.parse(printed)).toEqual({ vCPU: { min: 17, max: 99.5 }, memoryGB: 4, maxConnections: -1 });
  });
});

describe("kubectl explain", () => {
  it.each([
    ["compute", "kept as"],
    ["compute.spec.computeUnits.max", "Largest size in compute units (CU)"],
    ["compute.spec.adopt.branchPrimary", "primary read-write endpoint"],
    ["compute.status.operations.failuresCount", "How many attempts have failed."],
    ["sconn.spec.apiKeySecretRef.key", "holds the API key"],
    ["computepool.spec.template.scaleToZero.after", "for example 5m: from 60s to 7d"],
  ])("says what %s is", async (field, description) => {
    // The API server describes a kind a moment after it serves it.
    const text = await eventually(`an explanation of ${field}`, () => kubectl(["explain", field]));
    expect(text.replaceAll(/\s+/g, " ")).toContain(description);
  });
});
