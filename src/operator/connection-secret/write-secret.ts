import type { ClusterClient } from "../kube/client.ts";
import { type ClusterError, isAlreadyExists, isNamespaceTerminating } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { isObjectOf } from "../kube/objects.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { API_VERSION, CONNECTION_SECRET_TYPE, labels, OPERATOR_NAME, SECRET_OF } from "../resources/names.ts";
import { secretKind } from "../resources/secret.ts";
import type { Binding } from "./binding.ts";
import {
  builtFrom,
  digest,
  digestOfData,
  type KeptSecret,
  keptConnectionSecret,
  sentKey,
  templateOf,
} from "./kept-secret.ts";
import { secretConflict, secretForbidden, secretRejected, secretUpdated } from "./messages.ts";
import { isAt, isElsewhere, isOf, markOf, placeOfSecret, type SecretPlace, secretInStatus } from "./place.ts";
import { annotationsOf, type Rotated } from "./rotation.ts";
import type { Template } from "./template.ts";

/** Content of a Secret. */
export interface Content {
  /** The source of its data. */
  source: string;
  template: Template;
  /** The record of its password; `undefined`: none is kept. */
  rotated: Rotated | undefined;
  /** In base64. */
  data: Record<string, string>;
}

export async function createSecret(
  compute: Compute,
  place: SecretPlace,
  content: Content,
  cluster: Pick<ClusterClient, "create" | "listPage">,
): Promise<Binding> {
  const { metadata } = compute;
  const { name, namespace } = place;
  const { labels: more, annotations } = metadataOf(compute, place, content);
  const owner = { apiVersion: API_VERSION, kind: computeKind.kind, name: metadata.name, uid: metadata.uid };
  try {
    await cluster.create(secretKind, {
      apiVersion: "v1",
      kind: "Secret",
      type: CONNECTION_SECRET_TYPE,
      metadata: {
        name,
        namespace,
        labels: { ...more, "app.kubernetes.io/managed-by": OPERATOR_NAME },
        annotations,
        // No owner is of another namespace: Kubernetes would delete the Secret at once.
        ...(isElsewhere(place, compute)
          ? {}
          : { ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: false }] }),
      },
      data: content.data,
    });
    const before = secretInStatus(compute);
    if (before?.name !== name || before.namespace !== namespace) return { kind: "bound", name };
    const event = {
      type: "Warning",
      reason: "SecretUpdated",
      message: secretUpdated.recreated(nameAt(place, compute)),
    } as const;
    return { kind: "bound", name, event };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    if (await stands(place, compute, cluster)) return { kind: "bound", name };
    return { kind: "failed", reason: "Conflict", message: secretConflict(nameAt(place, compute)) };
  }
}

/** The API server's refusal to have the Compute's Secret written. */
export function writeRefused(compute: Compute, error: ClusterError): Binding {
  const place = placeOfSecret(compute) ?? { namespace: "", name: "" };
  if (error.status !== 403) {
    return {
      kind: "failed",
      reason: "Rejected",
      message: secretRejected.byCluster(nameAt(place, compute), error.message),
    };
  }
  const { terminating, toWrite } = secretForbidden;
  const message = isNamespaceTerminating(error) ? terminating(place.namespace) : toWrite(place.namespace);
  return { kind: "failed", reason: "Forbidden", message };
}

/** The name of a Secret in messages: with its namespace where that is another one. */
export function nameAt(place: SecretPlace, compute: Compute): string {
  return isElsewhere(place, compute) ? `${place.namespace}/${place.name}` : place.name;
}

/** The watch may not have delivered yet what an earlier reconcile made. */
async function stands(
  place: SecretPlace,
  compute: Compute,
  cluster: Pick<ClusterClient, "listPage">,
): Promise<boolean> {
  const secrets = await listOurs(place.namespace, compute, cluster);
  return secrets.some((secret) => isAt(place, secret));
}

