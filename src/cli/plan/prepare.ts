import { hasKubeConfig } from "../../operator/kube/kubeconfig.ts";
import { placeOf } from "../../operator/objects/object.ts";
import type { Branch } from "../../operator/resources/branch.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import { type ConnectionUser, connectionKeyOf } from "../../operator/resources/connection-user.ts";
import { fleetOf } from "../../operator/resources/signature.ts";
import { httpServiceTransport } from "../../operator/service-client/http-transport.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import type { CommandCluster } from "../commands/cluster.ts";
import { type ManifestFlags, pruneNeeds } from "../commands/flags.ts";
import { type CliPorts, CommandProblem, complain } from "../commands/ports.ts";
import { accountFor } from "../manifests/accounts.ts";
import { declaredBranches, declaredComputes } from "../manifests/declared.ts";
import { objectsIn } from "../manifests/documents.ts";
import { unbuilt } from "../manifests/kustomization.ts";
import { type Declared, type Manifests, sortManifests } from "../manifests/manifests.ts";
import { overRunning } from "../manifests/over-running.ts";
import { type ManifestTexts, readManifests } from "../manifests/read.ts";
import {
  clusterToRead,
  hasOurKinds,
  inCluster,
  type Running,
  readRunning,
  readSecretOf,
  runningBaseURL,
} from "../manifests/running.ts";
import { namespacesOf, prunedWith, type Undeclared, undeclaredIn } from "../manifests/undeclared.ts";
import { Inventory, type InventoryOptions } from "./inventory.ts";

/** The Computes and Branches of the manifests, and the inventory of the service. */
export interface Prepared {
  inventory: Inventory;
  /** The cluster that was read, if any. */
  running: Running | undefined;
  /** Objects in the cluster that these manifests no longer declare. */
  undeclared: readonly Undeclared[];
}

export interface PrepareOptions extends ManifestFlags, Pick<InventoryOptions, "createSettleMs"> {
  prune: boolean;
  /** The command sends writes to the service: `apply`. */
  writes: boolean;
}

/** Reads manifests and the cluster that flags name, and finds the account of each Compute. Throws `CommandProblem`. */
export async function prepare(flags: PrepareOptions, ports: CliPorts, transport: ServiceTransport): Promise<Prepared> {
  const read = await readManifests(flags, ports);
  const notBuilt = unbuilt(read.unbuilt);
  if (notBuilt !== undefined) complain(ports, "compute-operator", notBuilt);
  const cluster = await clusterOf(flags, ports);
  if (flags.prune && cluster === undefined && (flags.fleet === undefined || flags.namespace === undefined)) {
    throw new CommandProblem([`${pruneNeeds}. With --kubeconfig or --context it shows what leaves the cluster`]);
  }
  try {
    const declared = await declaredBy(read, flags, cluster);
    for (const note of declared.manifests.notes) complain(ports, "compute-operator", note);
    return tracking(declared, flags, ports, transport);
  } finally {
    await cluster?.close();
  }
}

/** The cluster that the flags name, or the one that kubectl would use, if that has our kinds. */
async function clusterOf(
  { cluster, kubeconfig, context }: ManifestFlags,
  ports: CliPorts,
): Promise<CommandCluster | undefined> {
  if (cluster === "none" || (cluster === "usual" && !hasKubeConfig(ports.env))) return undefined;
  const found = clusterToRead(
    { kubeconfig, context },
    ports,
    cluster === "usual" ? ". --no-cluster plans without it" : "",
  );
  let isUsed = false;
  try {
    isUsed = cluster === "named" || (await hasOurKinds(found));
  } finally {
    if (!isUsed) await found.close();
  }
  if (isUsed) return found;
  complain(ports, "compute-operator plan", `the cluster at ${found.server} knows no Computes, so it is left out`);
  return undefined;
}

