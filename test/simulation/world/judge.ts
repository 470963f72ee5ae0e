import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { fieldFacts, valueAt } from "../../support/compute-fields.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import { isNameless } from "./branch-names.ts";
import {
  adopts,
  conditionOf,
  isDeleting,
  isOurs,
  linkedID,
  recordOf,
  shownCondition,
  specOf,
  statusOf,
  uidInSignature,
} from "./computes.ts";

/** What a judgement is made from, once faults have stopped. */
export interface Scene {
  computes: readonly KubeObject[];
  endpoints: readonly StoredEndpoint[];
  hasBranch: (project: string, id: string) => boolean;
  /** Whether the Branch of this name is there, ready and to stay. */
  isBranchUsable: (name: unknown) => boolean;
  pools: readonly { uid: string; name: string; replicas: unknown; status: unknown }[];
  /** Uids of Computes whose endpoints may stand without them: retained, or let go by a person. */
  mayLeave: ReadonlySet<string>;
  /** Whether the service shows names: where it does not, those given here are known to the judge alone. */
  namesShown: boolean;
  /** Uids of Computes from which a user removed the mark: without names, only that showed what they had created. */
  forgotten: ReadonlySet<string>;
  /**
   * Whether nothing shows that the spec of a Compute was edited since its endpoint came to its branch: its status was
   * wiped, its link was copied, or a request that no operator can guard against brought the endpoint there.
   */
  isPlaceForgotten: (uid: string, endpoint: StoredEndpoint) => boolean;
  /** Whether operators run with `--fleet`. */
  inFleet: boolean;
  /** Whether another signature was written over that of a Compute, or in its place. */
  isSignedOver: (uid: string) => boolean;
  /** What a Compute is to take over, beyond doubt. */
  toTakeOver: (compute: KubeObject) => StoredEndpoint | undefined;
  /** The uid of the Compute that an endpoint was disabled for by an operator, as the judge knows. */
  disabledFor: (endpointID: string) => string | undefined;
}

/** What is not as it should be: every Compute ready, or saying truly why not, and no endpoint left behind. */
export function complaints(scene: Scene): string[] {
  return [
    ...scene.computes.flatMap((compute) => judge(compute, scene)),
    ...leftBehind(scene),
    ...sharedEndpoints(scene),
    ...sizesOfPools(scene),
  ];
}

function judge(compute: KubeObject, scene: Scene): string[] {
  const { name, generation } = compute.metadata;
  const ready = conditionOf(compute, "Ready");
  const shown = shownCondition(compute);
  const said = `${String(shown?.reason)}: ${String(shown?.message)}`;
  if (isDeleting(compute)) {
    return explained(String(shown?.reason), compute, scene) ? [] : [`${name} is still being deleted (${said})`];
  }
  if (ready?.status !== "True") {
    return explained(String(shown?.reason), compute, scene) ? [] : [`${name} is not ready and should be (${said})`];
  }
  const endpoint = scene.endpoints.find(({ id }) => id === statusOf(compute)["endpointID"]);
  if (endpoint === undefined) return [`${name} is ready without an endpoint (${said})`];
  if (statusOf(compute)["observedGeneration"] !== generation) return [`${name} is ready for an older generation`];
  if (statusOf(compute)["pendingWrite"] !== undefined) return [`${name} is ready and still carries a record`];
  if (statusOf(compute)["disabledByUs"] === true && !endpoint.disabled && specOf(compute)["disabled"] !== true)
    return [`${name} is ready and enabled, and still notes that its operator disabled it (${said})`];
  const isDrifted = ready.reason === "Drifted";
  if (isDrifted && specOf(compute)["driftPolicy"] !== "Report") return [`${name} corrects and says Drifted (${said})`];
  // What an operator disabled it enables again, once the spec leaves that out.
  const leftOff = specOf(compute)["disabled"] === undefined && endpoint.disabled;
  if (leftOff && !isDrifted && scene.disabledFor(endpoint.id) === compute.metadata.uid)
    return [`${name} is ready and stays disabled by its operator (${said})`];
  if (isNameless(compute)) return [`${name} is ready, and no branch has the name that it gives (${said})`];
  const differing = isDrifted ? [] : differences(compute, endpoint, scene.namesShown);
  return differing.map((field) => `${name} is ready and differs in ${field} (${said})`);
}

