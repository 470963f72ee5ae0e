import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { branchesOf, projects, type ServiceHost } from "./service-host.ts";
import type { Workload } from "./workload.ts";

/** What users have declared and asked for. */
type Declared = Pick<Workload, "retainedBranches" | "resetsAsked"> & { branches: () => readonly KubeObject[] };

const uidKey = "compute-operator.dev/uid";

/** A branch that the seed of the service did not make, and the uid in its note. */
interface MadeBranch {
  id: string;
  name: string;
  uid: string | undefined;
  expiresAt: number | undefined;
}

/** What is not as it should be: each Branch has its one branch, no other stands, and those of the seed all do. */
export function branchComplaints({ branches, retainedBranches, resetsAsked }: Declared, host: ServiceHost): string[] {
  const objects = branches();
  const made = projects.flatMap((project) => madeIn(project, host));
  const seeded = projects.flatMap((project) => branchesOf(project).map((id) => ({ project, id })));
  const uids = new Set([...objects.map(({ metadata }) => metadata.uid), ...retainedBranches]);
  const left = made.filter(({ uid }) => uid !== undefined && !uids.has(uid));
  const asked = [...resetsAsked.values()].reduce((sum, count) => sum + count, 0);
  const done = [...host.resets.values()].reduce((sum, count) => sum + count, 0);
  return [
    ...objects.flatMap((object) => judged(object, made)),
    // Users make branches of the seed again under new ids, in scripts without Branches.
    ...(objects.length + uids.size === 0 ? [] : seeded)
      .filter(({ project, id }) => !host.hasBranch(project, id))
      .map(({ id }) => `branch ${id} of the seed is gone`),
    ...left.map(({ id, name }) => `branch ${id} (${name}) is left behind`),
    ...(done > asked ? [`${done} resets were carried out, and ${asked} asked for`] : []),
  ];
}

function judged(object: KubeObject, made: readonly MadeBranch[]): string[] {
  const { name, uid, generation, deletionTimestamp } = object.metadata;
  const status = isJsonObject(object["status"]) ? object["status"] : {};
  const ready = conditionOf(status, "Ready");
  const said = `${String(ready?.reason)}: ${String(ready?.message)}`;
  if (deletionTimestamp !== undefined) return [`Branch ${name} is still being deleted (${said})`];
  if (ready?.status !== "True") return [`Branch ${name} is not ready (${said})`];
  const [own, ...more] = made.filter((branch) => branch.uid === uid);
  if (own === undefined || more.length > 0) return [`Branch ${name} has not one branch of its own (${said})`];
  const { id, expiresAt } = own;
  if (status["branchID"] !== id) return [`Branch ${name} is linked to ${String(status["branchID"])}, not ${id}`];
  if (status["observedGeneration"] !== generation) return [`Branch ${name} is ready for an older generation`];
  if (status["pendingWrite"] !== undefined) return [`Branch ${name} is ready and still carries a record`];
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  const isEndless = isJsonObject(spec["expiry"]) && spec["expiry"]["never"] === true;
  if (isEndless !== (expiresAt === undefined)) return [`Branch ${name} has the wrong end (${said})`];
  return [];
}

function madeIn(project: string, host: ServiceHost): MadeBranch[] {
  const seeded = new Set(branchesOf(project));
  return host
    .branches(project)
    .filter(({ id }) => !seeded.has(id))
    .map(({ id, name, details, expiresAt }) => {
      const { [uidKey]: uid } = isJsonObject(details.annotations) ? details.annotations : {};
      return { id, name, expiresAt, uid: typeof uid === "string" ? uid : undefined };
    });
}
