import { beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { apply, createNamespace, kubectl, tryKubectl } from "../control-plane/shared-control-plane.ts";
import { manifest } from "../operator/resources/manifest.ts";
import { eventually } from "../support/eventually.ts";

type Kind = "Branch" | "Compute" | "ComputePool";

let namespace = "";

function named(name: string, annotations: Record<string, string>, kind: Kind = "Compute") {
  const own = Object.entries(annotations).map(([key, value]) => [`compute-operator.dev/${key}`, value]);
  const object = manifest(kind, {}, name);
  return { ...object, metadata: { name, namespace, annotations: Object.fromEntries(own) } };
}

/** Tries whether the API server takes an object, and stores nothing. */
function tried(annotations: Record<string, string>, kind?: Kind) {
  const input = JSON.stringify(named("tried", annotations, kind));
  return tryKubectl(["create", "--dry-run=server", "-f", "-"], { input });
}

beforeAll(async () => {
  namespace = await createNamespace("annotations");
  // What stood before the policy did.
  await apply([named("old", { "endpoint-id": "../..", paused: "true" })]);
  const documents = parseAllDocuments(await kubectl(["kustomize", "deploy/base/annotations"]));
  // Other tests type what they like.
  const matchLabels = { "kubernetes.io/metadata.name": namespace };
  const only = (object: { kind: string; spec: object }) =>
    object.kind === "ValidatingAdmissionPolicyBinding"
      ? { ...object, spec: { ...object.spec, matchResources: { namespaceSelector: { matchLabels } } } }
      : object;
  await apply(documents.map((document) => only(document.toJS())));
  // A policy takes effect a moment after it is stored.
  await eventually("the policy to take effect", async () =>
    (await tried({ "endpoint-id": "../.." })).status === 0 ? undefined : "refused",
  );
});

describe("an annotation of the operator's", () => {
  it.each([
    ["endpoint-id", "../..", "remove the annotation to have an endpoint created"],
    ["endpoint-id", "quiet-river-1", "begins with ep-"],
    ["endpoint-id", `ep-${"x".repeat(126)}`, "must be the id of an endpoint"],
    ["restartedAt", "", "1 to 256 printable characters"],
    ["restartedAt", "   ", "1 to 256 printable characters"],
    ["passwordRotationAt", "", "1 to 256 printable characters"],
    ["passwordRotationAt", "x".repeat(257), "1 to 256 printable characters"],
    ["reconcileRequestedAt", "now\nand then", "1 to 256 printable characters"],
    ["confirmLoss", "x".repeat(257), "1 to 256 printable characters"],
    ["paused", "yes\u0000", "at most 256 printable characters"],
  ])("%s is refused as %j, with what to do", async (key, value, message) => {
    const { status, stderr } = await tried({ [key]: value });
    expect(status).not.toBe(0);
    expect(stderr).toContain("compute-operator.dev/");
    expect(stderr).toContain(message);
  });

  it.each(["", "  ", "now\nand then", "x".repeat(257)])("resetAt of a Branch is refused as %j", async (resetAt) => {
    expect((await tried({ resetAt }, "Branch")).stderr).toContain("1 to 256 printable characters");
  });

  it("restartedAt of a pool is refused where it is blank, and accepted as a time", async () => {
    expect((await tried({ restartedAt: " " }, "ComputePool")).stderr).toContain("1 to 256 printable characters");
    expect((await tried({ restartedAt: "2026-01-01T00:00:00Z" }, "ComputePool")).stderr).toBe("");
  });

  it("resetAt of a Branch is accepted as a time", async () => {
    expect((await tried({ resetAt: "2026-01-01T00:00:00Z", paused: "true" }, "Branch")).stderr).toBe("");
  });

  it.each([
    { "endpoint-id": "ep-quiet-river-851426" },
    { "endpoint-id": "ep-A_b.c~1" },
    { "endpoint-id": "" },
    { restartedAt: "2026-01-01T00:00:00Z", reconcileRequestedAt: "Do 1. Jän 2026 12:00:00 CET", confirmLoss: "yes" },
    { paused: "true" },
    { paused: "false" },
    { paused: "yes", disruptionUntil: "2028-02-29T23:59:59.5+02:00" },
    { paused: "2026-11-24t18:00:00z" },
    { passwordRotationAt: "today" },
  ])("an annotation is accepted from anybody, as when a backup is restored: %j", async (annotations) => {
    expect((await tried(annotations)).stderr).toBe("");
  });

  it.each([
    ["Compute", { paused: "" }, "such a time, true, yes or false"],
    ["Branch", { paused: "soon" }, "such a time, true, yes or false"],
    ["Compute", { disruptionUntil: "2026-02-29T00:00:00Z" }, "must be a time such as"],
    ["Compute", { resetAt: "now", newer: "x" }, "compute-operator.dev/newer"],
    ["Branch", { restartedAt: "now" }, "is not read on branches"],
    ["ComputePool", { paused: "true" }, "is not read on computepools"],
  ] as const)("an annotation of a new %s passes with a warning, as in a backup: %j", async (kind, values, warning) => {
    const { status, stderr } = await tried(values, kind);
    expect(status).toBe(0);
    expect(stderr).toContain("Warning: ");
    expect(stderr).toContain(warning);
  });

  it("an annotation that should be a time is refused once it is changed to none, and one that is not read is warned of", async () => {
    await apply([named("timed", { paused: "soon" })]);
    const annotate = (...values: string[]) => {
      const own = values.map((value) => `compute-operator.dev/${value}`);
      return tryKubectl(["annotate", "--overwrite", "compute", "timed", "-n", namespace, ...own]);
    };
    for (const value of ["paused=later", "disruptionUntil=tonight", "disruptionUntil="]) {
      expect((await annotate(value)).stderr).toContain("must be a time such as 2026-11-24T18:00:00Z");
    }
    // The value that stands holds nothing up.
    expect(await annotate("restartedAt=now")).toMatchObject({ status: 0, stderr: "" });
    expect(await annotate("disruptionUntil=2026-11-24T18:00:00Z")).toMatchObject({ status: 0, stderr: "" });
    expect(await annotate("resetAt=now")).toMatchObject({
      status: 0,
      stderr: expect.stringContaining("compute-operator.dev/resetAt is not read on computes: read are "),
    });
  });

  it("an annotation of another's, or of another tool, is no matter", async () => {
    const input = JSON.stringify({
      ...named("tried", {}),
      metadata: { name: "tried", namespace, annotations: { "example.com/endpoint-id": "", note: "" } },
    });
    expect((await tryKubectl(["create", "--dry-run=server", "-f", "-"], { input })).status).toBe(0);
  });

  it("an annotation with a malformed value holds up no other change, and can be mended or taken away", async () => {
    const annotate = (...values: string[]) => tryKubectl(["annotate", "compute", "old", "-n", namespace, ...values]);
    expect((await annotate("compute-operator.dev/paused-")).status).toBe(0);
    const patch = JSON.stringify({ metadata: { finalizers: ["compute-operator.dev/endpoint"] } });
    await kubectl(["patch", "compute", "old", "-n", namespace, "--type=merge", "-p", patch]);
    await kubectl(["delete", "compute", "old", "-n", namespace, "--wait=false"]);
    const worse = await annotate("--overwrite", "compute-operator.dev/endpoint-id=../../..");
    expect(worse.stderr).toContain("must be the id of an endpoint");
    expect((await annotate("compute-operator.dev/endpoint-id-")).status).toBe(0);
    await kubectl([
      "patch",
      "compute",
      "old",
      "-n",
      namespace,
      "--type=merge",
      "-p",
      '{"metadata":{"finalizers":null}}',
    ]);
    expect((await tryKubectl(["get", "compute", "old", "-n", namespace])).stderr).toContain("not found");
  });
});
