import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject, KubeObject } from "../simulation/api-server/objects.ts";
import type { Dice } from "../simulation/dice.ts";
import { annotationOf, isDeleting, linkedID, specOf as specIn, statusOf } from "../simulation/world/computes.ts";
import { type Fleet, type Member, specOf } from "./fleet.ts";
import type { Intruder } from "./intruder.ts";
import { type PatientCluster, pathOf } from "./patient-cluster.ts";
import type { WorkloadHistory } from "./workload-history.ts";

const restartAnnotation = "compute-operator.dev/restartedAt";
const apiVersion = "compute-operator.dev/v1alpha1";

export interface PersonOptions {
  cluster: PatientCluster;
  fleet: Fleet;
  /** The Computes that only this user manages. */
  members: readonly Member[];
  /** Whether this person scales the pool. */
  scales: boolean;
  workloadHistory: WorkloadHistory;
  intruder: Intruder;
  dice: Dice;
  /** The longest pause between two deeds, in milliseconds. */
  pauseMs: number;
}

type Deed = "edit" | "restart" | "move" | "delete" | "retain" | "replace" | "pause" | "drift" | "strike";
const pausedPath = "/metadata/annotations/compute-operator.dev~1paused";

/** A user who applies, edits, restarts, moves, deletes and creates again, one thing at a time and without a pause. */
export class Person {
  readonly #options: PersonOptions;
  #restarts = 0;

  constructor(options: PersonOptions) {
    this.#options = options;
  }

  /** Declares what is not among these Computes, and lets go on what is paused. */
  async declareMissing(computes: readonly KubeObject[]): Promise<void> {
    const { members, fleet, scales } = this.#options;
    const standing = new Map(computes.map((compute) => [compute.metadata.name, compute]));
    for (const member of members) {
      const compute = standing.get(member.name);
      if (compute === undefined) await this.#create(member);
      else if (isPaused(compute)) await this.#patch(member, compute, [{ op: "remove", path: pausedPath }]);
    }
    const last = `${fleet.pool.name}-${fleet.pool.most - 1}`;
    if (scales && !standing.has(last)) await this.#scale(fleet.pool.most);
  }

