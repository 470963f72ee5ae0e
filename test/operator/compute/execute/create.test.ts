import { describe, expect, test } from "vitest";
import { carriedBy } from "../../../../src/operator/compute/record.ts";
import type { Patcher } from "../../../../src/operator/life/patching.ts";
import { asRecord } from "../../../../src/operator/objects/record.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { signatureOfUID } from "../../../../src/operator/resources/signature.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint, madeBy, operation, recordOf } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, conditionOf, msOf } from "./executing.ts";

const finalizer = "compute-operator.dev/endpoint";
const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/shop";
const [record, metadata, post] = ["PATCH computes/shop/status", "PATCH computes/shop", "POST service/endpoints"];

/** A new Compute, and a service that makes what it is asked for. */
function creating(fields: Parameters<Acting["stored"]>[0] = {}, made: object = {}) {
  const acting = new Acting();
  const self = acting.stored(fields);
  const name = signatureOfUID(self.metadata.uid);
  const created = () => {
    const type = self.spec.type;
    return json(201, { endpoint: { ...endpoint({ id: "ep-new", name, type }), ...made }, operations: [operation()] });
  };
  acting.answer = created;
  const known = () => acting.tools.state.known;
  return { acting, self, created, known };
}

/** The patches of the Compute, as they were sent. */
function patches({ cluster }: Acting) {
  return cluster.requests.filter(({ method }) => method === "PATCH").map(({ body }) => body);
}

describe("a create", () => {
  test("a create is record with reason Creating, finalizer, POST, link: in this order, each once", async () => {
    const { acting, self, created } = creating();
    const before: Compute[] = [];
    acting.answer = () => {
      before.push(acting.compute());
      return created();
    };
    const outcome = await acting.reconcile(self);
    expect(acting.effects).toEqual([record, metadata, post, metadata]);
    expect(before[0]).toMatchObject({
      metadata: { finalizers: [finalizer] },
      status: {
        state: "Creating",
        pendingWrite: {
          uid: self.metadata.uid,
          n: 1,
          by: "this-term",
          operation: "create",
          branchID: "br-main",
          through: "https://service/api/v2",
        },
      },
    });
    expect(before[0]?.status.conditions).toContainEqual(expect.objectContaining({ type: "Ready", reason: "Creating" }));
    expect(acting.service.requests[0]?.body).toEqual({
      endpoint: { branch_id: "br-main", type: "read_write", name: `k8s-${self.metadata.uid}` },
    });
    expect(acting.annotation("endpoint-id")).toBe("ep-new");
    expect(outcome).toMatchObject({
      effect: { kind: "accepted", generation: 1, endpoint: { id: "ep-new" } },
      condition: { reason: "Creating" },
      events: [{ type: "Normal", reason: "Created" }],
    });
  });

  test("a create has a record of its own where its status was copied from another object with a record of this term", async () => {
    const pendingWrite = recordOf({ uid: "another-object", by: "this-term" });
    const { acting, self, created } = creating({ status: { pendingWrite } });
    let recorded: Compute["status"]["pendingWrite"];
    acting.answer = () => {
      recorded = acting.compute().status.pendingWrite;
      return created();
    };
    await acting.reconcile(self);
    expect(recorded).toMatchObject({ uid: self.metadata.uid, n: 2, by: "this-term" });
  });

  test("notes the ClusterServiceConnection that it goes through with its record, and no connection of its namespace", async () => {
    const noted = async (connectionRef: object) => {
      const { acting, self } = creating({ spec: { connectionRef } });
      await acting.reconcile(self);
      return acting.compute().status.clusterConnection;
    };
    expect(await noted({ kind: "ClusterServiceConnection", name: "fleet" })).toBe("fleet");
    expect(await noted({ name: "default" })).toBeUndefined();
  });

  test("records the newest of the list that it was planned from, by the service's clock", async () => {
    const { acting, self } = creating();
    const endpoints = [endpoint({ id: "ep-x", type: "read_only", created_at: "2026-01-05T00:00:00Z" })];
    await acting.reconcile(self, { endpoints });
    expect(acting.compute().status.pendingWrite).toMatchObject({ newest: "2026-01-05T00:00:00Z" });
  });

  test("tests uid and resourceVersion in each patch, each time those of the answer before", async () => {
    const { acting, self } = creating();
    await acting.reconcile(self);
    const versions = patches(acting).map((ops) => {
      expect(ops).toMatchObject([
        { op: "test", path: "/metadata/uid", value: self.metadata.uid },
        { op: "test", path: "/metadata/resourceVersion" },
        {},
      ]);
      return Array.isArray(ops) ? Number(ops[1].value) : 0;
    });
    expect(versions).toHaveLength(3);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    expect(new Set(versions).size).toBe(3);
  });

  test.each([
    ["without annotations and finalizers", {}],
    ["with both", { annotations: { a: "b" }, finalizers: ["example.com/other", finalizer] }],
  ])("a create is not sent from a stale view %s", async (_, fields) => {
    const { acting, self } = creating({ metadata: fields, status: { conditions: [conditionOf("PrimaryExists")] } });
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 422 });
    expect(acting.service.requests).toEqual([]);
    expect(acting.compute().status.pendingWrite).toBeUndefined();
  });

  test("a create is not sent where somebody writes between record and finalizer", async () => {
    const { acting, self, known } = creating();
    const { fate } = acting.cluster;
    acting.cluster.fate = (request) => {
      const isFinalizer = acting.effects.includes(record) && !request.path.endsWith("/status");
      if (isFinalizer) acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
      return fate(request);
    };
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 422 });
    expect(acting.service.requests).toEqual([]);
    expect(known().write).toMatchObject({ phase: "unsent" });
  });

  test("a create that was not sent, since key or address had just changed, is planned again and costs no further record", async () => {
    const acting = new Acting({}, { retired: AbortSignal.abort() });
    const self = acting.stored();
    expect(await acting.reconcile(self)).toMatchObject({
      condition: { kind: "unchanged" },
      requeue: { ms: 1 },
      events: [],
    });
    expect(acting.effects).toEqual([record, metadata]);
    expect(acting.tools.state.known.write).toMatchObject({ phase: "unsent" });
    expect(acting.tools.state.known.failedWrite).toBeUndefined();
  });
});