/** Whether the reason that a Compute gives for not being ready is true. */
function explained(reason: string, compute: KubeObject, scene: Scene): boolean {
  const { computes, endpoints, forgotten, toTakeOver, inFleet, isSignedOver, isPlaceForgotten } = scene;
  const { projectID, branchID, type, driftPolicy } = specOf(compute);
  const { uid } = compute.metadata;
  const others = computes.filter(({ metadata }) => metadata.uid !== uid);
  const primary = endpoints.find((endpoint) => endpoint.branchId === branchID && endpoint.type === "read_write");
  const named = namedBy(compute);
  const target = endpoints.find(({ id }) => id === named);
  const linked = linkedID(compute);
  const isSignedForOther = (endpoint: StoredEndpoint | undefined) => {
    const signed = uidInSignature(endpoint?.name);
    const isOthers = others.some(({ metadata }) => metadata.uid === signed);
    return signed !== undefined && signed !== uid && (isOthers || inFleet);
  };
  switch (reason) {
    case "PrimaryExists":
      return (
        type === "read_write" &&
        primary !== undefined &&
        (uidInSignature(primary.name) !== uid || forgotten.has(uid)) &&
        toTakeOver(compute)?.id !== primary.id &&
        (endpoints.some(({ id }) => id === linked) || !adopts(compute, primary))
      );
    case "Conflict":
      return (
        others.some((other) => linked !== undefined && linkedID(other) === linked) ||
        others.some((other) => type === "read_write" && primary !== undefined && linkedID(other) === primary.id) ||
        others.some(
          (other) =>
            type === "read_write" &&
            specOf(other)["branchID"] === branchID &&
            specOf(other)["type"] === type &&
            // Of two that want one branch alone, one is not in conflict.
            !(wantsNoMore(other) && blames(other, compute)),
        ) ||
        others.some((other) => named !== undefined && linkedID(other) === named) ||
        isSignedForOther(endpoints.find(({ id }) => id === linked)) ||
        (linked === undefined && isSignedOver(uid))
      );
    case "AdoptionRefused":
      if (named === undefined) return primary !== undefined && others.some((other) => isOurs(other, primary));
      return (
        target === undefined ||
        target.projectId !== projectID ||
        target.branchId !== branchID ||
        target.type !== type ||
        others.some((other) => linkedID(other) === target.id || uidInSignature(target.name) === other.metadata.uid)
      );
    case "Creating":
    case "Moving":
      // Another Compute holds the branch and is to leave it, but cannot.
      return others.some((other) => {
        const held = endpoints.find((endpoint) => endpoint.id === linkedID(other));
        const leaves = specOf(other)["branchID"] !== branchID && conditionOf(other, "Ready")?.status === "False";
        return held !== undefined && held.branchId === branchID && held.type === "read_write" && leaves;
      });
    case "BranchNotReady":
    case "Expired": {
      const { branchRef } = specOf(compute);
      return isJsonObject(branchRef) && !scene.isBranchUsable(branchRef["name"]);
    }
    case "BranchNotFound":
      return isNameless(compute) || !scene.hasBranch(String(projectID), String(branchID));
    case "MovedOutside": {
      // Rule of section 4: only an edit since `appliedGeneration` moves an endpoint, and a person's move stays.
      const held = endpoints.find(({ id }) => id === linked);
      return held !== undefined && held.branchId !== branchID && isPlaceForgotten(uid, held);
    }
    case "EndpointLost":
      return driftPolicy === "Report" && named === undefined && !endpoints.some(({ id }) => id === linked);
    default:
      return false;
  }
}

/** The reasons that only a person can put right and that are retried: after five minutes such a Compute stalls. */
const stallingLater = ["Unauthorized", "Forbidden", "ConnectionNotFound", "ProjectNotFound", "BranchNotFound"];

/** What is to be said of a Compute that has such a reason for long and is not stalled. */
export function isYetToStall(compute: KubeObject): string[] {
  const reason = String(conditionOf(compute, "Ready")?.reason);
  const isStalled = conditionOf(compute, "Stalled")?.status === "True";
  return !stallingLater.includes(reason) || isStalled
    ? []
    : [`${compute.metadata.name} says ${reason} for long and is not stalled`];
}

/** Whether a Compute is in conflict for its branch at most: it names no endpoint, and is linked to none. */
function wantsNoMore(compute: KubeObject): boolean {
  return namedBy(compute) === undefined && linkedID(compute) === undefined;
}

function blames(compute: KubeObject, { metadata: { namespace, name } }: KubeObject): boolean {
  const { reason, message } = conditionOf(compute, "Ready") ?? {};
  return reason === "Conflict" && String(message).includes(`Compute ${namespace}/${name} `);
}