  /** Goes on until the signal aborts. */
  async churn(signal: AbortSignal): Promise<void> {
    const { dice, pauseMs, members, fleet, scales, workloadHistory } = this.#options;
    while (!signal.aborted) {
      await sleep(dice.between(0, pauseMs), undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      if (scales && dice.chance(0.1)) {
        workloadHistory.note("scale", fleet.pool.name);
        await this.#scale(dice.between(0, fleet.pool.most + 1));
      } else await this.#disturb(dice.pick(members));
    }
  }

  async #disturb(member: Member): Promise<unknown> {
    const { workloadHistory, intruder } = this.#options;
    const compute = await this.#options.cluster.get(this.#path(member));
    if (compute === undefined) return this.#create(member);
    if (isDeleting(compute)) return undefined;
    if (isPaused(compute)) return this.#patch(member, compute, [{ op: "remove", path: pausedPath }]);
    const deed = this.#options.dice.weighted<Deed>([
      [6, () => "edit"],
      [4, () => "restart"],
      [3, () => "move"],
      [3, () => "delete"],
      [member.type === "read_only" ? 1 : 0, () => "retain"],
      [1, () => "replace"],
      [1, () => "pause"],
      [1, () => "drift"],
      [member.type === "read_only" ? 0.5 : 0, () => "strike"],
    ]);
    switch (deed) {
      case "edit":
        workloadHistory.note(deed, member.name);
        return this.#patch(member, compute, [this.#edit(member, compute)]);
      case "restart":
        return this.#restart(member, compute);
      case "move":
        workloadHistory.note(deed, member.name);
        return this.#patch(member, compute, [
          { op: "replace", path: "/spec/branchID", value: this.#otherBranch(member, compute) },
        ]);
      case "delete":
        return this.#delete(member, compute, false);
      case "retain":
        return this.#delete(member, compute, true);
      case "replace":
        return this.#replace(member, compute);
      case "pause":
        if (compute.metadata.annotations === undefined) return undefined;
        workloadHistory.note(deed, member.name);
        return this.#patch(member, compute, [{ op: "add", path: pausedPath, value: "true" }]);
      case "drift":
        return linkedID(compute) === undefined ? undefined : intruder.drift(compute);
      case "strike":
        // Before the status records the key that created it, only a person can say that an endpoint is lost.
        return statusOf(compute)["observedThrough"] === undefined ? undefined : intruder.strike(compute);
    }
  }

  /** Nothing where it stands already, or where the one before is still being deleted. */
  async #create(member: Member): Promise<void> {
    const { cluster, fleet, workloadHistory, dice } = this.#options;
    const spec = specOf(member, dice.pick(member.branches), dice);
    const body = { apiVersion, kind: "Compute", metadata: { name: member.name }, spec };
    const made = await cluster.request({ method: "POST", path: pathOf(fleet.namespace, "computes"), body });
    if (made.status !== 201 && made.status !== 409) {
      throw new Error(`the create of ${member.name} is answered ${made.status}: ${JSON.stringify(made.body)}`);
    }
    if (made.status === 201) workloadHistory.note("create", member.name);
    // Answered 409 it stood already, or was made by a request whose answer was lost.
    const compute = await cluster.get(this.#path(member));
    if (compute !== undefined) workloadHistory.made.set(compute.metadata.uid, member.name);
  }

  async #restart(member: Member, compute: KubeObject): Promise<void> {
    // Until the operator has first seen it, the value counts as carried out.
    const seen = Number(statusOf(compute)["observedGeneration"] ?? -1) >= 0;
    if (!seen || compute.metadata.annotations === undefined) return;
    const value = `${member.name}-${++this.#restarts}`;
    const { workloadHistory } = this.#options;
    const { uid, name } = compute.metadata;
    const at = Date.now();
    const path = `/metadata/annotations/${restartAnnotation.replace("/", "~1")}`;
    if (!(await this.#patch(member, compute, [{ op: "add", path, value }]))) return;
    workloadHistory.note("restart", name);
    workloadHistory.restarts.push({ at, uid, name, value });
  }

  /** As `kubectl replace -f` of a manifest that knows nothing of finalizer and annotations but the person's own. */
  async #replace(member: Member, { metadata, spec }: KubeObject): Promise<void> {
    const { cluster, workloadHistory } = this.#options;
    const { name, uid, resourceVersion, annotations = {} } = metadata;
    const own = Object.entries(annotations).filter(([key]) => key === restartAnnotation);
    workloadHistory.note("replace", name);
    workloadHistory.replaced.add(uid);
    const body = {
      apiVersion,
      kind: "Compute",
      metadata: { name, resourceVersion, annotations: Object.fromEntries(own) },
      spec,
    };
    await cluster.request({ method: "PUT", path: this.#path(member), body });
  }

  /** Another spec on the same branch. */
  #edit(member: Member, compute: KubeObject): JsonObject {
    const spec = specOf(member, String(specIn(compute)["branchID"]), this.#options.dice);
    return { op: "replace", path: "/spec", value: spec };
  }

  /**
   * Nothing if a replace removed the finalizer: what leaks then is the user's doing, so users wait. Nor where it gets
   * one meanwhile: the API server may overlook that, whatever an operator does.
   */
  async #delete(member: Member, compute: KubeObject, retain: boolean): Promise<void> {
    const { cluster, workloadHistory } = this.#options;
    const { uid, name, resourceVersion, finalizers = [] } = compute.metadata;
    if (workloadHistory.replaced.has(uid) && finalizers.length === 0) return;
    workloadHistory.note(retain ? "retain" : "delete", name);
    workloadHistory.deletions.push({ at: Date.now(), uid, name, retain });
    const policy = { op: "replace", path: "/spec/deletionPolicy", value: "Retain" };
    if (retain) await this.#patch(member, compute, [policy]);
    const preconditions = finalizers.length === 0 ? { uid, resourceVersion } : { uid };
    await cluster.request({ method: "DELETE", path: this.#path(member), body: { preconditions } });
  }

  async #scale(replicas: number): Promise<void> {
    const { cluster, fleet } = this.#options;
    const { name, project, branch } = fleet.pool;
    const changed = await cluster.patch(pathOf(fleet.namespace, "computepools", name), [
      { op: "replace", path: "/spec/replicas", value: replicas },
    ]);
    if (changed) return;
    const template = { projectID: project, branchID: branch, scaleToZero: { enabled: false } };
    const body = { apiVersion, kind: "ComputePool", metadata: { name }, spec: { replicas, template } };
    await cluster.request({ method: "POST", path: pathOf(fleet.namespace, "computepools"), body });
  }

  /** A change of this very object; false if nothing was changed, or if the object was created again under its name. */
  #patch(member: Member, { metadata }: KubeObject, changes: readonly JsonObject[]): Promise<boolean> {
    const guard = { op: "test", path: "/metadata/uid", value: metadata.uid };
    return this.#options.cluster.patch(this.#path(member), [guard, ...changes]);
  }

  #otherBranch({ branches }: Member, compute: KubeObject): string {
    const now = specIn(compute)["branchID"];
    return this.#options.dice.pick(branches.filter((branch) => branch !== now));
  }

  #path({ name }: Member): string {
    return pathOf(this.#options.fleet.namespace, "computes", name);
  }
}

function isPaused(compute: KubeObject): boolean {
  return annotationOf(compute, "paused") === "true";
}