describe("a create that is answered", () => {
  test("keeps its record until the object names the endpoint and a list shows it", async () => {
    const { acting, self, known } = creating();
    await acting.reconcile(self);
    expect(known().write).toMatchObject({ phase: "open", made: "ep-new" });
    expect(acting.compute().status.pendingWrite).toBeDefined();
    expect(carriedBy(known().write, acting.compute())).toEqual(acting.compute().status.pendingWrite);
  });

  test.each([
    ["nothing more", signatureOfUID, undefined],
    ["without the name, the proof first", () => undefined, "created"],
    ["with a name that is nobody's signature, the proof first", () => "by hand", "created"],
  ])("notes %s", async (_, name, by) => {
    const { acting, self, created } = creating();
    acting.answer = () => {
      const answer = asRecord(created().body);
      return json(201, { ...answer, endpoint: { ...asRecord(answer.endpoint), name: name(self.metadata.uid) } });
    };
    await acting.reconcile(self);
    const { proof } = acting.compute().status;
    expect(proof).toEqual(by && { uid: self.metadata.uid, endpointID: "ep-new", by });
    expect(acting.effects.slice(3)).toEqual(by === undefined ? [metadata] : [record, metadata]);
    expect(acting.annotation("endpoint-id")).toBe("ep-new");
  });

  test("does not count as the newer spec that was written while it was under way: its link is built on that version", async () => {
    const { acting, self, created } = creating();
    acting.tools.stored = () => acting.compute();
    acting.answer = () => {
      acting.write([{ op: "add", path: "/spec/disabled", value: true }]);
      return created();
    };
    const outcome = await acting.reconcile(self);
    expect(acting.annotation("endpoint-id")).toBe("ep-new");
    expect(outcome.compute.metadata.generation).toBe(2);
    expect(outcome.effect).toMatchObject({ kind: "accepted", generation: 1 });
  });

  test("an answered create for a Compute that was deleted and made again meanwhile is written into neither", async () => {
    const { acting, self, created } = creating();
    acting.tools.stored = () => acting.compute();
    acting.answer = () => {
      acting.write([{ op: "replace", path: "/metadata/finalizers", value: [] }]);
      acting.cluster.server.handle({ method: "DELETE", path });
      acting.stored();
      return created();
    };
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 422 });
    expect(acting.compute().metadata.uid).not.toBe(self.metadata.uid);
    expect(acting.annotation("endpoint-id")).toBeUndefined();
  });

  test.each([
    ["shows no name", undefined],
    ["lags", undefined],
  ])(
    "an answered create whose link could not be written is linked from the answer, though the list %s",
    async (what) => {
      const { acting, self, created } = creating({}, { name: undefined });
      acting.answer = () => {
        acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
        return created();
      };
      await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 422 });
      const endpoints = what === "lags" ? [] : [endpoint({ id: "ep-new" })];
      await acting.reconcile(acting.compute(), { endpoints });
      expect(acting.annotation("endpoint-id")).toBe("ep-new");
      expect(acting.compute().status.proof).toMatchObject({ endpointID: "ep-new", by: "created" });
      expect(acting.service.count("POST")).toBe(1);
    },
  );

  test.each([
    ["made for another Compute", { name: signatureOfUID("00000000-0000-4000-8000-0000000000ff") }],
    ["on another branch", { branch_id: "br-other" }],
    ["of another type", { type: "read_write" }],
    ["that stood before", { id: "ep-before", name: undefined }],
  ])(
    "an answered create with an endpoint %s is of unknown outcome: a link to that would one day delete it",
    async (_, fields) => {
      const { acting, self } = creating({ spec: { type: "read_only" } });
      const endpoints = [endpoint({ id: "ep-before", type: "read_only" })];
      acting.answer = () => json(200, { endpoints });
      acting.access.lister.use(self.metadata.uid, undefined);
      await acting.cluster.clock.advance(10);
      const made = endpoint({ id: "ep-new", type: "read_only", name: signatureOfUID(self.metadata.uid), ...fields });
      acting.answer = () => json(201, { endpoint: made, operations: [] });
      const { condition } = await acting.reconcile(self, { endpoints });
      expect(condition).toMatchObject({ reason: "CreateUnknown" });
      expect([acting.annotation("endpoint-id"), acting.compute().status.proof]).toEqual([undefined, undefined]);
      expect(acting.tools.state.known.write).toMatchObject({ phase: "open" });
    },
  );

  test("an answered create in place of a lost endpoint is reported as such", async () => {
    const [first, again] = [
      creating(),
      creating({ status: { gone: "ep-old", conditions: [conditionOf("EndpointLost")] } }),
    ];
    expect((await first.acting.reconcile(first.self)).events[0]?.message).toBe("Created endpoint ep-new.");
    const { events } = await again.acting.reconcile(again.self);
    expect(events[0]?.message).toContain("in place of the one that was lost");
  });
});