interface DeclaredBy {
  manifests: Manifests;
  computes: readonly Declared<Compute>[];
  branches: readonly Declared<Branch>[];
  /** The pools, each with the project of its template: it may have no members. */
  pools: readonly Declared<ConnectionUser>[];
  /** The pool of each member, by the member's uid. */
  poolOf: ReadonlyMap<string, ComputePool>;
  /** The Computes that leave the cluster with their manifests. */
  pruned: readonly Declared<Compute>[];
  undeclared: readonly Undeclared[];
}

/** The Computes that the manifests declare, with what the cluster knows of them. */
async function declaredBy(
  { texts }: ManifestTexts,
  flags: PrepareOptions,
  cluster: CommandCluster | undefined,
): Promise<DeclaredBy> {
  const read = texts.map(objectsIn);
  const objects = read.flatMap((file) => file.objects);
  // Recognition by namespace and name needs the namespace that the Compute has in its cluster.
  const isRecognised =
    flags.fleet !== undefined || (flags.prune && cluster === undefined) || (flags.prune && flags.writes);
  const assumed = isRecognised ? undefined : (cluster?.namespace ?? "default");
  const written = sortManifests(objects, flags.namespace ?? assumed);
  const problems = [...read.flatMap((file) => file.problems), ...written.problems];
  if (problems.length > 0) throw new CommandProblem(problems);
  const running = cluster && (await readRunning(cluster, namespacesOf(written, flags.namespace)));
  const manifests = running === undefined ? withoutNumbers(written, flags) : overRunning(written, running);
  if (manifests.problems.length > 0) throw new CommandProblem(manifests.problems);
  const branches = declaredBranches(manifests, flags.fleet);
  const { computes: all, poolOf, problems: unplanned } = declaredComputes({ ...manifests, branches });
  if (unplanned.length > 0) throw new CommandProblem(unplanned);
  const undeclared = running === undefined ? [] : undeclaredIn(written, running, flags.namespace);
  const leaving = flags.prune && running !== undefined && !flags.writes ? prunedWith(undeclared, running) : [];
  const declaredAt = new Map(all.map(({ object, where }) => [object.metadata.uid, where]));
  const pruned = leaving.map((each) => ({ ...each, where: declaredAt.get(each.object.metadata.uid) ?? each.where }));
  // A Compute whose owner leaves goes with it, also if a manifest of its own declares it.
  const uids = new Set(pruned.map(({ object }) => object.metadata.uid));
  const computes = all.filter(({ object }) => !uids.has(object.metadata.uid));
  const pools = written.pools.map(({ object: { metadata, spec }, where }) => ({
    object: { kind: "ComputePool", metadata, spec: spec.template, status: {} },
    where,
  }));
  if (computes.length + pools.length + branches.length + undeclared.length === 0) {
    const { paths, kustomize } = flags;
    const places = paths.map((path) => (path === "-" ? "standard input" : path));
    const hint = "of a directory the .yaml, .yml and .json files are read, with all below it";
    throw new CommandProblem([
      kustomize === undefined
        ? `no Compute, ComputePool or Branch in ${places.join(", ")}: ${hint}`
        : `no Compute, ComputePool or Branch in what the kustomization ${kustomize} makes`,
    ]);
  }
  const users = [...computes, ...pools, ...branches, ...pruned];
  const used = new Set(users.map(({ object }) => placeOf(connectionKeyOf(object))));
  const connections = manifests.connections.filter(({ object }) => used.has(placeOf(object.metadata)));
  if (cluster !== undefined && running !== undefined) {
    await Promise.all(connections.map(({ object }) => readSecretOf(cluster, object, running)));
  }
  return { manifests, computes, branches, pools, poolOf, pruned, undeclared };
}

