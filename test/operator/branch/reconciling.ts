import { z } from "zod";
import type { ListedBranch } from "../../../src/api/branch.ts";
import { BranchReconciler, type BranchReconcilerOptions } from "../../../src/operator/branch/reconciler.ts";
import { branchParts } from "../../../src/operator/branch/steps.ts";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import type { ServiceRequest, ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import { Reaching } from "../compute/reaching.ts";
import { type StoredFields, storedBranches } from "../stored-objects.ts";
import { main } from "./builders.ts";

const project = "/projects/shiny-wind-028834/branches";

/** Branches on an API server in memory, their reconciler, and a service that has branches. */
export async function setUp(options: Partial<BranchReconcilerOptions> = {}) {
  const reach = new Reaching();
  const { clock, cluster } = reach;
  const branches = new Map<string, ListedBranch>([[main.id, main]]);
  const writes: string[] = [];
  const events: string[] = [];
  const delays: (number | undefined)[] = [];
  const state: { refuses?: number | undefined; compute?: Compute; usedBy: string[]; operations: object[] } = {
    usedBy: [],
    operations: [],
  };

  const written = ({ method, body }: ServiceRequest, rest: string): ServiceResponse => {
    writes.push(`${method} ${rest}`);
    if (state.refuses !== undefined) return refusal(state.refuses);
    const [id = ""] = rest.split("/");
    if (method === "DELETE") {
      branches.delete(id);
      return json(204, undefined);
    }
    const { branch: asked = {} } = z.looseObject({ branch: z.looseObject({}).optional() }).parse(body);
    const made: ListedBranch = {
      ...(branches.get(id) ?? { ...main, id: `br-${branches.size}`, default: false, parent_id: main.id }),
      ...asked,
    };
    branches.set(made.id, made);
    return json(200, { branch: made, operations: state.operations });
  };
  reach.answer = (request) => {
    if (request.path === "/projects/shiny-wind-028834/operations") return json(200, { operations: state.operations });
    if (!request.path.startsWith(project)) return undefined;
    const rest = request.path.slice(project.length + 1);
    if (request.method !== "GET") return written(request, rest);
    if (rest === "") return json(200, { branches: [...branches.values()] });
    const branch = branches.get(rest);
    return branch === undefined ? refusal(404, "branch not found") : json(200, { branch });
  };

  const objects = storedBranches(cluster);
  const all = () => objects.all();
  const object = (name?: string) => objects.object(name);
  const write = (body: unknown, subresource = "", name = "shop") => objects.write(body, subresource, name);
  const stored = (fields: StoredFields = {}) => objects.create(fields);
  /** A Branch with its branch, as one that was made long ago. */
  const standing = (fields: StoredFields = {}, branch: Partial<ListedBranch> = {}) => {
    const made = stored({ ...fields, metadata: { finalizers: [finalizers.branch], ...fields.metadata } });
    const { uid } = made.metadata;
    branches.set("br-one", {
      ...main,
      id: "br-one",
      name: "default/shop",
      default: false,
      protected: false,
      parent_id: main.id,
      ...branch,
    });
    const status = {
      observedGeneration: 1,
      appliedGeneration: 1,
      branchID: "br-one",
      proof: { uid, branchID: "br-one", by: "created" },
      appliedExpiry: "never",
      createdAt: "2025-01-01T00:00:00Z",
      ...fields.status,
    };
    write([{ op: "add", path: "/status", value: status }], "/status");
    return object();
  };
  const brake = new DeletionBrake(clock, 60);
  const reconciler = new BranchReconciler({
    parts: branchParts,
    cluster: cluster.client(),
    clock,
    connections: reach.registry,
    event: ({ metadata }, { type, reason, message }) => events.push(`${metadata.name} ${type} ${reason}: ${message}`),
    computeEvent: (compute, { type, reason, message }) =>
      events.push(`${compute.kind} ${compute.metadata.name} ${type} ${reason}: ${message}`),
    brake,
    changeBlockedWorkers: () => {},
    uninstalling: () => Promise.resolve(false),
    createSettleMs: 60_000,
    fleet: undefined,
    signal: new AbortController().signal,
    cache: {
      branchByUID: (uid) => all().find(({ metadata }) => metadata.uid === uid),
      near: () => all(),
      usersOf: () => state.usedBy,
      compute: () => state.compute,
    },
    storedSpecs: { isKept: () => true, answered: () => {} },
    selects: () => true,
    onStop: () => {},
    ...options,
  });
  reach.reconcile = async (uid) => {
    const result = await reconciler.reconcile(uid);
    delays.push(result.requeueAfterMs);
    return result;
  };
  await reach.join();
  const run = async (ms: number, one = object()) => {
    reach.enqueue(one.metadata.uid);
    await clock.advance(ms);
  };
  const drop = () => objects.drop();
  const isGone = () => objects.isGone();
  const reason = (name?: string) => object(name).status.conditions?.find(({ type }) => type === "Ready")?.reason;
  return {
    reach,
    clock,
    cluster,
    branches,
    writes,
    events,
    delays,
    state,
    reconciler,
    stored,
    standing,
    object,
    write,
    run,
    drop,
    isGone,
    reason,
  };
}
