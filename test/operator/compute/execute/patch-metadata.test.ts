import { describe, expect, test } from "vitest";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import { release } from "../../../../src/operator/compute/execute/patch-metadata.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { ClusterClient } from "../../../../src/operator/kube/client.ts";
import type { ClusterTransport } from "../../../../src/operator/kube/transport.ts";
import { openSince } from "../../../support/builders.ts";
import { Acting } from "./executing.ts";

type Link = Extract<Action, { kind: "link" }>;

const finalizer = "compute-operator.dev/endpoint";
/** With annotations and finalizers a patch tests the version only if it is asked to. */
const whole = { annotations: { a: "b" }, finalizers: ["example.com/other"] };
const link: Link = { kind: "link", endpointID: "ep-one", proof: "signature", news: "created" };

function write(acting: Acting, action: Action, compute = acting.compute()) {
  return execute(action, acting.context(compute));
}

describe("a link", () => {
  test.each([
    ["that is taken over", "former"],
    ["that is adopted", "adopted"],
  ] as const)("an endpoint %s is to be brought to the spec", async (_, news) => {
    const acting = new Acting();
    acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    await write(acting, { ...link, news });
    expect(acting.compute().status).toMatchObject({ observedGeneration: 1, appliedGeneration: -1 });
  });

  test("sets finalizer and id in one patch, of an endpoint that has the generation of its record", async () => {
    const acting = new Acting();
    acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    acting.remember({ write: openSince(0, { uid: acting.compute().metadata.uid }) });
    const { events, condition } = await write(acting, link);
    expect(acting.compute().metadata.finalizers).toEqual(["example.com/other", finalizer]);
    expect(acting.compute().status).toMatchObject({ observedGeneration: 1, appliedGeneration: 1 });
    expect(acting.annotation("endpoint-id")).toBe("ep-one");
    expect(acting.effects).toEqual(["PATCH computes/shop/status", "PATCH computes/shop"]);
    expect(events).toMatchObject([{ type: "Normal", reason: "Created" }]);
    expect(condition).toEqual({ kind: "unchanged" });
  });

  test("carries the restart that is carried out, which no status says yet", async () => {
    const acting = new Acting();
    acting.stored({ metadata: { annotations: { "compute-operator.dev/restartedAt": "now" } }, status: {} });
    acting.remember({ handled: { restartedAt: "now" } });
    await write(acting, link);
    expect(acting.compute().status.restartedAt).toBe("now");
  });

  test("a link that is only put back leaves the status as it is, and raises no event", async () => {
    const acting = new Acting();
    acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    expect((await write(acting, { ...link, news: "none" })).events).toEqual([]);
    expect(acting.compute().status.appliedGeneration).toBe(1);
    expect(acting.effects).toEqual(["PATCH computes/shop"]);
  });

  test.each<[string, Partial<Link>, string | undefined]>([
    ["by its name", { proof: "signature" }, undefined],
    ["by an answered create", { proof: "created" }, "created"],
    ["by its adoption", { proof: "adopted", news: "adopted" }, "adopted"],
    ["by nothing but a link", { proof: "none", news: "none" }, undefined],
  ])("a link to an endpoint that is ours %s notes the proof where no list shows it", async (_, action, by) => {
    const acting = new Acting();
    const { metadata } = acting.stored({ metadata: whole });
    const { events } = await write(acting, { ...link, ...action });
    const { proof } = acting.compute().status;
    expect(proof).toEqual(by && { uid: metadata.uid, endpointID: "ep-one", by });
    const reasons = { adopted: "Adopted", created: "Created", former: "Adopted", none: undefined };
    expect(events[0]?.reason).toBe(reasons[action.news ?? "created"]);
  });

  test.each([
    ["created", true],
    ["adopted", undefined],
    ["former", undefined],
  ] as const)("a link with news %s keeps the note that this operator disabled the endpoint: %s", async (news, kept) => {
    const acting = new Acting();
    acting.stored({ metadata: whole, status: { observedGeneration: 1, disabledByUs: true } });
    await write(acting, { ...link, news });
    expect(acting.compute().status.disabledByUs).toBe(kept);
  });

  test.each(["none", "created"] as const)("a link from a stale view is refused (news: %s)", async (news) => {
    const acting = new Acting();
    const stale = acting.stored({ metadata: whole, status: { observedGeneration: 1, appliedGeneration: 1 } });
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(write(acting, { ...link, news }, stale)).rejects.toMatchObject({ status: 422 });
    expect(acting.annotation("endpoint-id")).toBeUndefined();
    expect(acting.compute().status.appliedGeneration).toBe(1);
  });
});

describe("a finalizer that is put back", () => {
  test("a finalizer is put back with one patch, and only where nobody wrote meanwhile", async () => {
    const acting = new Acting();
    const stale = acting.stored({ metadata: whole });
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    const action = { kind: "restoreFinalizer" } as const;
    await expect(write(acting, action, stale)).rejects.toMatchObject({ status: 422 });
    await write(acting, action);
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

  test("warns where what was sent may still make an endpoint", async () => {
    const acting = new Acting();
    const outcome = await release({ ...action, warns: true }, acting.context(acting.stored({ metadata: guarded })));
    expect(outcome.events).toMatchObject([{ type: "Warning", reason: "Released", message: "kept" }]);
  });

  test("a release from a stale view is not made: the Compute may have come to need its endpoint deleted", async () => {
    const acting = new Acting();
    const stale = acting.stored({ metadata: guarded });
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(release(action, acting.context(stale))).rejects.toMatchObject({ status: 422 });
    expect(acting.compute().metadata.finalizers).toContain(finalizer);
  });

  test("a Compute without our finalizer is not written to", async () => {
    const acting = new Acting();
    expect(await release(action, acting.context(acting.stored()))).toMatchObject({ condition: { kind: "released" } });
    expect(acting.effects).toEqual([]);
  });
});

test("what is as it should be is not patched, and an answer that cannot be read is no Compute", async () => {
  const acting = new Acting();
  const self = acting.stored({ metadata: { finalizers: [finalizer] } });
  expect(await write(acting, { kind: "restoreFinalizer" })).toMatchObject({ compute: self });
  expect(acting.effects).toEqual([]);
  const { clock, signal } = acting.tools;
  const transport: ClusterTransport = {
    request: () => Promise.resolve({ status: 200, body: { ...self, spec: {} } }),
    watch: (what, options) => acting.cluster.transport().watch(what, options),
  };
  const cluster = new ClusterClient(transport, { clock, signal, timeoutMs: 1000 });
  const context = { ...acting.context(self), cluster };
  await expect(execute({ ...link, news: "none" }, context)).rejects.toThrow(/cannot be read/);
});