describe("a create that is refused", () => {
  test.each([400, 401, 403, 404, 409, 422, 423, 429, 503])(
    "a refused create (%i) costs no patch for the record, nor does the next one: it uses that again",
    async (status) => {
      const { acting, self, known } = creating();
      acting.answer = () => refusal(status);
      await acting.reconcile(self);
      expect(acting.effects).toEqual([record, metadata, post]);
      expect(known().write).toMatchObject({ phase: "unsent" });
      const before = acting.compute();
      await acting.cluster.clock.advance(3_600_000);
      await acting.reconcile(before);
      expect(acting.effects).toEqual([record, metadata, post, post]);
      expect(acting.compute().status.pendingWrite).toEqual(before.status.pendingWrite);
    },
  );

  test("a refused create that is repeated on another branch has a record of its own", async () => {
    const { acting, self, known } = creating();
    acting.answer = () => refusal(404, "branch not found");
    await acting.reconcile(self);
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-next" }]);
    await acting.reconcile(acting.compute());
    expect(acting.compute().status.pendingWrite).toMatchObject({ n: 2, branchID: "br-next" });
    expect(known().write).toMatchObject({ phase: "unsent", record: { n: 2 } });
  });

  test("a refused create says why, and is not sent again too soon", async () => {
    const { acting, self } = creating();
    acting.answer = () => refusal(400, "not on this plan");
    const outcome = await acting.reconcile(self);
    expect(outcome.condition).toMatchObject({ message: expect.stringContaining("not on this plan") });
    expect(msOf(outcome)).toBeGreaterThanOrEqual(1000);
    await expect(acting.reconcile(acting.compute())).rejects.toThrow(/"requeueAfterMs":/);
  });

  test("a create refused with 423 is called by its project; refused again, it says so", async () => {
    const { acting, self } = creating();
    acting.answer = () => refusal(423, "locked");
    const enqueued = { requeue: { kind: "enqueued" } };
    expect(await acting.reconcile(self)).toMatchObject({ ...enqueued, condition: { kind: "unchanged" } });
    await acting.cluster.clock.advance(1000);
    const again = await acting.reconcile(acting.compute());
    expect(again).toMatchObject({ ...enqueued, condition: { reason: "ProjectBusy" } });
  });
});

