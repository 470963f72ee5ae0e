import { httpServiceTransport } from "../../operator/service-client/http-transport.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import type { ManifestFlags } from "../commands/flags.ts";
import { type CliPorts, CommandProblem } from "../commands/ports.ts";
import { accountFor, type Given } from "../manifests/accounts.ts";
import { declaredComputes } from "../manifests/declared.ts";
import { objectsIn, readManifests } from "../manifests/documents.ts";
import { sortManifests } from "../manifests/manifests.ts";
import { Inventory, type Tracked } from "./inventory.ts";

/** The Computes of the manifests, and the inventory of the service. */
export interface Prepared {
  inventory: Inventory;
  tracked: Tracked[];
}

/** Reads manifests and finds the account of each Compute. Throws `CommandProblem`. */
export async function prepare(
  flags: ManifestFlags & { createSettleMs: number },
  ports: CliPorts,
  transport: ServiceTransport,
): Promise<Prepared> {
  const texts = await readManifests(flags.paths, ports.stdin);
  const read = texts.map(objectsIn);
  const manifests = sortManifests(
    read.flatMap(({ objects }) => objects),
    flags.namespace,
  );
  const problems = [...read.flatMap((file) => file.problems), ...manifests.problems];
  if (problems.length > 0) throw new CommandProblem(problems);
  const declared = declaredComputes(manifests);
  if (declared.problems.length > 0) throw new CommandProblem(declared.problems);
  if (declared.computes.length === 0) {
    const places = flags.paths.map((path) => (path === "-" ? "standard input" : path));
    const hint = "of a directory the .yaml, .yml and .json files are read, with all below it";
    throw new CommandProblem([`no Compute and no ComputePool in ${places.join(", ")}: ${hint}`]);
  }
  const given: Given = { baseURL: flags.baseURL, env: ports.env };
  const { clock, signal } = ports;
  const inventory = new Inventory({ clock, transport, signal, createSettleMs: flags.createSettleMs });
  const unreached = new Set<string>();
  const tracked = declared.computes.flatMap((compute) => {
    const reached = accountFor(compute, manifests, given);
    if (!("problem" in reached)) return [inventory.track(compute.object, reached.account, reached.connection)];
    unreached.add(reached.problem);
    return [];
  });
  if (unreached.size > 0) throw new CommandProblem([...unreached]);
  return { inventory, tracked };
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
