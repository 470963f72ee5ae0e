// An operator as tutorials write it, to compare with: a watch, a queue, and one GET per object and reconcile.
// It works, and takes no short cut that is not in every tutorial: no marks, no claims, no shared lists, no budget.
// node test/bench/baseline/operator.ts --kubeconfig FILE --base-url URL --key KEY
import { parseArgs } from "node:util";
import { Cluster, type Compute } from "./compute-api.ts";
import { Queue } from "./queue.ts";
import { Service } from "./service.ts";

const finalizer = "baseline.example.com/endpoint";
/** How often an endpoint is read while the service works on it, and later, in milliseconds. */
const requeueAfter = { pending: 500, settled: 30_000 };
const workers = 10;

const { values } = parseArgs({
  options: { kubeconfig: { type: "string" }, "base-url": { type: "string" }, key: { type: "string" } },
});
const { kubeconfig = "", "base-url": baseURL = "", key = "" } = values;
const cluster = await Cluster.connect(kubeconfig);
const service = new Service(baseURL, key);
const computes = new Map<string, Compute>();
const queue = new Queue(workers, reconcile);
process.once("SIGTERM", () => process.exit(0));
await cluster.follow((type, compute) => {
  const { uid } = compute.metadata;
  if (type === "DELETED") computes.delete(uid);
  else {
    computes.set(uid, compute);
    queue.add(uid);
  }
});

/** Makes the service match one Compute; answers the milliseconds until the next reconcile. */
async function reconcile(uid: string): Promise<number | undefined> {
  const compute = computes.get(uid);
  if (compute === undefined) return undefined;
  const { metadata, spec, status = {} } = compute;
  const { projectID } = spec;
  const finalizers = metadata.finalizers ?? [];
  if (metadata.deletionTimestamp !== undefined) {
    if (!finalizers.includes(finalizer)) return undefined;
    if (status.endpointID !== undefined) await service.delete(projectID, status.endpointID);
    await cluster.patch(compute, { metadata: { finalizers: finalizers.filter((one) => one !== finalizer) } });
    return undefined;
  }
  if (!finalizers.includes(finalizer)) {
    await cluster.patch(compute, { metadata: { finalizers: [...finalizers, finalizer] } });
    // The change of the watch brings it back.
    return undefined;
  }
  const wanted = {
    autoscaling_limit_min_cu: spec.computeUnits?.min,
    autoscaling_limit_max_cu: spec.computeUnits?.max,
  };
  if (status.endpointID === undefined) {
    const suspend_timeout_seconds = spec.scaleToZero?.enabled === false ? -1 : undefined;
    const fields = {
      branch_id: spec.branchID,
      type: spec.type,
      name: `k8s-${uid}`,
      suspend_timeout_seconds,
      ...wanted,
    };
    const { id } = await service.create(projectID, fields);
    await report(compute, { endpointID: id }, false, "Creating");
    return requeueAfter.pending;
  }
  const seen = await service.get(projectID, status.endpointID);
  const differs =
    seen.autoscaling_limit_min_cu !== (wanted.autoscaling_limit_min_cu ?? seen.autoscaling_limit_min_cu) ||
    seen.autoscaling_limit_max_cu !== (wanted.autoscaling_limit_max_cu ?? seen.autoscaling_limit_max_cu);
  const endpoint = differs ? await service.patch(projectID, status.endpointID, wanted) : seen;
  const ready = endpoint.pending_state === undefined && endpoint.current_state !== "init";
  await report(compute, { state: endpoint.current_state }, ready, ready ? "Active" : "Updating");
  return ready ? requeueAfter.settled : requeueAfter.pending;
}

/** Writes the status where it says something new. */
async function report(compute: Compute, fields: object, ready: boolean, reason: string): Promise<void> {
  const { metadata, status = {} } = compute;
  const before = status.conditions?.[0];
  const said = { type: "Ready", status: ready ? "True" : "False", reason };
  const same = before?.status === said.status && before.reason === reason;
  if (same && status.observedGeneration === metadata.generation && !("endpointID" in fields)) return;
  const lastTransitionTime = before?.status === said.status ? before.lastTransitionTime : new Date().toISOString();
  const condition = { ...said, message: reason, lastTransitionTime, observedGeneration: metadata.generation };
  const merged = { ...status, ...fields, observedGeneration: metadata.generation, conditions: [condition] };
  await cluster.patch(compute, { status: merged });
}
