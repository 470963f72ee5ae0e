import { defaultCreateSettleMs } from "../../operator/flags.ts";
import { placeOf } from "../../operator/objects/object.ts";
import { connectionDataOf } from "../plan/compute/connection.ts";
import type { Inventory } from "../plan/inventory.ts";
import { planAll } from "../plan/plan.ts";
import { prepare, withTransport } from "../plan/prepare.ts";
import type { TrackedCompute } from "../plan/tracked.ts";
import { connectionFrom, uriKey } from "../plugin/psql.ts";
import { mask, problemOf, shellWord, withSecret } from "./connections.ts";
import { type ConnectionFlags, connectionSyntax, parseConnectionFlags } from "./flags.ts";
import { type CliPorts, CommandProblem } from "./ports.ts";
import { reporting } from "./reporting.ts";

const notPruned = { prune: false, pruneBranches: false };

/** `compute-operator connection NAME`: prints what the connection Secret of a Compute would hold. */
export function connectionCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(connectionSyntax, parseConnectionFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) => {
      // As apply, which recognises by the same rules what it made.
      const options = { ...flags, ...notPruned, createSettleMs: defaultCreateSettleMs, writes: true };
      const prepared = await prepare(options, ports, transport);
      await planAll(prepared, { ...flags, ...notPruned });
      const found = named(flags.name, prepared.inventory);
      const connection = await connectionDataOf(found, prepared.inventory);
      if (connection.kind !== "read") throw new CommandProblem([problemOf(found, connection)]);
      const text = rendered(found, connection.data, flags);
      mask(found, connection.data, ports);
      ports.stdout(text);
      return 0;
    }),
  );
}

/** The one Compute of NAME or NAMESPACE/NAME that names a connection Secret. */
function named(name: string, inventory: Inventory): TrackedCompute {
  const isMeant = ({ object: { metadata } }: TrackedCompute) =>
    name.includes("/") ? placeOf(metadata) === name : metadata.name === name;
  const [found, ...more] = inventory.tracked.Compute.filter(isMeant);
  if (found === undefined) {
    const places = withSecret(inventory).map(({ object }) => placeOf(object.metadata));
    const known = places.length === 0 ? "none of them names a connectionSecret" : `there are ${places.join(", ")}`;
    throw new CommandProblem([`the manifests have no Compute ${name}: ${known}`]);
  }
  if (more.length > 0) {
    const places = [found, ...more].map(({ object }) => placeOf(object.metadata)).join(" and ");
    throw new CommandProblem([`the manifests have ${places}: write one of these instead of ${name}`]);
  }
  if (found.object.spec.connectionSecret === undefined) {
    const what = "spec.connectionSecret with name, database and role";
    throw new CommandProblem([`Compute ${placeOf(found.object.metadata)} names no connection Secret: set ${what}`]);
  }
  return found;
}

function rendered(
  { object: { metadata, spec } }: TrackedCompute,
  data: Readonly<Record<string, string>>,
  { output, pooled }: ConnectionFlags,
): string {
  if (output === "json") return JSON.stringify(data, null, 2);
  const uri = data[uriKey(pooled)];
  const libpq = connectionFrom(data, pooled);
  if (uri === undefined || libpq === undefined) {
    const why = "there is no URI without database and role in spec.connectionSecret: set both, or take -o json";
    throw new CommandProblem([`Compute ${placeOf(metadata)}: ${why}`]);
  }
  if (output === "uri") return uri;
  const own = Object.keys(spec.connectionSecret?.template?.data ?? {}).filter((key) => /^[A-Za-z_]\w*$/.test(key));
  return assignments({ ...libpq, DATABASE_URL: uri, ...picked(data, own) });
}

function picked(data: Readonly<Record<string, string>>, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(keys.map((key) => [key, data[key] ?? ""]));
}

/** A line for each variable. A value of several lines could pass for a variable of its own, in $GITHUB_ENV for one. */
function assignments(variables: Readonly<Record<string, string>>): string {
  const [broken] = Object.entries(variables).find(([, value]) => /[\r\n\0]/.test(value)) ?? [];
  if (broken !== undefined) throw new CommandProblem([`-o env: ${broken} has more than one line: take -o json`]);
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${shellWord(value)}`)
    .join("\n");
}