/** The Compute's Secrets in a namespace, as the API server has them now. */
export async function listOurs(
  namespace: string,
  compute: Compute,
  cluster: Pick<ClusterClient, "listPage">,
): Promise<KeptSecret[]> {
  const labelSelector = `${labels.compute}=${compute.metadata.uid}`;
  const { items } = await cluster.listPage(secretKind, { namespace, labelSelector });
  const secrets = items.flatMap((item) => (isObjectOf(secretKind, item) ? [keptConnectionSecret(item)] : []));
  return secrets.filter((secret) => isOf(secret, compute));
}

/** Writes the record of its password into a Secret that lacks it, and nothing else. */
export async function recordPassword(
  secret: KeptSecret,
  rotated: Rotated,
  cluster: Pick<ClusterClient, "patch">,
): Promise<void> {
  const patch = guardedPatch(secret, { resourceVersion: true });
  for (const [name, value] of Object.entries(annotationsOf(rotated))) patch.setAnnotation(name, value);
  await cluster.patch(secretKind, secret.metadata, patch.ops());
}

/** Notes that a reset of its password is sent at this time; `undefined`: that none was. */
export async function noteReset(
  secret: KeptSecret,
  at: number | undefined,
  cluster: Pick<ClusterClient, "patch">,
): Promise<void> {
  const patch = guardedPatch(secret, { resourceVersion: true });
  if (at !== undefined) patch.setAnnotation(sentKey, new Date(at).toISOString());
  else if (secret.metadata.annotations?.[sentKey] !== undefined) patch.remove(["metadata", "annotations", sentKey]);
  else return;
  await cluster.patch(secretKind, secret.metadata, patch.ops());
}

/** Writes the content again, and that the Secret is this Compute's. */
export async function repairSecret(
  compute: Compute,
  secret: KeptSecret,
  content: Content,
  cluster: Pick<ClusterClient, "patch">,
): Promise<void> {
  const { metadata } = secret;
  const wanted = metadataOf(compute, metadata, content);
  const before = templateOf(metadata.annotations?.[builtFrom]);
  const patch = guardedPatch(secret, { resourceVersion: true }).set(["data"], content.data);
  for (const member of ["labels", "annotations"] as const) {
    // Only what the operator wrote is known: the labels and annotations of others stay as they are.
    const kept = metadata[member] ?? {};
    if (metadata[member] === undefined) patch.set(["metadata", member], {});
    for (const name of Object.keys(before[member])) {
      if (Object.hasOwn(kept, name) && !Object.hasOwn(wanted[member], name)) patch.remove(["metadata", member, name]);
    }
    if (member === "annotations" && Object.hasOwn(kept, sentKey)) patch.remove(["metadata", member, sentKey]);
    for (const [name, value] of Object.entries(wanted[member])) {
      if (kept[name] !== value) patch.set(["metadata", member, name], value);
    }
  }
  await cluster.patch(secretKind, metadata, patch.ops());
}

/** Labels and annotations that a Secret with this content has, whatever others it has. */
function metadataOf(
  compute: Compute,
  place: { namespace?: string | undefined },
  { source, template, rotated, data }: Content,
) {
  return {
    labels: { ...template.labels, [labels.compute]: compute.metadata.uid },
    annotations: {
      ...template.annotations,
      [builtFrom]: source,
      [digestOfData]: digest(data),
      ...(rotated && annotationsOf(rotated)),
      ...(isElsewhere(place, compute) ? { [SECRET_OF]: markOf(compute) } : {}),
    },
  };
}

/** Event for a Secret that is written again, where somebody should know; following its endpoint is no news. */
export function rewritten(
  { metadata: { annotations } }: KeptSecret,
  name: string,
  { source, intact, role }: { source: string; intact: boolean; role: string | undefined },
): EventInput | undefined {
  if (intact) {
    return { type: "Normal", reason: "SecretUpdated", message: secretUpdated.password(role ?? "", name) };
  }
  if (annotations?.[builtFrom] !== source) return undefined;
  return { type: "Warning", reason: "SecretUpdated", message: secretUpdated.changed(name) };
}