describe("a create of unknown outcome", () => {
  test.each<[string, () => ReturnType<Acting["answer"]>]>([
    ["no answer", () => Promise.reject(new NoResponseError("connection reset"))],
    ["a proxy's 503", () => json(503, { error: "upstream" })],
    ["500", () => refusal(500)],
    ["408", () => refusal(408)],
    ["a body cut off", () => ({ status: 201, body: undefined, json: false })],
    ["an answer without endpoint", () => json(201, {})],
    ["nothing", () => ({ status: 204, body: undefined, json: false })],
  ])("a create of unknown outcome with %s stays open from its end, and only lists settle it", async (_, answer) => {
    const { acting, self, known } = creating({ spec: { type: "read_only" } });
    await acting.cluster.clock.advance(700);
    acting.answer = answer;
    expect((await acting.reconcile(self)).condition).toMatchObject({ reason: "CreateUnknown" });
    expect(acting.effects).toEqual([record, metadata, post]);
    expect(known().write).toMatchObject({ phase: "open", openedAt: 700 });
    await expect(acting.reconcile(acting.compute())).rejects.toThrow("CreateUnknown");
    expect(acting.service.count("POST")).toBe(1);
  });

  test("a create of unknown outcome whose link cannot be written is found again by its name, and not sent again", async () => {
    const { acting, self, created } = creating();
    const pass = acting.cluster.fate;
    acting.answer = () => {
      acting.cluster.fate = () => ({ kind: "status", afterMs: 0, status: 500 });
      return created();
    };
    await expect(acting.reconcile(self)).rejects.toMatchObject({ status: 500 });
    acting.cluster.fate = pass;
    await acting.reconcile(acting.compute(), { endpoints: [madeBy(acting.compute(), { id: "ep-new" })] });
    expect(acting.annotation("endpoint-id")).toBe("ep-new");
    expect(acting.service.count("POST")).toBe(1);
  });
});

describe("an API server whose CRD is older than the operator", () => {
  /** Drops what the old definition does not have. */
  function dropping(acting: Acting, what: "pendingWrite" | "finalizers"): Patcher<Compute> {
    const { cluster } = acting.tools;
    return {
      patch: async (...args) => {
        const answer = asRecord(structuredClone(await cluster.patch(...args)));
        Reflect.deleteProperty(asRecord(what === "finalizers" ? answer.metadata : answer.status), what);
        return answer;
      },
    };
  }

  test.each(["pendingWrite", "finalizers"] as const)(
    "an older CRD that drops %s has nothing sent: one condition says what to do, and it is tried again hourly",
    async (what) => {
      const { acting, self } = creating();
      acting.tools.cluster = dropping(acting, what);
      const outcome = await acting.reconcile(self);
      expect(outcome.condition).toMatchObject({
        reason: "Rejected",
        message: expect.stringContaining("Apply the CRDs of this version"),
      });
      expect(outcome.events).toMatchObject([{ type: "Warning", reason: "Rejected" }]);
      expect(msOf(outcome)).toBe(3_600_000);
      expect(acting.service.requests).toEqual([]);
      await acting.cluster.clock.advance(3_599_999);
      await expect(acting.reconcile(self)).rejects.toThrow("Rejected");
      await acting.cluster.clock.advance(1);
      expect(acting.effects.filter((effect) => effect === record)).toHaveLength(1);
    },
  );
});

test("a record of an earlier term is counted on from, and is no longer in the way once it is settled", async () => {
  const { acting } = creating({
    metadata: { finalizers: [finalizer] },
    status: { conditions: [conditionOf("CreateUnknown")] },
  });
  const { uid } = acting.compute().metadata;
  const pendingWrite = recordOf({ uid, n: 7 });
  acting.write([{ op: "add", path: "/status/pendingWrite", value: pendingWrite }], "/status");
  await expect(acting.reconcile(acting.compute())).rejects.toThrow("CreateUnknown");
  expect(acting.service.count("POST")).toBe(0);
  const { clock } = acting.cluster;
  await clock.advance(70_000);
  await acting.reconcile(acting.compute(), { list: { startedAt: clock.monotonic() } });
  expect(acting.compute().status.pendingWrite).toMatchObject({ n: 8, by: "this-term" });
  expect(acting.service.count("POST")).toBe(1);
});