/** The pools whose number only a cluster knows: `plan` leaves their replicas out, and nothing else may. */
function withoutNumbers(manifests: Manifests, { writes, prune }: PrepareOptions): Manifests {
  const pools = manifests.pools.filter(({ object }) => manifests.unnumbered.has(placeOf(object.metadata)));
  if (!writes && !prune) {
    const said = "its replicas are not planned: spec.replicas is left to the cluster, and no cluster was read";
    const notes = pools.map(({ object: { metadata } }) => `ComputePool ${placeOf(metadata)}: ${said}`);
    return { ...manifests, notes: [...manifests.notes, ...notes] };
  }
  const said = "spec.replicas: is left to the cluster, and no cluster was read: set it, or name the cluster";
  const problems = pools.map(
    ({ object: { metadata }, where }) => `${where}: ComputePool ${placeOf(metadata)}: ${said}`,
  );
  return { ...manifests, problems: [...manifests.problems, ...problems] };
}

function tracking(
  { manifests, computes, branches, pools, poolOf, pruned, undeclared }: DeclaredBy,
  { baseURL, createSettleMs, fleet, writes, prune, namespace }: PrepareOptions,
  { clock, signal, env }: CliPorts,
  transport: ServiceTransport,
): Prepared {
  const scope = {
    fleet: fleet === undefined ? undefined : fleetOf(fleet),
    fleetName: fleet,
    cluster: manifests.running !== undefined,
    writes,
    prunes: prune && (manifests.running === undefined || writes),
  };
  const inventory = new Inventory({ clock, transport, signal, createSettleMs, scope });
  const unreached = new Set<string>();
  const reach = (user: Declared<ConnectionUser>) => {
    const reached = accountFor(user, manifests, { baseURL, env });
    if (!("problem" in reached)) return reached;
    unreached.add(reached.problem);
    return undefined;
  };
  for (const branch of branches) {
    const reached = reach(branch);
    if (reached !== undefined) inventory.trackBranch(branch.object, reached);
  }
  if (scope.prunes) {
    if (![...computes, ...pools, ...branches].some(({ object }) => object.metadata.namespace === namespace)) {
      const where = `no Compute, ComputePool or Branch of these manifests is in namespace ${namespace ?? ""}`;
      throw new CommandProblem([`${where}, so --prune knows no project to delete from: correct --namespace`]);
    }
    for (const pool of pools) {
      const reached = reach(pool);
      if (reached !== undefined) inventory.trackPool(pool.object, reached);
    }
  }
  for (const compute of [...computes, ...pruned].toSorted((a, b) => compareNames(a.object, b.object))) {
    const reached = reach(compute);
    const of = { before: compute.before, pool: poolOf.get(compute.object.metadata.uid) };
    const tracked = reached && inventory.trackCompute(compute.object, reached, of);
    if (tracked === undefined || !pruned.includes(compute)) continue;
    tracked.pruned = compute.where === inCluster ? whyPruned : goesWithOwner;
  }
  if (unreached.size > 0) throw new CommandProblem([...unreached]);
  const { running, others, otherBranches } = manifests;
  for (const branch of otherBranches) {
    inventory.claimBranch(branch, running && runningBaseURL(running, placeOf(connectionKeyOf(branch))));
  }
  const uids = new Set(pruned.map(({ object }) => object.metadata.uid));
  for (const compute of others) {
    if (uids.has(compute.metadata.uid)) continue;
    inventory.claim(compute, running && runningBaseURL(running, placeOf(connectionKeyOf(compute))));
  }
  return { inventory, running, undeclared };
}

const whyPruned = "no manifest declares the Compute any more: its endpoint and host are deleted.";
const goesWithOwner =
  "no manifest declares its owner any more, and the Compute goes with it, though it is declared: its endpoint and host are deleted.";

function compareNames({ metadata: a }: Compute, { metadata: b }: Compute): number {
  return placeOf(a) < placeOf(b) ? -1 : 1;
}

/** Runs `task` with the service's transport, and closes the transport afterwards. */
export async function withTransport<T>(ports: CliPorts, task: (transport: ServiceTransport) => Promise<T>): Promise<T> {
  if (ports.serviceTransport !== undefined) return task(ports.serviceTransport);
  const { env, clock } = ports;
  const transport = httpServiceTransport({
    userAgent: "compute-operator",
    env,
    now: () => clock.now(),
  });
  try {
    return await task(transport);
  } finally {
    await transport.close();
  }
}
