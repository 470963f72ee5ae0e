import { describe, expect, test } from "vitest";
import {
  type MetadataAction,
  patchMetadata,
  release,
} from "../../../../src/operator/compute/execute/patch-metadata.ts";
import { pendingCreateOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { ClusterClient } from "../../../../src/operator/kube/client.ts";
import type { ClusterTransport } from "../../../../src/operator/kube/transport.ts";
import { createMark, takeoverMark } from "../../../support/builders.ts";
import { Acting } from "./executing.ts";

type Link = Extract<MetadataAction, { kind: "link" }>;

const finalizer = "compute-operator.dev/endpoint";
/** With annotations and finalizers a patch tests the version only if it is asked to. */
const whole = { annotations: { a: "b" }, finalizers: ["example.com/other"] };
const link: Link = { kind: "link", endpointID: "ep-one", proof: "signature", news: "created" };

function mark(acting: Acting): void {
  const path = "/metadata/annotations/compute-operator.dev~1pending-create";
  acting.write([{ op: "add", path, value: createMark({ uid: acting.compute().metadata.uid }) }]);
}

function markTakeover(acting: Acting): void {
  const path = "/metadata/annotations/compute-operator.dev~1pending-takeover";
  acting.write([{ op: "add", path, value: takeoverMark("here", acting.compute().metadata.uid) }]);
}

function write(acting: Acting, action: MetadataAction, compute = acting.compute()) {
  return patchMetadata(action, acting.context(compute));
}

describe("a link", () => {
  test("sets finalizer and id, takes the marks away, and has the endpoint brought to the spec", async () => {
    const acting = new Acting();
    acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    mark(acting);
    markTakeover(acting);
    const { events, condition } = await write(acting, link);
    expect(acting.compute().metadata.finalizers).toEqual(["example.com/other", finalizer]);
    expect(acting.compute().status).toMatchObject({ observedGeneration: 1, appliedGeneration: -1 });
    expect([acting.annotation("endpoint-id"), acting.annotation("pending-create")]).toEqual(["ep-one", undefined]);
    expect(acting.annotation("pending-takeover")).toBeUndefined();
    expect(events).toMatchObject([{ type: "Normal", reason: "Created" }]);
    expect(condition).toEqual({ kind: "unchanged" });
  });

  test("that is only put back leaves the status as it is, and is no news", async () => {
    const acting = new Acting();
    acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    expect((await write(acting, { ...link, news: "none" })).events).toEqual([]);
    expect(acting.compute().status.appliedGeneration).toBe(1);
    expect(acting.effects).toEqual(["PATCH computes/shop"]);
  });

  test("keeps the mark that the action names, also if kubectl replace removed it", async () => {
    const acting = new Acting();
    const { uid } = acting.stored({ metadata: whole }).metadata;
    const keepsMark = {
      uid,
      since: "2026-01-01T00:00:00Z",
      branchID: "br-main",
      through: "here",
      resent: true,
    } as const;
    await write(acting, { ...link, keepsMark });
    expect(pendingCreateOf(acting.compute())).toMatchObject({ resent: true });
  });

  test.each<[string, Partial<Link>, object, object]>([
    ["by its name", { proof: "signature" }, {}, {}],
    ["by a create of this object", { proof: "created" }, {}, { created: true }],
    ["by its id", { proof: "adopted", news: "adopted" }, { adopt: { endpointID: "ep-one" } }, {}],
    ["as the primary", { proof: "adopted", news: "adopted" }, { adopt: { branchPrimary: true } }, { adopted: true }],
    ["by its name, also where it adopts the primary", { proof: "signature" }, { adopt: { branchPrimary: true } }, {}],
  ])("to an endpoint that is ours %s is recorded where nothing else would tell", async (_, action, spec, noted) => {
    const acting = new Acting();
    const { metadata } = acting.stored({ metadata: whole, spec });
    const { events } = await write(acting, { ...link, ...action });
    const note = `${metadata.uid}/ep-one`;
    expect(acting.annotation("created-endpoint")).toBe("created" in noted ? note : undefined);
    expect(acting.annotation("adopted-endpoint")).toBe("adopted" in noted ? note : undefined);
    expect(events[0]?.reason).toBe(action.news === "adopted" ? "Adopted" : "Created");
  });

  test.each(["none", "created"] as const)("from a stale view is refused (news: %s)", async (news) => {
    const acting = new Acting();
    const stale = acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(write(acting, { ...link, news }, stale)).rejects.toMatchObject({ status: 422 });
    expect(acting.annotation("endpoint-id")).toBeUndefined();
    expect(acting.compute().status.appliedGeneration).toBe(1);
  });
});

describe("a mark", () => {
  const both = {
    annotations: { "compute-operator.dev/pending-create": "one", "compute-operator.dev/pending-restart": "two" },
  };

  test.each(["pendingCreate", "pendingRestart"] as const)("of kind %s is taken away alone", async (kind) => {
    const acting = new Acting();
    acting.stored({ metadata: both });
    await write(acting, { kind: "clearPending", mark: kind });
    expect(acting.annotation("pending-create")).toBe(kind === "pendingCreate" ? undefined : "one");
    expect(acting.annotation("pending-restart")).toBe(kind === "pendingRestart" ? undefined : "two");
  });

  test("is put back with the finalizer, and only where nobody wrote meanwhile", async () => {
    const acting = new Acting();
    const stale = acting.stored({ metadata: whole });
    const known = { uid: stale.metadata.uid, since: "2026-01-01T00:00:00Z", branchID: "br-main", through: "here" };
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    await expect(write(acting, { kind: "restorePending", mark: known }, stale)).rejects.toMatchObject({ status: 422 });
    await write(acting, { kind: "restorePending", mark: known });
    expect(pendingCreateOf(acting.compute())).toMatchObject(known);
    expect(acting.compute().metadata.finalizers).toEqual(["example.com/other", finalizer]);
  });
});

describe("a Compute that is let go", () => {
  const action = { kind: "release", event: "Released", message: "kept" } as const;
  const guarded = { finalizers: ["example.com/other", finalizer] };

  test("loses our finalizer alone, and says so", async () => {
    const acting = new Acting();
    const outcome = await release(action, acting.context(acting.stored({ metadata: guarded })));
    expect(acting.compute().metadata.finalizers).toEqual(["example.com/other"]);
    expect(outcome).toMatchObject({
      condition: { kind: "released" },
      events: [{ type: "Normal", reason: "Released", message: "kept" }],
    });
  });

  test("from a stale view is not: it may have come to need its endpoint deleted", async () => {
    const acting = new Acting();
    const stale = acting.stored({ metadata: guarded });
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(release(action, acting.context(stale))).rejects.toMatchObject({ status: 422 });
    expect(acting.compute().metadata.finalizers).toContain(finalizer);
  });

  test("without our finalizer is not written to", async () => {
    const acting = new Acting();
    expect(await release(action, acting.context(acting.stored()))).toMatchObject({ condition: { kind: "released" } });
    expect(acting.effects).toEqual([]);
  });
});

test("what is as it should be is not patched, and an answer that cannot be read is no Compute", async () => {
  const acting = new Acting();
  const self = acting.stored({ metadata: { annotations: { "compute-operator.dev/pending-create": "x" } } });
  expect(await write(acting, { kind: "clearPending", mark: "pendingRestart" })).toMatchObject({ compute: self });
  expect(acting.effects).toEqual([]);
  const { clock, signal } = acting.tools;
  const transport: ClusterTransport = {
    request: () => Promise.resolve({ status: 200, body: { ...self, spec: {} } }),
    watch: (what, options) => acting.cluster.transport().watch(what, options),
  };
  const cluster = new ClusterClient(transport, { clock, signal, timeoutMs: 1000 });
  const context = { ...acting.context(self), cluster };
  await expect(patchMetadata({ kind: "clearPending", mark: "pendingCreate" }, context)).rejects.toThrow(
    /cannot be read/,
  );
});
