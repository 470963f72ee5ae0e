import { type ClusterConnection, loadKubeConfig } from "../../operator/kube/kubeconfig.ts";
import { type Compute, connectionKeyOf } from "../../operator/resources/compute.ts";
import { placeOf } from "../../operator/resources/object.ts";
import { fleetOf } from "../../operator/resources/signature.ts";
import { httpServiceTransport } from "../../operator/service-client/http-transport.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import type { ManifestFlags } from "../commands/flags.ts";
import { type CliPorts, CommandProblem } from "../commands/ports.ts";
import { accountFor } from "../manifests/accounts.ts";
import { declaredComputes } from "../manifests/declared.ts";
import { objectsIn, readManifests } from "../manifests/documents.ts";
import { type Declared, type Manifests, sortManifests } from "../manifests/manifests.ts";
import { overRunning } from "../manifests/over-running.ts";
import { type Running, RunningCluster, runningBaseURL } from "../manifests/running.ts";
import { Inventory, type InventoryOptions, type Tracked } from "./inventory.ts";

/** The Computes of the manifests, and the inventory of the service. */
export interface Prepared {
  inventory: Inventory;
  tracked: Tracked[];
  /** The cluster that was read, if any. */
  running: Running | undefined;
}

export interface PrepareOptions extends ManifestFlags, Pick<InventoryOptions, "createSettleMs"> {
  /** Of `apply`; absent for `plan`, which writes nothing. */
  writes?: { prune: boolean };
}

/** Reads manifests and the cluster that flags name, and finds the account of each Compute. Throws `CommandProblem`. */
export async function prepare(flags: PrepareOptions, ports: CliPorts, transport: ServiceTransport): Promise<Prepared> {
  const texts = await readManifests(flags.paths, ports.stdin);
  const cluster = clusterOf(flags, ports);
  try {
    const { manifests, computes } = await declaredBy(texts, flags, cluster);
    return tracking(manifests, computes, flags, ports, transport);
  } finally {
    await cluster?.close();
  }
}

/** The cluster that the flags name, if any. */
function clusterOf({ kubeconfig, context }: ManifestFlags, ports: CliPorts): RunningCluster | undefined {
  if (kubeconfig === undefined && context === undefined) return undefined;
  let connection: ClusterConnection;
  try {
    connection = loadKubeConfig({ file: kubeconfig, context, env: ports.env });
  } catch (error) {
    throw new CommandProblem([error instanceof Error ? error.message : String(error)], { cause: error });
  }
  return new RunningCluster(connection, ports);
}

/** The Computes that the manifests declare, with what the cluster knows of them. */
async function declaredBy(
  texts: Awaited<ReturnType<typeof readManifests>>,
  flags: PrepareOptions,
  cluster: RunningCluster | undefined,
): Promise<{ manifests: Manifests; computes: readonly Declared<Compute>[] }> {
  const read = texts.map(objectsIn);
  const objects = read.flatMap((file) => file.objects);
  // What is recognised by namespace and name needs the one that the Compute has in its cluster.
  const isRecognised = flags.fleet !== undefined || flags.writes?.prune === true;
  const assumed = isRecognised ? undefined : (cluster?.namespace ?? "default");
  const written = sortManifests(objects, flags.namespace ?? assumed);
  const problems = [...read.flatMap((file) => file.problems), ...written.problems];
  if (problems.length > 0) throw new CommandProblem(problems);
  const namespaces = [...written.computes, ...written.pools].map(
    ({ object: { metadata } }) => metadata.namespace ?? "",
  );
  const running = await cluster?.read([...new Set(namespaces)]);
  const manifests = running === undefined ? written : overRunning(written, running);
  if (manifests.problems.length > 0) throw new CommandProblem(manifests.problems);
  const { computes, problems: unplanned } = declaredComputes(manifests);
  if (unplanned.length > 0) throw new CommandProblem(unplanned);
  if (computes.length === 0) {
    const places = flags.paths.map((path) => (path === "-" ? "standard input" : path));
    const hint = "of a directory the .yaml, .yml and .json files are read, with all below it";
    throw new CommandProblem([`no Compute and no ComputePool in ${places.join(", ")}: ${hint}`]);
  }
  const used = new Set(computes.map(({ object }) => placeOf(connectionKeyOf(object))));
  const connections = manifests.connections.filter(({ object }) => used.has(placeOf(object.metadata)));
  if (cluster !== undefined && running !== undefined) {
    await Promise.all(connections.map(({ object }) => cluster.readSecretOf(object, running)));
  }
  return { manifests, computes };
}

function tracking(
  manifests: Manifests,
  computes: readonly Declared<Compute>[],
  { baseURL, createSettleMs, fleet, writes }: PrepareOptions,
  { clock, signal, env }: CliPorts,
  transport: ServiceTransport,
): Prepared {
  const beside = {
    fleet: fleet === undefined ? undefined : fleetOf(fleet),
    cluster: manifests.running !== undefined,
    storedPolicies: manifests.storedPolicies,
    writes: writes !== undefined,
  };
  const inventory = new Inventory({ clock, transport, signal, createSettleMs, beside });
  const unreached = new Set<string>();
  const tracked = computes.flatMap((compute) => {
    const reached = accountFor(compute, manifests, { baseURL, env });
    if (!("problem" in reached)) return [inventory.track(compute.object, reached.account, reached.connection)];
    unreached.add(reached.problem);
    return [];
  });
  if (unreached.size > 0) throw new CommandProblem([...unreached]);
  const { running, others } = manifests;
  for (const compute of others) {
    inventory.claim(compute, running && runningBaseURL(running, placeOf(connectionKeyOf(compute))));
  }
  return { inventory, tracked, running };
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
