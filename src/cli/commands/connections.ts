import { lstatSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { placeOf } from "../../operator/objects/object.ts";
import { messageOf } from "../../operator/runtime/operational-error.ts";
import { isDerivedUID } from "../manifests/derived-uid.ts";
import { type ConnectionData, connectionDataOf } from "../plan/compute/connection.ts";
import type { Inventory } from "../plan/inventory.ts";
import type { TrackedCompute } from "../plan/tracked.ts";
import type { ManifestFlags } from "./flags.ts";
import { type CliPorts, CommandProblem } from "./ports.ts";

/** The declared Computes that name a connection Secret. */
export function withSecret({ tracked }: Inventory): TrackedCompute[] {
  return tracked.Compute.filter(
    ({ object, pruned }) => object.spec.connectionSecret !== undefined && pruned === undefined,
  );
}

/** Throws `CommandProblem` if the file cannot be written; asked before anything is sent. */
export function requireWritable(file: string): void {
  const why = unwritable(file);
  if (why !== undefined) throw new CommandProblem([`--connection-file: ${why}`]);
  tryWriting(() => rmSync(draftDirectory(file), { recursive: true }));
}

function unwritable(file: string): string | undefined {
  if (file === "-") return "- is no file: compute-operator connection NAME -o json prints a connection";
  if (file === "" || file.endsWith("/")) return `"${file}" names no file`;
  const directory = statSync(dirname(file), { throwIfNoEntry: false });
  if (directory?.isDirectory() !== true) return `${dirname(file)} is no directory`;
  const isFile = lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? true;
  return isFile ? undefined : `${file} is there, and is no file`;
}

/**
 * Writes what the connection Secrets of the Computes would hold: JSON by namespace and name, of mode 0600. Another
 * content takes its place whole or not at all. Throws `CommandProblem` if one cannot be read.
 */
export async function writeConnections(inventory: Inventory, file: string, ports: CliPorts): Promise<void> {
  const read = await Promise.all(
    withSecret(inventory).map(async (each) => [each, await connectionDataOf(each, inventory)] as const),
  );
  const unread = read.flatMap(([each, data]) => (data.kind === "failed" ? [problemOf(each, data)] : []));
  if (unread.length > 0) throw new CommandProblem([...unread, `nothing was written to ${file}`]);
  const connections = read.flatMap(([each, found]) => {
    if (found.kind !== "read") return [];
    mask(each, found.data, ports);
    return [[placeOf(each.object.metadata), found.data]];
  });
  replaceFile(file, `${JSON.stringify(Object.fromEntries(connections), null, 2)}\n`);
  for (const [each, { kind }] of read) {
    if (kind === "noEndpoint") ports.stdout(`  ${placeOf(each.object.metadata)}: not in ${file}: ${noEndpoint}`);
  }
  ports.stdout(`Written to ${file}: ${connections.length} ${connections.length === 1 ? "connection" : "connections"}.`);
}

const noEndpoint = "it has no endpoint";

export function problemOf({ object: { metadata } }: TrackedCompute, data: Exclude<ConnectionData, { kind: "read" }>) {
  const why = data.kind === "failed" ? data.message : `${noEndpoint} yet, which apply creates`;
  return `Compute ${placeOf(metadata)}: ${why}`;
}

/** A file that is there keeps its old content until the new one stands, and nobody else may read either. */
function replaceFile(file: string, text: string): void {
  tryWriting(() => {
    const directory = draftDirectory(file);
    try {
      const draft = join(directory, "draft");
      writeFileSync(draft, text, { mode: 0o600 });
      renameSync(draft, file);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
}

function draftDirectory(file: string): string {
  return mkdtempSync(join(dirname(file), ".connections-"));
}

function tryWriting(write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new CommandProblem([`--connection-file: ${messageOf(error)}`], { cause: error });
  }
}

/** In GitHub Actions: has the log show *** in place of what nobody but the application may know. */
export function mask(
  { object: { spec } }: TrackedCompute,
  data: Readonly<Record<string, string>>,
  { env, stderr }: Pick<CliPorts, "env" | "stderr">,
): void {
  const { password = "" } = data;
  if (env.GITHUB_ACTIONS !== "true" || password === "") return;
  const forms = [password, encodeURIComponent(password)];
  const filled = Object.keys(spec.connectionSecret?.template?.data ?? {}).map((key) => data[key] ?? "");
  const secret = [data["uri"] ?? "", data["pooled-uri"] ?? "", ...filled];
  const masked = new Set([...forms, ...secret.filter((text) => forms.some((form) => text.includes(form)))]);
  for (const text of masked) stderr(`::add-mask::${escaped(text)}`);
}

/** As the runner reads the data of a command. */
function escaped(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** Line for an apply without `--connection-file`; `undefined` where a cluster's operator writes the Secrets. */
export function secretsNote(inventory: Inventory, flags: ManifestFlags): string | undefined {
  const [first, ...more] = withSecret(inventory).filter(({ object }) => isDerivedUID(object.metadata.uid));
  if (first === undefined) return undefined;
  const of = more.length === 0 ? "The URL" : `The URL of the first of ${more.length + 1}`;
  return `No Secret is written without a cluster. ${of}: ${connectionLine(first, flags)}`;
}

function connectionLine({ object: { metadata } }: TrackedCompute, flags: ManifestFlags): string {
  const { paths, kustomize, namespace, kubeconfig, context, fleet, baseURL } = flags;
  const valued = [
    ...paths.map((path) => ["-f", path] as const),
    ["-k", kustomize],
    ["-n", namespace],
    ["--kubeconfig", kubeconfig],
    ["--context", context],
    ["--fleet", fleet],
    ["--base-url", baseURL],
  ] as const;
  const given = valued.flatMap(([flag, value]) => (value === undefined ? [] : [flag, shellWord(value)]));
  return ["compute-operator connection", placeOf(metadata), ...given].join(" ");
}

/** A word as a shell reads it: in quotes where a character means something to the shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
