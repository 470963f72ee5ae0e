import { describe, expect, it, test } from "vitest";
import type { KubeObject, ObjectMeta, ResourceKind } from "../../../src/operator/objects/object.ts";
import { branchKind } from "../../../src/operator/resources/branch.ts";
import { clusterServiceConnectionKind } from "../../../src/operator/resources/cluster-service-connection.ts";
import { computeKind } from "../../../src/operator/resources/compute.ts";
import { computePoolKind } from "../../../src/operator/resources/compute-pool.ts";
import { API_KEY_SECRET_TYPE, API_VERSION, finalizers, labels } from "../../../src/operator/resources/names.ts";
import { namespaceKind } from "../../../src/operator/resources/namespace.ts";
import { secretKind } from "../../../src/operator/resources/secret.ts";
import { serviceConnectionKind } from "../../../src/operator/resources/service-connection.ts";
import { recordOf } from "../../support/builders.ts";
import { HandlersStage } from "./event-handlers-stage.ts";

interface Stored extends KubeObject {
  type?: string;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** An object of namespace `team`, whose name is its uid. */
function stored(name: string, fields: Omit<Stored, "metadata"> = {}, metadata: Partial<ObjectMeta> = {}): Stored {
  const meta = { name, namespace: "team", uid: name, resourceVersion: "1", generation: 1, ...metadata };
  return { ...fields, metadata: meta };
}

type Edit = Pick<Stored, "spec" | "status"> & { metadata?: Partial<ObjectMeta> };

/** The next version of an object; `spec` raises its generation. */
function next(object: Stored, { spec, status, metadata }: Edit = {}): Stored {
  const generation = (object.metadata.generation ?? 0) + (spec === undefined ? 0 : 1);
  return {
    ...object,
    spec: { ...object.spec, ...spec },
    status: { ...object.status, ...status },
    metadata: { ...object.metadata, resourceVersion: "2", generation, ...metadata },
  };
}

const deletionTimestamp = "2026-01-02T00:00:00Z";

/** The object that waits for its finalizers. */
const going = (object: Stored) => next(object, { metadata: { deletionTimestamp } });

/** The object after its deletion. */
const gone = (object: Stored) => next(object, { metadata: { deletionTimestamp, finalizers: [] } });

const condition = (type: string) => ({
  conditions: [{ type, status: "True", reason: "X", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" }],
});
const ownedBy = (kind: string, name: string) => ({
  ownerReferences: [{ apiVersion: API_VERSION, kind, name, uid: name, controller: true }],
});
const byCluster = { connectionRef: { kind: "ClusterServiceConnection", name: "fleet" } };
const through = (name: string) => ({ connectionRef: { kind: "ServiceConnection", name } });

/** A replica through the connection `other`: it claims no branch. */
function compute(name: string, spec: object = {}, metadata: Partial<ObjectMeta> = {}, status: object = {}): Stored {
  const place = "branchRef" in spec ? {} : { branchID: "br-main" };
  const whole = { projectID: "shop", type: "read_only", ...place, ...through("other"), ...spec };
  return stored(name, { spec: whole, status: { ...status } }, { finalizers: [finalizers.endpoint], ...metadata });
}

function branch(name: string, spec: object = {}, status: object = {}, metadata: Partial<ObjectMeta> = {}): Stored {
  const whole = { projectID: "shop", expiry: { never: true }, ...through("other"), ...spec };
  return stored(name, { spec: whole, status: { ...status } }, { finalizers: [finalizers.branch], ...metadata });
}

function connection(name: string, spec: object = {}, metadata: Partial<ObjectMeta> = {}): Stored {
  const whole = { baseURL: "https://one.test/api/v2", apiKeySecretRef: { name: `${name}-key` }, ...spec };
  return stored(name, { spec: whole }, { finalizers: [finalizers.inUse], ...metadata });
}

function secret(name: string, metadata: Partial<ObjectMeta> = {}, type = API_KEY_SECRET_TYPE): Stored {
  return stored(name, { type }, metadata);
}

const primary = { type: "read_write" };
const used = connection("default");
const fleet = connection("fleet", { namespaceSelector: {}, allowedProjects: ["*"] }, { namespace: undefined });
const team = stored("team", {}, { namespace: undefined, labels: { stage: "dev" } });
const fleetKey = secret("fleet-key", { namespace: "operators" });
const ownKey = secret("default-key");
const heldKey = secret("held-key", { finalizers: [finalizers.inUse] });
const ownSecret = secret("db-secret", { labels: { [labels.compute]: "db" } }, "Opaque");
const replicas = { replicas: 1, template: { projectID: "shop", branchID: "br-main" } };
const web = stored("web", { spec: replicas }, { finalizers: ["example.com/other"] });

const db = compute("db", { ...primary, ...through("default") });
const rival = compute("rival", primary);
const fleetDB = compute("fleet-db", { ...primary, branchID: "br-2", ...byCluster });
const fleetRival = compute("fleet-rival", { ...primary, branchID: "br-2" });
const member = compute("web-0", {}, ownedBy("ComputePool", "web"));
const stranger = compute("web-7");
const naming = compute("naming", { branchRef: { name: "pr-1" } });
const early = compute("early", { branchRef: { name: "pr-9" } });
const ofBranch = compute("of-branch", {}, ownedBy("Branch", "pr-1"));
const moving = compute("moving", {}, {}, { endpointID: "ep-1", branchID: "br-pr-1" });
const coming = compute(
  "coming",
  {},
  {},
  { pendingWrite: recordOf({ uid: "coming", operation: "move", to: "br-pr-1" }) },
);
const leaving = compute("leaving", {}, { deletionTimestamp });
const ofLeaving = compute("of-leaving", { branchRef: { name: "pr-6" } });
const inEU = compute("eu-db", byCluster, { namespace: "eu" });
const outside = compute("outside", {}, { labels: { shard: "b" } });
const restored = compute("restored", { connectionSecret: { name: "db-secret" } });

const linked = branch("pr-1", {}, { branchID: "br-pr-1" });
const waiting = branch("pr-2", {}, condition("Stalled"));
const waitingElsewhere = branch("pr-3", { projectID: "another" }, condition("Stalled"));
const ofCluster = branch("pr-4", byCluster);
const leavingBranch = branch("pr-6", {}, {}, { deletionTimestamp });
const inUS = branch("us-1", byCluster, {}, { namespace: "us" });
const ofUsed = branch("pr-5", through("default"));

const listed = {
  computes: [
    db,
    rival,
    fleetDB,
    fleetRival,
    member,
    stranger,
    naming,
    early,
    ofBranch,
    moving,
    coming,
    leaving,
    ofLeaving,
    inEU,
    outside,
    restored,
  ],
  branches: [linked, waiting, waitingElsewhere, ofCluster, ofUsed, leavingBranch, inUS],
  serviceconnections: [used, connection("other")],
  clusterserviceconnections: [fleet],
  computepools: [web],
  namespaces: [team],
  secrets: [fleetKey, ownKey, heldKey, ownSecret],
};

/** Handlers of a stage and the log of their effects: the calls, and what is enqueued as `kind uid`. */
function handling(stage: HandlersStage) {
  const effects = new Set<string>();
  const log = (call: string) => (one?: KubeObject | string) => {
    effects.add(`${call}(${typeof one === "object" ? one.metadata.name : (one ?? "")})`);
  };
  const handlers = stage.handlers({
    computes: {
      gone: log("gone"),
      changed: log("changed"),
      entered: log("entered"),
      relisted: log("relisted"),
      passwordChanged: log("passwordChanged"),
    },
    branches: { relisted: log("branchesRelisted"), gone: () => {} },
    connections: {
      delivered: log("delivered"),
      // The Secret of a connection that is gone.
      secretDelivered: ({ metadata }) => metadata.name === "held-key",
      awaitsUser: ({ metadata }) => metadata.name === "default",
    },
    enqueue: (kind, uids) => [...uids].forEach((uid) => effects.add(`${kind} ${uid}`)),
  });
  return { handlers, effects };
}

/** The effects of one change that the informers report to a leader; an object of version 1 is a new one. */
async function effectsOf(kind: ResourceKind, object: Stored): Promise<string[]> {
  await using stage = await HandlersStage.with(listed);
  const { handlers, effects } = handling(stage);
  await handlers.everything(stage.signal);
  effects.clear();
  stage.informers.subscribe(handlers);
  const created = object.metadata.resourceVersion === "1";
  stage.informers.answered(kind, next(object), { created });
  return [...effects].toSorted();
}

type Row = readonly [what: string, object: Stored, effects: readonly string[]];

/** One test for each row; its name begins with the kind. */
function wakeUps(kind: ResourceKind, rows: readonly Row[]): void {
  describe(`a change of a ${kind.kind}`, () => {
    it.each(rows)(`${kind.kind}: %s`, async (_, object, effects) => {
      expect(await effectsOf(kind, object)).toEqual([...effects].toSorted());
    });
  });
}

wakeUps(computeKind, [
  [
    "a new one wakes those with its claims and the connection that awaits a user",
    compute("new", { ...primary, ...through("default") }),
    ["changed(new)", "compute new", "compute db", "compute rival", "connection default"],
  ],
  ["a new one wakes no connection that has users", compute("new"), ["changed(new)", "compute new"]],
  [
    "a new one wakes the Branch that it names",
    compute("new", { branchRef: { name: "pr-1" } }),
    ["changed(new)", "compute new", "branch pr-1"],
  ],
  [
    "a new one wakes the pool whose member it would be",
    compute("web-1"),
    ["changed(web-1)", "compute web-1", "pool web"],
  ],
  ["a changed status wakes itself alone", next(db, { status: { state: "Idle" } }), ["changed(db)", "compute db"]],
  [
    "one that enters the selector is left to the previous process for a while",
    next(outside, { metadata: { labels: { shard: "a" } } }),
    ["changed(outside)", "entered(outside)", "compute outside"],
  ],
  [
    "a changed status of a member wakes its pool",
    next(member, { status: { state: "Idle" } }),
    ["changed(web-0)", "compute web-0", "pool web"],
  ],
  [
    "a changed status of a stranger with a member's name wakes no pool",
    next(stranger, { status: { state: "Idle" } }),
    ["changed(web-7)", "compute web-7"],
  ],
  [
    "a changed spec wakes the Branch that it names",
    next(naming, { spec: { disabled: true } }),
    ["changed(naming)", "compute naming", "branch pr-1"],
  ],
  [
    "a changed spec wakes the Branch that owns it",
    next(ofBranch, { spec: { disabled: true } }),
    ["changed(of-branch)", "compute of-branch", "branch pr-1"],
  ],
  [
    "another branchRef wakes the Branch named before",
    next(naming, { spec: { branchRef: { name: "pr-2" } } }),
    ["changed(naming)", "compute naming", "branch pr-1", "branch pr-2"],
  ],
  [
    "an endpoint that leaves a branch wakes the Branch that its move held back",
    next(moving, { status: { branchID: "br-main" } }),
    ["changed(moving)", "compute moving", "branch pr-1"],
  ],
  [
    "an open move that ends wakes the Branch that it led to",
    next(coming, { status: { pendingWrite: undefined } }),
    ["changed(coming)", "compute coming", "branch pr-1"],
  ],
  [
    "another connectionRef wakes both connections",
    next(stranger, { spec: through("default") }),
    ["changed(web-7)", "compute web-7", "connection default", "connection other"],
  ],
  [
    "a deletion that begins wakes its connection",
    going(stranger),
    ["changed(web-7)", "compute web-7", "connection other"],
  ],
  [
    "a deleted one wakes those with its claims and its connection",
    gone(db),
    ["gone(db)", "compute db", "compute rival", "connection default"],
  ],
  [
    "the end of a deletion wakes its connection",
    gone(leaving),
    ["gone(leaving)", "compute leaving", "connection other"],
  ],
  [
    "a deleted one wakes the Branch that it named",
    gone(naming),
    ["gone(naming)", "compute naming", "connection other", "branch pr-1"],
  ],
  [
    "a deleted stranger wakes the pool that wants its name",
    gone(stranger),
    ["gone(web-7)", "compute web-7", "connection other", "pool web"],
  ],
]);

wakeUps(branchKind, [
  [
    "a new one wakes the Computes that name it, the Branches that wait and the connection that awaits a user",
    branch("pr-9", through("default")),
    ["branch pr-9", "branch pr-2", "compute early", "connection default"],
  ],
  ["a new one wakes no connection that has users", branch("pr-9"), ["branch pr-9", "branch pr-2", "compute early"]],
  ["a changed size wakes itself alone", next(linked, { status: { logicalSize: 1 } }), ["branch pr-1"]],
  [
    "one that becomes ready wakes the Computes that name it",
    next(linked, { status: condition("Ready") }),
    ["branch pr-1", "compute naming"],
  ],
  [
    "one with another branch wakes the Computes that name it",
    next(linked, { status: { branchID: "br-other" } }),
    ["branch pr-1", "compute naming"],
  ],
  [
    "one whose branch is gone wakes the Computes that name it",
    next(linked, { status: { gone: { branchID: "br-pr-1", how: "Expired", expiry: "never" } } }),
    ["branch pr-1", "compute naming"],
  ],
  [
    "a changed spec wakes the Branches of its project that wait",
    next(linked, { spec: { expiry: { after: "2h" } } }),
    ["branch pr-1", "branch pr-2"],
  ],
  [
    "another connectionRef wakes both connections and the Computes that name it",
    next(linked, { spec: through("default") }),
    ["branch pr-1", "branch pr-2", "compute naming", "connection default", "connection other"],
  ],
  [
    "a deletion that begins wakes its connection and the Computes that name it",
    going(linked),
    ["branch pr-1", "compute naming", "connection other"],
  ],
  [
    "a deleted one wakes the Branches that wait, its connection and the Computes that name it",
    gone(linked),
    ["branch pr-1", "branch pr-2", "compute naming", "connection other"],
  ],
  [
    "the end of a deletion wakes its connection and the Computes that name it",
    gone(leavingBranch),
    ["branch pr-6", "branch pr-2", "compute of-leaving", "connection other"],
  ],
]);

const delivered = ["delivered(default)", "connection default"];

wakeUps(serviceConnectionKind, [
  ["a changed status wakes itself alone", next(used, { status: condition("Ready") }), delivered],
  [
    "a changed spec wakes its users",
    next(used, { spec: { allowedProjects: ["shop"] } }),
    [...delivered, "compute db", "branch pr-5"],
  ],
  ["a deletion that begins wakes its users", going(used), [...delivered, "compute db", "branch pr-5"]],
  [
    "a lost finalizer wakes its users",
    next(used, { metadata: { finalizers: [] } }),
    [...delivered, "compute db", "branch pr-5"],
  ],
  [
    "another base URL also wakes those with the claims of its users",
    next(used, { spec: { baseURL: "https://two.test/api/v2" } }),
    [...delivered, "compute db", "compute rival", "branch pr-5"],
  ],
  [
    "a deleted one wakes its users and those with their claims",
    gone(used),
    [...delivered, "compute db", "compute rival", "branch pr-5"],
  ],
]);

wakeUps(clusterServiceConnectionKind, [
  [
    "another selector wakes its users and those with their claims",
    next(fleet, { spec: { namespaceSelector: { matchLabels: { stage: "prod" } } } }),
    [
      "delivered(fleet)",
      "connection fleet",
      "compute fleet-db",
      "compute fleet-rival",
      "compute eu-db",
      "branch pr-4",
      "branch us-1",
    ],
  ],
]);

wakeUps(computePoolKind, [
  ["a changed status wakes itself alone", next(web, { status: { replicas: 1 } }), ["pool web"]],
  ["a changed spec wakes its members", next(web, { spec: { replicas: 2 } }), ["pool web", "compute web-0"]],
  ["a deletion that begins wakes its members", going(web), ["pool web", "compute web-0"]],
  ["a deleted one wakes its members", gone(web), ["pool web", "compute web-0"]],
]);

const ofTeam = ["branch pr-4", "compute fleet-db", "compute fleet-rival", "connection fleet"];

wakeUps(namespaceKind, [
  [
    "other labels wake the users of ClusterServiceConnections, those with their claims and the connections",
    next(team, { metadata: { labels: { stage: "prod" } } }),
    ofTeam,
  ],
  ["another version with the same labels wakes nothing", next(team), []],
  [
    "a new one wakes the users of ClusterServiceConnections in it",
    stored("eu", {}, { namespace: undefined }),
    ["compute eu-db", "connection fleet"],
  ],
  [
    "a new one wakes the connections of its Branches",
    stored("us", {}, { namespace: undefined }),
    ["branch us-1", "connection fleet"],
  ],
]);

wakeUps(secretKind, [
  ["a changed key of a cluster connection wakes that", next(fleetKey), ["connection fleet"]],
  ["a new key that no cluster connection names wakes nothing", secret("spare-key", { namespace: "operators" }), []],
  ["a new key wakes the connections of its namespace", secret("new-key"), ["connection default", "connection other"]],
  [
    "a changed key that a deleted connection left wakes the work on itself too",
    next(heldKey),
    ["connection default", "connection other", "connection held-key"],
  ],
  ["a changed connection Secret wakes its Compute", next(ownSecret), ["compute db"]],
  [
    "a deleted connection Secret wakes the Computes that want its name too",
    gone(ownSecret),
    ["compute db", "compute restored"],
  ],
]);

const all = (kind: string, objects: readonly Stored[]) => objects.map(({ metadata }) => `${kind} ${metadata.name}`);

test("a new leader enqueues every object, and the Secrets that deleted connections left", async () => {
  await using stage = await HandlersStage.with(listed);
  const { handlers, effects } = handling(stage);
  await handlers.everything(stage.signal);
  expect([...effects].toSorted()).toEqual(
    [
      ...all("compute", listed.computes),
      ...all("branch", listed.branches),
      ...all("pool", listed.computepools),
      ...all("connection", [...listed.serviceconnections, fleet, heldKey]),
    ].toSorted(),
  );
});

test("a complete list enqueues all Computes, or all Branches, after it was reported to their reconciler", async () => {
  await using stage = await HandlersStage.with(listed);
  const { handlers, effects } = handling(stage);
  handlers.computesRelisted();
  const [first, ...computes] = effects;
  expect([first, ...computes.toSorted()]).toEqual(["relisted()", ...all("compute", listed.computes).toSorted()]);
  effects.clear();
  handlers.branchesRelisted();
  expect([...effects]).toEqual(["branchesRelisted()", ...all("branch", listed.branches)]);
});
