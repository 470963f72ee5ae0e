import { createHash } from "node:crypto";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";

// How the simulation reads Computes: from the API server's own store, and by its own reading of the contract, so that
// a mistake of the operator is not shared by its judge.

const group = "compute-operator.dev";
export const endpointFinalizer = `${group}/endpoint`;
export const inUseFinalizer = `${group}/in-use`;
export const branchFinalizer = "compute-operator.dev/branch";
export const computesPath = `/apis/${group}/v1alpha1/namespaces/shop/computes`;

export function specOf(compute: KubeObject): JsonObject {
  return isJsonObject(compute["spec"]) ? compute["spec"] : {};
}

export function statusOf(compute: KubeObject): JsonObject {
  return isJsonObject(compute["status"]) ? compute["status"] : {};
}

export function annotationOf(compute: KubeObject, name: string): string | undefined {
  return compute.metadata.annotations?.[`${group}/${name}`];
}

export function signatureOfUID(uid: string): string {
  return `k8s-${uid}`;
}

/** The uid in a signature: `k8s-<uid>`, or in a fleet `k8s-<fleet>-<key>-<uid>` without dashes. */
export function uidInSignature(name: string | undefined): string | undefined {
  return signatureIn(name)?.uid;
}

export interface Signature {
  uid: string;
  fleet?: string;
  key?: string;
}

/** What design.md says that a name says, read apart from the operator's own reading. */
export function signatureIn(name: string | undefined): Signature | undefined {
  if (name?.startsWith("k8s-") !== true) return undefined;
  const rest = name.slice("k8s-".length);
  const [fleet = "", key = "", digits = "", ...more] = rest.split("-");
  if (fleet.length !== 8 || key.length !== 16 || digits.length !== 32 || more.length > 0) return { uid: rest };
  const [a, b, c, d, e] = [0, 8, 12, 16, 20].map((start, n, starts) => digits.slice(start, starts[n + 1]));
  return { fleet, key, uid: `${a}-${b}-${c}-${d}-${e}` };
}

/** The signature that a Compute is to give its endpoint. */
export function signatureOf({ metadata }: KubeObject, fleet: string | undefined): string {
  if (fleet === undefined) return signatureOfUID(metadata.uid);
  const digest = (text: string, digits: number) => createHash("sha256").update(text).digest("hex").slice(0, digits);
  const key = digest(`${metadata.namespace}/${metadata.name}`, 16);
  return `k8s-${digest(fleet, 8)}-${key}-${metadata.uid.split("-").join("")}`;
}

export function isDeleting(compute: KubeObject): boolean {
  return compute.metadata.deletionTimestamp !== undefined;
}

/** The condition of this type: its status and reason. */
export function conditionOf(
  compute: KubeObject,
  type: string,
): { status: unknown; reason: unknown; message: unknown } | undefined {
  const { conditions } = statusOf(compute);
  if (!Array.isArray(conditions)) return undefined;
  const found: unknown = conditions.find((condition) => isJsonObject(condition) && condition["type"] === type);
  return isJsonObject(found)
    ? { status: found["status"], reason: found["reason"], message: found["message"] }
    : undefined;
}

/** The condition that gives the reason: Ready, or Expired, which stands in its place. */
export function shownCondition(object: KubeObject): ReturnType<typeof conditionOf> {
  return conditionOf(object, "Ready") ?? conditionOf(object, "Expired");
}

/** The record of a write of this very Compute. */
export function recordOf(compute: KubeObject): Record<string, unknown> | undefined {
  const record = statusOf(compute)["pendingWrite"];
  return isJsonObject(record) && record["uid"] === compute.metadata.uid ? record : undefined;
}

/** The record of a create whose outcome the status does not say yet. */
export function createRecordOf(compute: KubeObject): { identity: string; branchID: unknown } | undefined {
  const record = recordOf(compute);
  if (record?.["operation"] !== "create") return undefined;
  return { identity: `${String(record["n"])} ${String(record["by"])}`, branchID: record["branchID"] };
}

/** The endpoint that the status proves the Compute's own, and by what. */
export function proofOf(compute: KubeObject): { endpointID: unknown; by: unknown } | undefined {
  const proof = statusOf(compute)["proof"];
  if (!isJsonObject(proof) || proof["uid"] !== compute.metadata.uid) return undefined;
  return { endpointID: proof["endpointID"], by: proof["by"] };
}

/** The endpoint that a Compute is recorded to be linked to, unless it is proved gone. */
export function linkedID(compute: KubeObject): string | undefined {
  const { endpointID, gone } = statusOf(compute);
  const linked = annotationOf(compute, "endpoint-id");
  const id = linked === undefined || linked === gone ? endpointID : linked;
  return typeof id === "string" && id !== "" && id !== gone ? id : undefined;
}

/** Whether `spec.adopt` names this endpoint. */
export function adopts(compute: KubeObject, endpoint: Pick<StoredEndpoint, "id" | "branchId" | "type">): boolean {
  const { adopt, branchID } = specOf(compute);
  if (!isJsonObject(adopt)) return false;
  if (adopt["endpointID"] === endpoint.id) return true;
  return adopt["branchPrimary"] === true && endpoint.type === "read_write" && endpoint.branchId === branchID;
}

export function isOurs(compute: KubeObject, endpoint: StoredEndpoint): boolean {
  return uidInSignature(endpoint.name) === compute.metadata.uid || adopts(compute, endpoint);
}
