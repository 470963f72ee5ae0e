import { isBeingDeleted, type KubeObject, type ObjectMeta, placeOf } from "../../operator/objects/object.ts";
import { isOfCluster } from "../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { connectionKeyOf } from "../../operator/resources/connection-user.ts";
import { type OurKind, ourKinds } from "./kinds.ts";
import type { Declared, Manifests } from "./manifests.ts";
import { inCluster, type Running } from "./running.ts";
import { asDeleted } from "./stored.ts";

// Objects that leave the manifests are deleted by whatever applies these: Flux and Argo CD, with `prune: true`, delete
// what they labelled as theirs, and kubectl apply --prune what its selector names.

/** An object of the cluster that no manifest declares. */
export interface Undeclared {
  kind: OurKind;
  object: KubeObject;
  /** The annotation or label with which Flux or Argo CD leaves the object in the cluster. */
  keptBy?: string;
}

/** The kinds that are compared, one row each. */
const objectsOf: Readonly<
  Record<
    OurKind,
    {
      declared: (manifests: Manifests) => readonly Declared<KubeObject>[];
      running: (running: Running) => readonly KubeObject[];
    }
  >
> = {
  Compute: { declared: ({ computes }) => computes, running: ({ computes }) => computes },
  ComputePool: { declared: ({ pools }) => pools, running: ({ pools }) => pools },
  Branch: { declared: ({ branches }) => branches, running: ({ branches }) => branches },
  ServiceConnection: {
    declared: ({ connections }) => connections.filter(({ object }) => !isOfCluster(object)),
    running: ({ connections }) => connections.filter((object) => !isOfCluster(object)),
  },
  ClusterServiceConnection: {
    declared: ({ connections }) => connections.filter(({ object }) => isOfCluster(object)),
    running: ({ connections }) => connections.filter((object) => isOfCluster(object)),
  },
};

/**
 * The objects of the cluster that left the manifests, by kind, namespace and name. `written` is what the manifests hold
 * and nothing else.
 *
 * If a declared object stands in the cluster and bears the mark of a Flux Kustomization, a HelmRelease or an Argo CD
 * application, only objects with that mark count, in whatever namespace. If declared objects stand there without a
 * mark, only objects without one count, and if none stands there, all do: both in the namespaces of the manifests, and
 * without a connection that a declared Compute uses: that is applied elsewhere.
 */
export function undeclaredIn(written: Manifests, running: Running, namespace: string | undefined): Undeclared[] {
  const standing = ourKinds.flatMap((kind) => {
    const { declared, running: stored } = objectsOf[kind];
    const names = new Map(declared(written).map(({ object }) => [placeOf(object.metadata), object]));
    return stored(running).map((object) => ({ kind, object, declared: names.get(placeOf(object.metadata)) }));
  });
  const known = standing.filter(({ declared }) => declared !== undefined);
  const marks = new Set(known.flatMap(({ object, declared }) => marksOf(object.metadata, declared?.metadata)));
  const namespaces = new Set(namespacesOf(written, namespace));
  const used = new Set(
    [...written.computes, ...written.pools, ...written.branches].map(({ object: { metadata, spec } }) =>
      placeOf(connectionKeyOf({ metadata, spec: "template" in spec ? spec.template : spec })),
    ),
  );
  const declaresOfCluster = objectsOf.ClusterServiceConnection.declared(written).length > 0;
  return standing.flatMap(({ kind, object, declared }): Undeclared[] => {
    const { metadata } = object;
    // The members of a pool go with their pool.
    const isOwned = metadata.ownerReferences?.some(({ controller }) => controller);
    if (declared !== undefined || isBeingDeleted(object) || isOwned) return [];
    const isNear = metadata.namespace === undefined ? declaresOfCluster : namespaces.has(metadata.namespace);
    const isUsed = kind.endsWith("ServiceConnection") && used.has(placeOf(metadata));
    const isTheirs =
      marks.size > 0
        ? marksOf(metadata).some((mark) => marks.has(mark))
        : isNear && !isUsed && (known.length === 0 || marksOf(metadata, metadata).length === 0);
    if (!isTheirs) return [];
    const keptBy = exemption(metadata);
    return [{ kind, object, ...(keptBy === undefined ? {} : { keptBy }) }];
  });
}

/** The namespaces that the manifests are about; `given` is that of `--namespace`. */
export function namespacesOf(written: Manifests, given: string | undefined): string[] {
  const objects = [...written.secrets, ...ourKinds.flatMap((kind) => objectsOf[kind].declared(written))];
  const named = [...written.namespaces.keys(), ...objects.flatMap(({ object }) => object.metadata.namespace ?? [])];
  return [...new Set([...named, ...(given === undefined ? [] : [given])])];
}

/** The Computes that go with what left the manifests, members of pools among them, each as it is being deleted. */
export function prunedWith(undeclared: readonly Undeclared[], { computes }: Running): Declared<Compute>[] {
  const uids = new Set(
    undeclared.filter(({ keptBy }) => keptBy === undefined).map(({ object }) => object.metadata.uid),
  );
  const isLeaving = ({ metadata }: Compute) =>
    uids.has(metadata.uid) || metadata.ownerReferences?.some(({ uid }) => uids.has(uid));
  return computes.filter(isLeaving).map((compute) => ({ object: asDeleted(compute), where: inCluster }));
}

const instanceLabel = "app.kubernetes.io/instance";

/** Labels by which a tool finds what it applied: of Flux, with a namespace, and of Argo CD. */
const nameLabels = ["kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"] as const;

/**
 * The marks of the tools that applied an object. People write the label `app.kubernetes.io/instance` too: it counts as
 * Argo CD's only if `declared`, the object's manifest, does not hold it.
 */
function marksOf({ labels = {}, annotations = {} }: ObjectMeta, declared?: ObjectMeta): string[] {
  const flux = nameLabels.flatMap((group) => {
    const name = labels[`${group}/name`];
    return name === undefined ? [] : [`${group} ${labels[`${group}/namespace`] ?? ""}/${name}`];
  });
  const tracking = annotations["argocd.argoproj.io/tracking-id"]?.split(":")[0];
  const instance = labels["argocd.argoproj.io/instance"] ?? labels[instanceLabel];
  const isOwn = labels["argocd.argoproj.io/instance"] === undefined && declared?.labels?.[instanceLabel] === instance;
  const argo = tracking ?? (isOwn ? undefined : instance);
  return [...flux, ...(argo === undefined ? [] : [`argocd ${argo}`])];
}

/** The annotation or label that keeps Flux or Argo CD from deleting an object. */
function exemption({ labels = {}, annotations = {} }: ObjectMeta): string | undefined {
  const fluxKeys = ["kustomize.toolkit.fluxcd.io/prune", "kustomize.toolkit.fluxcd.io/reconcile"];
  const flux = fluxKeys.find((key) => (annotations[key] ?? labels[key]) === "disabled");
  if (flux !== undefined) return `${flux}: disabled`;
  const options = annotations["argocd.argoproj.io/sync-options"] ?? "";
  const isKept = options.split(",").some((option) => option.trim() === "Prune=false");
  return isKept ? "argocd.argoproj.io/sync-options: Prune=false" : undefined;
}
