import { isForbidden } from "../../operator/kube/errors.ts";
import { guardedPatch } from "../../operator/kube/json-patch.ts";
import { type Parsed, placeOf, type ResourceKind } from "../../operator/objects/object.ts";
import type { Branch } from "../../operator/resources/branch.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import { definitions, namesOf } from "../../operator/resources/crd-definitions.ts";
import { secretKind } from "../../operator/resources/secret.ts";
import type { ServiceConnection } from "../../operator/resources/service-connection.ts";
import { type ClusterFlags, CommandCluster } from "../commands/cluster.ts";
import { anyOf } from "../commands/flags.ts";
import { type CliPorts, CommandProblem } from "../commands/ports.ts";
import { kinds } from "../manifests/kinds.ts";

/** An object, with its kind. */
export type Found =
  | { kind: "Compute"; object: Compute }
  | { kind: "Branch"; object: Branch }
  | { kind: "ComputePool"; object: ComputePool }
  | { kind: "ServiceConnection"; object: ServiceConnection };

export type Kind = Found["kind"];

interface Row {
  resource: ResourceKind;
  read: (raw: unknown) => Parsed<Found>;
}

/** One row for each kind. */
const rows: Readonly<Record<Kind, Row>> = {
  Compute: rowOf(kinds.Compute, (object) => ({ kind: "Compute", object })),
  Branch: rowOf(kinds.Branch, (object) => ({ kind: "Branch", object })),
  ComputePool: rowOf(kinds.ComputePool, (object) => ({ kind: "ComputePool", object })),
  ServiceConnection: rowOf(kinds.ServiceConnection, (object) => ({ kind: "ServiceConnection", object })),
};

function rowOf<T>(
  { resource, parse }: { resource: ResourceKind; parse: (raw: unknown) => Parsed<T> },
  found: (object: T) => Found,
): Row {
  const read: Row["read"] = (raw) => {
    const parsed = parse(raw);
    return parsed.ok ? { ok: true, value: found(parsed.value) } : parsed;
  };
  return { resource, read };
}

/** Kind, namespace and name of an object, for messages. */
export function titleOf({ kind, object }: Found): string {
  return `${kind} ${placeOf(object.metadata)}`;
}

/** KIND/NAME, as kubectl takes it. */
function typedName({ kind, object }: Found): string {
  return `${kind.toLowerCase()}/${object.metadata.name}`;
}

/** True if kubectl takes the word for this kind: singular, plural or short name, with or without version and group. */
function isCalled(kind: Kind, word: string): boolean {
  const [name = "", ...suffix] = word.toLowerCase().split(".");
  return definitions.some((definition) => {
    const { plural, singular, shortNames = [] } = namesOf(definition);
    const { group, version } = definition.kind;
    return (
      definition.kind === rows[kind].resource &&
      [plural, singular, ...shortNames].includes(name) &&
      ["", group, `${version}.${group}`].includes(suffix.join("."))
    );
  });
}

/** The cluster of a command of the plugin. */
export function clusterToAnnotate(flags: ClusterFlags, ports: CliPorts): CommandCluster {
  return new CommandCluster(flags, ports, {
    // Flux reverts what kubectl wrote: the name of this field manager is another.
    userAgent: "compute-operator-cli",
    failure: (error) => `: ${error.message}`,
  });
}

/** The only object of that NAME or KIND/NAME among these kinds. */
export async function find(cluster: CommandCluster, name: string, among: readonly Kind[]): Promise<Found> {
  const [found, ...more] = await findAll(cluster, name, among);
  if (more.length === 0) return found;
  const forms = [found, ...more].map(typedName).join(" and ");
  throw new CommandProblem([`namespace ${cluster.namespace} has ${forms}: write one of these instead of ${name}`]);
}

/** The objects of that NAME or KIND/NAME, at most one of each of these kinds, as far as the caller may read them. */
export async function findAll(
  cluster: CommandCluster,
  given: string,
  among: readonly Kind[],
): Promise<[Found, ...Found[]]> {
  const [, word, name = given] = /^([^/]+)\/([^/]+)$/.exec(given) ?? [];
  const meant = word === undefined ? among : among.filter((kind) => isCalled(kind, word));
  if (meant.length === 0) {
    throw new CommandProblem([`the kind of ${given} must be ${anyOf(among).toLowerCase()}`]);
  }
  const answers = await Promise.all(meant.map((kind) => get(cluster, kind, name).catch(refusalOf)));
  const refusal = answers.find((answer) => answer instanceof CommandProblem);
  const [found, ...more] = answers.flatMap((answer) =>
    answer === undefined || answer instanceof CommandProblem ? [] : [answer],
  );
  if (found !== undefined) return [found, ...more];
  throw refusal ?? new CommandProblem([`namespace ${cluster.namespace} has no ${anyOf(meant)} named ${name}`]);
}

async function get(cluster: CommandCluster, kind: Kind, name: string): Promise<Found | undefined> {
  const { namespace } = cluster;
  const { resource, read } = rows[kind];
  const raw = await cluster.get(resource, { namespace, name });
  if (raw === undefined) return undefined;
  const found = read(raw);
  if (found.ok) return found.value;
  throw new CommandProblem([`${kind} ${namespace}/${name} cannot be read: ${found.problem}`]);
}

/** The problem of a read that the caller has no right to. Throws any other error. */
function refusalOf(error: unknown): CommandProblem {
  if (error instanceof CommandProblem && isForbidden(error.cause)) return error;
  throw error;
}

/** The Secret's data, decoded. */
export async function secretData(
  cluster: CommandCluster,
  { namespace, name }: { namespace: string; name: string },
): Promise<Record<string, string>> {
  const secret = await cluster.get(secretKind, { namespace, name });
  if (secret === undefined) throw new CommandProblem([`namespace ${namespace} has no Secret ${name} yet`]);
  const decoded = Object.entries(secret.data ?? {}).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]);
  return Object.fromEntries(decoded);
}

/** Sets an annotation, or removes it; only on the very object that was found. */
export async function annotate(
  cluster: CommandCluster,
  { kind, object }: Found,
  annotation: string,
  value: string | undefined,
): Promise<void> {
  const patch = guardedPatch(object).setAnnotation(annotation, value);
  await cluster.patch(rows[kind].resource, object.metadata, patch.ops());
}