function namedBy(compute: KubeObject): unknown {
  const { adopt } = specOf(compute);
  return isJsonObject(adopt) ? adopt["endpointID"] : undefined;
}

/**
 * True if only a person can tell what became of a create: it was sent through another base URL; or an endpoint without
 * a name, of its type, on the branch of record or spec and not older than what the create was planned from, is
 * nobody's, or its own though a copy names it too. A deletion looks up no name: the branch of the status counts.
 */
export function isUndecidable(
  compute: KubeObject,
  { endpoints, namesShown }: Scene,
  baseURL: string,
  isOthers: (endpointID: string) => boolean,
): boolean {
  const record = recordOf(compute);
  if (record === undefined) return false;
  const { through, branchID, newest } = record;
  if (through !== "" && through !== baseURL) return true;
  const spec = specOf(compute);
  const { resolvedBranch } = statusOf(compute);
  const resolved = isDeleting(compute) && isJsonObject(resolvedBranch) ? resolvedBranch["id"] : undefined;
  const since = typeof newest === "string" ? Date.parse(newest) : Number.NEGATIVE_INFINITY;
  return endpoints.some(
    (endpoint) =>
      endpoint.projectId === spec["projectID"] &&
      endpoint.type === spec["type"] &&
      !(namesShown && endpoint.name !== undefined) &&
      [branchID, spec["branchID"], resolved].includes(endpoint.branchId) &&
      endpoint.createdAt >= since - 1000 &&
      (linkedID(compute) === endpoint.id || !isOthers(endpoint.id)),
  );
}

function differences(compute: KubeObject, endpoint: StoredEndpoint, namesShown: boolean): string[] {
  const spec = specOf(compute);
  const scale = isJsonObject(spec["scaleToZero"]) ? spec["scaleToZero"] : {};
  const settings = isJsonObject(spec["postgresSettings"]) ? spec["postgresSettings"] : {};
  const wanted: [string, unknown, unknown][] = [
    ["branchID", spec["branchID"], endpoint.branchId],
    ["type", spec["type"], endpoint.type],
    ...fieldFacts.map(({ spec: path, stored }): [string, unknown, unknown] => [
      path,
      valueAt(spec, path),
      endpoint[stored],
    ]),
    // Where the service does not show it, nobody sees what others make of it.
    ["scaleToZero", namesShown && scale["enabled"] === false ? -1 : undefined, endpoint.suspendTimeoutSeconds],
    ["scaleToZero.after", namesShown && scale["after"] === "10m" ? 600 : undefined, endpoint.suspendTimeoutSeconds],
    ...Object.entries(settings).map(([key, value]): [string, unknown, unknown] => [
      `postgresSettings.${key}`,
      value,
      endpoint.settings.pg_settings[key],
    ]),
  ];
  return wanted.filter(([, theirs, ours]) => theirs !== undefined && theirs !== ours).map(([field]) => field);
}

function sizesOfPools({ pools, computes }: Scene): string[] {
  return pools.flatMap(({ uid, name, replicas }) => {
    const own = computes.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
    return own.length === replicas ? [] : [`pool ${name} has ${own.length} of ${String(replicas)} Computes`];
  });
}

function leftBehind({ computes, endpoints, mayLeave }: Scene): string[] {
  const living = new Set(computes.map(({ metadata }) => metadata.uid));
  return endpoints.flatMap(({ id, name }) => {
    const uid = uidInSignature(name);
    return uid === undefined || living.has(uid) || mayLeave.has(uid)
      ? []
      : [`${id} was left behind by a Compute that is gone`];
  });
}

function sharedEndpoints({ computes, endpoints, mayLeave }: Scene): string[] {
  return endpoints.flatMap(({ id, name }) => {
    const mayStay = mayLeave.has(uidInSignature(name) ?? "");
    const twins = mayStay ? [] : endpoints.filter((other) => other.name !== undefined && other.name === name);
    const holders = computes.filter(
      (compute) => statusOf(compute)["endpointID"] === id && conditionOf(compute, "Ready")?.status === "True",
    );
    return [
      ...(twins.length > 1 && twins[0]?.id === id
        ? [`${twins.map((twin) => twin.id).join(" and ")} carry one mark`]
        : []),
      ...(holders.length > 1
        ? [`${id} is claimed by ${holders.map(({ metadata }) => metadata.name).join(" and ")}`]
        : []),
    ];
  });
}
