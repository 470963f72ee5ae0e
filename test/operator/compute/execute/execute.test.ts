import { describe, expect, test } from "vitest";
import { pendingCreateOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { annotations } from "../../../../src/operator/resources/names.ts";
import { markerOf } from "../../../../src/operator/resources/signature.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint, madeBy, operation, takeoverMark } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, msOf, standing } from "./executing.ts";

const created =
  (acting: Acting, fields = {}) =>
  () =>
    json(201, {
      endpoint: { ...endpoint({ id: "ep-new", name: markerOf(acting.compute().metadata.uid) }), ...fields },
      operations: [],
    });

describe("a create", () => {
  test("is mark and finalizer, then POST, then link: in this order, each once", async () => {
    const acting = new Acting();
    const self = acting.stored();
    let marked = false;
    acting.answer = () => {
      marked = pendingCreateOf(acting.compute()) !== undefined && acting.compute().metadata.finalizers?.length === 1;
      return created(acting)();
    };
    const outcome = await acting.reconcile(self);
    expect(marked).toBe(true);
    expect(acting.effects).toEqual(["PATCH computes/shop", "POST service/endpoints", "PATCH computes/shop"]);
    expect(acting.service.requests[0]?.body).toEqual({
      endpoint: { branch_id: "br-main", type: "read_write", name: `k8s-${self.metadata.uid}` },
    });
    expect([acting.annotation("endpoint-id"), acting.annotation("pending-create")]).toEqual(["ep-new", undefined]);
    expect(outcome).toMatchObject({
      effect: { kind: "accepted", generation: 1 },
      condition: { reason: "Creating" },
      events: [{ reason: "Created" }],
    });
  });

  test("in place of an endpoint that could not be taken over removes that mark too", async () => {
    const acting = new Acting();
    const self = acting.stored({ metadata: { annotations: { [annotations.pendingTakeover]: takeoverMark() } } });
    acting.answer = created(acting);
    await acting.execute(
      {
        kind: "create",
        attributes: { branch_id: "br-main", type: "read_write", name: markerOf(self.metadata.uid) },
        mark: { branchID: "br-main", through: "here" },
        lost: false,
      },
      self,
    );
    expect([acting.annotation("endpoint-id"), acting.annotation("pending-takeover")]).toEqual(["ep-new", undefined]);
  });

  test("whose link could not be written is linked to what it was answered, though lists show no names", async () => {
    const acting = new Acting();
    const self = acting.stored({ spec: { type: "read_only" } });
    acting.answer = () => {
      acting.write([{ op: "remove", path: "/metadata/annotations" }]);
      return created(acting, { name: undefined, type: "read_only" })();
    };
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 422 });
    await acting.reconcile(acting.compute());
    expect(acting.annotation("endpoint-id")).toBe("ep-new");
    expect(acting.annotation("created-endpoint")).toBe(`${self.metadata.uid}/ep-new`);
    expect(acting.service.count("POST")).toBe(1);
  });

  test.each([
    ["without annotations and finalizers", {}],
    // A patch that creates no map or list tests the version only if it is asked to.
    ["with both", { annotations: { a: "b" }, finalizers: ["example.com/other", "compute-operator.dev/endpoint"] }],
  ])("is not sent from a stale view %s: the mark is guarded by the version seen", async (_, metadata) => {
    const acting = new Acting();
    const stale = acting.stored({ metadata });
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(acting.reconcile(stale)).rejects.toMatchObject({ status: 422 });
    expect(acting.service.requests).toEqual([]);
    expect(acting.annotation("pending-create")).toBeUndefined();
  });

  test("events the endpoint as made by this very object where the service does not answer with the name", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = created(acting, { name: undefined });
    await acting.reconcile(self);
    expect(acting.annotation("created-endpoint")).toBe(`${self.metadata.uid}/ep-new`);
  });

  test.each([
    ["made for another Compute", { id: "ep-new", name: markerOf("00000000-0000-4000-8000-0000000000ff") }],
    ["on another branch", { id: "ep-new", branch_id: "br-other" }],
    ["of another type", { id: "ep-new", type: "read_write" }],
    ["that stood before", { id: "ep-before", name: undefined }],
  ])(
    "answered with an endpoint %s is of unknown outcome: a link to that would one day delete it",
    async (_, fields) => {
      const acting = new Acting();
      const self = acting.stored({ spec: { type: "read_only" } });
      const endpoints = [endpoint({ id: "ep-before", type: "read_only" })];
      acting.answer = () => json(200, { endpoints });
      acting.access.lister.use(self.metadata.uid, undefined);
      await acting.cluster.clock.advance(10);
      acting.answer = created(acting, { type: "read_only", ...fields });
      const { condition } = await acting.reconcile(self, { endpoints });
      expect(condition).toMatchObject({ reason: "CreateUnknown" });
      expect([acting.annotation("endpoint-id"), acting.annotation("created-endpoint")]).toEqual([undefined, undefined]);
      expect(acting.annotation("pending-create")).toBeDefined();
    },
  );

  test("that is refused with 423 leaves no mark and is called by its project; refused again, it says so", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = () => refusal(423, "locked");
    const once = await acting.reconcile(self);
    expect(once).toMatchObject({ condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } });
    expect(acting.annotation("pending-create")).toBeUndefined();
    await acting.cluster.clock.advance(1000);
    expect(await acting.reconcile(acting.compute())).toMatchObject({
      condition: { reason: "ProjectBusy" },
      requeue: { kind: "enqueued" },
    });
  });

  test.each([400, 401, 403, 404, 409, 422, 429, 503])(
    "that is refused (%i) leaves no mark, and waits",
    async (status) => {
      const acting = new Acting();
      const self = acting.stored();
      acting.answer = () => refusal(status);
      const outcome = await acting.reconcile(self);
      expect(acting.effects).toEqual(["PATCH computes/shop", "POST service/endpoints", "PATCH computes/shop"]);
      expect(acting.annotation("pending-create")).toBeUndefined();
      expect(msOf(outcome)).toBeGreaterThanOrEqual(1000);
      await expect(acting.reconcile(acting.compute())).rejects.toThrow(/"requeueAfterMs":/);
    },
  );

  test.each<[string, () => ReturnType<Acting["answer"]>]>([
    ["no answer", () => Promise.reject(new NoResponseError("connection reset"))],
    ["a proxy's 503", () => json(503, { error: "upstream" })],
    ["500", () => refusal(500)],
    ["408", () => refusal(408)],
    ["a body cut off", () => ({ status: 201, body: undefined, json: false })],
    ["an answer without endpoint", () => json(201, {})],
    ["nothing", () => ({ status: 204, body: undefined, json: false })],
  ])("with %s keeps its mark: the outcome is not known, and only lists tell it", async (_, answer) => {
    const acting = new Acting();
    const self = acting.stored({ spec: { type: "read_only" } });
    acting.answer = answer;
    expect((await acting.reconcile(self)).condition).toMatchObject({ reason: "CreateUnknown" });
    expect(acting.effects).toEqual(["PATCH computes/shop", "POST service/endpoints"]);
    expect(pendingCreateOf(acting.compute())).toMatchObject({
      uid: self.metadata.uid,
      branchID: "br-main",
      through: acting.access.lister.client.through,
    });
    await expect(acting.reconcile(acting.compute())).rejects.toThrow("CreateUnknown");
  });

  test("events with its mark that the service shows names, also where that came to be known later", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await acting.reconcile(self, { list: { markers: "unknown" } });
    const first = pendingCreateOf(acting.compute());
    expect(first).not.toHaveProperty("named");
    await acting.cluster.clock.advance(1000);
    await acting.reconcile(acting.compute());
    expect(pendingCreateOf(acting.compute())).toEqual({ ...first, named: true, resent: true, posts: 2 });
  });

  test("of unknown outcome that is sent again and refused keeps its mark as it is, whatever comes late", async () => {
    const acting = new Acting();
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    await acting.reconcile(acting.stored());
    await acting.cluster.clock.advance(1000);
    acting.answer = () => refusal(409, "read_write endpoint already exists", "ENDPOINTS_LIMIT_EXCEEDED");
    expect((await acting.reconcile(acting.compute())).condition).toMatchObject({ reason: "PrimaryExists" });
    expect(pendingCreateOf(acting.compute())).toMatchObject({ resent: true });
    const landed = madeBy(acting.compute(), { id: "ep-late" });
    await acting.reconcile(acting.compute(), { endpoints: [landed] });
    expect(acting.annotation("endpoint-id")).toBe("ep-late");
    expect(pendingCreateOf(acting.compute())).toMatchObject({ resent: true });
    expect(acting.service.count("POST")).toBe(2);
  });

  test("whose link cannot be written is found again by its marker, and not sent again", async () => {
    const acting = new Acting();
    const self = acting.stored();
    const pass = acting.cluster.fate;
    acting.answer = () => {
      acting.cluster.fate = () => ({ kind: "status", afterMs: 0, status: 500 });
      return created(acting)();
    };
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 500 });
    acting.cluster.fate = pass;
    await acting.reconcile(acting.compute(), { endpoints: [madeBy(acting.compute(), { id: "ep-new" })] });
    expect(acting.annotation("endpoint-id")).toBe("ep-new");
    expect(acting.service.count("POST")).toBe(1);
  });

  test("for a Compute that was deleted and made again meanwhile is written into neither", async () => {
    const acting = new Acting();
    const self = acting.stored();
    acting.answer = () => {
      const answer = created(acting)();
      acting.write([{ op: "replace", path: "/metadata/finalizers", value: [] }]);
      acting.cluster.server.handle({
        method: "DELETE",
        path: "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop",
      });
      acting.stored();
      return answer;
    };
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 422 });
    expect(acting.compute().metadata.uid).not.toBe(self.metadata.uid);
    expect(acting.annotation("endpoint-id")).toBeUndefined();
  });
});

describe("a change", () => {
  test("is one PATCH and nothing else, and its operations are followed", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () =>
      json(200, { endpoint: madeBy(self, { passwordless_access: true }), operations: [operation()] });
    const outcome = await acting.reconcile(self, seen({ passwordless_access: false }));
    expect(acting.effects).toEqual(["PATCH service/endpoints/ep-one"]);
    expect(acting.service.requests[0]?.body).toEqual({ endpoint: { passwordless_access: true } });
    expect(outcome).toMatchObject({
      effect: { kind: "accepted", generation: 1 },
      condition: { reason: "Updating" },
      events: [{ reason: "DriftCorrected" }],
    });
    expect(acting.access.lister.operations.followed.writesRunningAt(0)).toBe(1);
  });

  test("of another Compute waits for its turn meanwhile, and sends nothing", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.access.lister.writeLimiter.take("another");
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "Updating" },
    });
    expect(acting.effects).toEqual([]);
  });

  test("that is refused is not applied, says why, and is not sent again too soon", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () => refusal(400, "not on this plan");
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "Rejected", message: expect.stringContaining("not on this plan") },
      requeue: { ms: 60_000 },
    });
    await expect(acting.reconcile(self, seen({ passwordless_access: false }))).rejects.toThrow("Rejected");
  });

  test.each([
    ["as long as the service asks", 30_000, 30_000],
    ["no shorter than after any other 423", 100, 1000],
  ])("that is refused with Retry-After waits %s", async (_, retryAfterMs, waitMs) => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    acting.answer = () => ({ ...refusal(423, "locked"), retryAfterMs });
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "ProjectBusy" },
      requeue: { ms: waitMs },
    });
    await acting.cluster.clock.advance(waitMs - 1);
    await expect(acting.reconcile(self, seen({ passwordless_access: false }))).rejects.toThrow("ProjectBusy");
    await acting.cluster.clock.advance(1);
    await acting.reconcile(self, seen({ passwordless_access: false }));
    expect(acting.service.count("PATCH")).toBe(2);
  });

  test("of unknown outcome has only newer lists believed", async () => {
    const { acting, self, seen } = standing({ passwordlessAccess: true });
    await acting.cluster.clock.advance(500);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    expect(await acting.reconcile(self, seen({ passwordless_access: false }))).toMatchObject({
      condition: { reason: "ServiceUnavailable" },
    });
    expect(acting.tools.state.known.listsCountAfter).toBe(500);
  });

  test("that disables the compute is noted before it is sent, so that it can be undone whatever becomes of the reply", async () => {
    const { acting, self, seen } = standing({ disabled: true });
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    const outcome = await acting.reconcile(self, seen({ disabled: false }));
    expect(acting.effects).toEqual(["PATCH computes/shop/status", "PATCH service/endpoints/ep-one"]);
    expect([outcome.compute.status.disabledByUs, outcome.disabling]).toEqual([true, {}]);
  });

  test("that disables the compute and is refused is not noted any more", async () => {
    const { acting, self, seen } = standing({ disabled: true });
    acting.answer = () => refusal(400, "not on this plan");
    expect(await acting.reconcile(self, seen({ disabled: false }))).toMatchObject({ disabling: { byUs: false } });
  });
});
