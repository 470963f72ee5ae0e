import { z } from "zod";
import {
  atMostOne,
  BadFlag,
  type Command,
  flag,
  newCommand,
  type Option,
  parsed,
  repeatable,
  whole,
} from "../../command-line.ts";
import { publicServicePattern } from "../../operator/connection/read-account.ts";
import { createSettle, duration, fleetName, name as nameOf } from "../../operator/flags.ts";

const more = `The service is reached through the ServiceConnection and Secret that the manifests hold, else those of the cluster. If there are none, --base-url names it and the environment variable COMPUTE_OPERATOR_API_KEY holds the API key. The key is sent to --base-url alone, and a key of the cluster to the address alone that its connection has there, never to an address that only a manifest names.`;

/** A command that reads manifests. */
function manifestsCommand(name: string, about: string, argument = ""): Command {
  return newCommand(name, about, { usage: `${argument}(-f PATH... | -k DIR) [flags]`, more })
    .addOption(repeatable("-f, --filename <PATH>", "a file, a directory (with all below it), or - for standard input"))
    .option("-k, --kustomize <DIR>", "a directory with a kustomization, which kustomize or kubectl builds")
    .addOption(
      flag(
        "-n, --namespace <NAME>",
        "namespace of manifests that name none (default: the context's, else default)",
        nameOf("a namespace"),
      ),
    )
    .option("--kubeconfig <FILE>", "compare with the cluster that this file names")
    .option("--context <NAME>", "compare with the cluster of this context, instead of the current one")
    .option("--no-cluster", "read no cluster, also where there is a kubeconfig")
    .addOption(
      flag(
        "--fleet <NAME>",
        "the --fleet of the operator, whose endpoints are then recognised (default: none)",
        fleetName,
      ),
    )
    .option(
      "--base-url <URL>",
      `base URL of the service, such as ${publicServicePattern}; required if the manifests hold no ServiceConnection`,
    );
}

const Format = z.enum(["text", "json", "markdown"]);
export type Format = z.infer<typeof Format>;

const ConnectionFormat = z.enum(["uri", "env", "json"]);
export type ConnectionFormat = z.infer<typeof ConnectionFormat>;

const pruneBranchesHelp =
  "with --prune: also delete the branches that apply created for Branches, with their data. Without it they are kept and named";

export const planSyntax = manifestsCommand(
  "plan",
  `Shows what the operator would do to the service for these manifests. Sends only read requests.
Compares with the cluster that kubectl would use, if there is a kubeconfig and the cluster has our kinds.
Exit status: 0 nothing to do, 2 changes, 1 an error or something that only a person can put right.`,
)
  .option(
    "--prune",
    "show as deletions what the cluster holds and these manifests no longer declare: what Flux or Argo CD labelled as they did the declared objects, else all of the manifests' namespaces. Without it only the number is shown",
    false,
  )
  .option("--prune-branches", pruneBranchesHelp, false)
  .addOption(outputFlag("text, json or markdown", Format).default("text"));

export const applySyntax = manifestsCommand(
  "apply",
  `Shows the plan, asks, carries it out once and waits until the service is done. Writes to no cluster, and sends nothing for a Compute that a cluster's operator keeps.
Exit status: 0 everything is as declared, 1 anything else.`,
)
  .option("--yes", "do not ask; required if standard input is not a terminal", false)
  .option(
    "--prune",
    "also delete what apply created for --fleet in --namespace and in the projects of the manifests, and no manifest declares",
    false,
  )
  .option("--prune-branches", pruneBranchesHelp, false)
  .addOption(
    flag(
      "--max-deletes <NUMBER>",
      "the most that --prune deletes (default: five, and half of what apply created there)",
      whole(0, 1_000_000),
    ),
  )
  .addOption(
    flag("--timeout <DURATION>", "how long to wait for the service in total", duration()).default(600_000, "10m"),
  )
  .option(
    "--connection-file <FILE>",
    "write there, once everything is as declared, what the connection Secrets would hold: JSON by namespace/name, which only you can read",
  )
  .addOption(createSettle);

export const connectionSyntax = manifestsCommand(
  "connection",
  `Prints what the connection Secret of a Compute would hold, for a place without a cluster. Sends only read requests; apply makes the compute before.
Exit status: 0 printed, 1 an error.`,
  "NAME ",
)
  .argument("[name...]", "the name of the Compute, or NAMESPACE/NAME")
  .addOption(outputFlag("uri, env (assignments for a shell) or json", ConnectionFormat).default("uri"))
  .option("--pooled", "through the service's connection pooler", false);

export const exportSyntax = newCommand(
  "export",
  `Prints a manifest for each compute of the projects, and for each branch if asked. Each adopts what exists and retains it when deleted, so that applying and deleting them changes nothing at the service.
Exit status: 0 done, 1 an error.`,
  {
    usage: "(--project ID... | --all-projects) [flags]",
    more: "The API key is read from the environment variable COMPUTE_OPERATOR_API_KEY.",
  },
)
  .addOption(repeatable("--project <ID>", "a project"))
  .option("--all-projects", "every project that the key reaches", false)
  .option("--organization <ID>", "with --all-projects and a personal key: the projects of this organization")
  .option("-n, --namespace <NAME>", "namespace to write into the manifests (default: none)")
  .option("--connection <NAME>", "ServiceConnection to name in them", "default")
  .option("--branches", "also print a Branch for each branch that no operator made", false)
  .option("--observe", "write managementPolicy: Observe: what exists is shown, and nothing is sent for it", false)
  .option("--base-url <URL>", "base URL of the service", publicServicePattern);

/** The format of what a command prints, as one of these words. */
function outputFlag(help: string, { options }: { options: readonly string[] }): Option {
  const read = (text: string, name: string): string => {
    const known = options.find((word) => word === text);
    if (known !== undefined) return known;
    throw new BadFlag(`${name} must be ${anyOf(options)}, not ${JSON.stringify(text)}`);
  };
  return flag("-o, --output <FORMAT>", help, read, options);
}

/** Words as alternatives in a sentence. */
export function anyOf(words: readonly string[]): string {
  return words.join(", ").replace(/, (\w+)$/, " or $1");
}

export interface ManifestFlags {
  /** Only plan looks for a cluster that no flag names: what apply creates bears a name derived from the namespace. */
  cluster: "usual" | "named" | "none";
  paths: readonly string[];
  kustomize: string | undefined;
  namespace: string | undefined;
  kubeconfig: string | undefined;
  context: string | undefined;
  fleet: string | undefined;
  baseURL: string | undefined;
}

const manifestValues = {
  filename: z.array(z.string()).default([]),
  kustomize: z.string().optional(),
  namespace: z.string().optional(),
  kubeconfig: z.string().optional(),
  context: z.string().optional(),
  fleet: z.string().optional(),
  baseUrl: z.string().optional(),
  cluster: z.boolean(),
};

/** Flags for objects that no manifest declares. */
export interface PruneFlags {
  prune: boolean;
  pruneBranches: boolean;
}

export function parsePlanFlags(args: readonly string[]): ManifestFlags & PruneFlags & { output: Format } {
  const own = { output: Format, prune: z.boolean(), pruneBranches: z.boolean() };
  const { output, prune, pruneBranches, ...values } = parsed(planSyntax, args, { ...manifestValues, ...own }, hint);
  const flags = manifestFlags(values);
  requirePrune(prune, pruneBranches);
  const chosen = values.cluster && flags.cluster === "none" ? "usual" : flags.cluster;
  return { ...flags, cluster: chosen, output, prune, pruneBranches };
}

/** Without a cluster only these two prove which endpoints belonged to these manifests. */
export const pruneNeeds =
  "--prune needs --fleet and --namespace: it deletes only what apply created for that fleet in that namespace";

function requirePrune(prune: boolean, pruneBranches: boolean): void {
  if (pruneBranches && !prune) throw new BadFlag("--prune-branches needs --prune");
}

export interface ApplyFlags extends ManifestFlags, PruneFlags {
  yes: boolean;
  maxDeletes: number | undefined;
  timeoutMs: number;
  createSettleMs: number;
  /** The file for what the connection Secrets would hold. */
  connectionFile: string | undefined;
}

export function parseApplyFlags(args: readonly string[]): ApplyFlags {
  const own = {
    yes: z.boolean(),
    prune: z.boolean(),
    pruneBranches: z.boolean(),
    maxDeletes: z.number().optional(),
    timeout: z.number(),
    createSettle: z.number(),
    connectionFile: z.string().optional(),
  };
  const values = parsed(applySyntax, args, { ...manifestValues, ...own }, hint);
  const { yes, prune, pruneBranches, maxDeletes, timeout, createSettle: settle, connectionFile } = values;
  if (prune && (values.fleet === undefined || values.namespace === undefined)) throw new BadFlag(pruneNeeds);
  if (maxDeletes !== undefined && !prune) throw new BadFlag("--max-deletes needs --prune");
  requirePrune(prune, pruneBranches);
  const chosen = { yes, prune, pruneBranches, maxDeletes, connectionFile };
  return { ...manifestFlags(values), ...chosen, timeoutMs: timeout, createSettleMs: settle };
}

export interface ConnectionFlags extends ManifestFlags {
  /** NAME or NAMESPACE/NAME. */
  name: string;
  output: ConnectionFormat;
  pooled: boolean;
}

export function parseConnectionFlags(args: readonly string[]): ConnectionFlags {
  const own = { output: ConnectionFormat, pooled: z.boolean() };
  const { output, pooled, ...values } = parsed(connectionSyntax, args, { ...manifestValues, ...own });
  const name = onlyName(connectionSyntax.args, "Compute");
  return { ...manifestFlags(values), name, output, pooled };
}

/** The one name that a command takes. Throws `BadFlag`. */
export function onlyName(args: readonly string[], what: string): string {
  const name = atMostOne(args, "name");
  if (name === undefined) throw new BadFlag(`the name of the ${what} is needed`);
  return name;
}

export interface ExportFlags {
  /** Ids; empty means every project. */
  projects: readonly string[];
  organization: string | undefined;
  namespace: string | undefined;
  connection: string;
  branches: boolean;
  observe: boolean;
  baseURL: string | undefined;
}

export function parseExportFlags(args: readonly string[]): ExportFlags {
  const exportValues = {
    project: z.array(z.string()).default([]),
    allProjects: z.boolean(),
    organization: z.string().optional(),
    namespace: z.string().optional(),
    connection: z.string(),
    branches: z.boolean(),
    observe: z.boolean(),
    baseUrl: z.string(),
  };
  const values = parsed(exportSyntax, args, exportValues, "the project is named with --project");
  const { project: projects, allProjects, organization, namespace, connection, branches, observe, baseUrl } = values;
  if (projects.length === 0 && !allProjects) {
    throw new BadFlag("--project is needed: the id of the project; or --all-projects");
  }
  if (projects.length > 0 && allProjects) throw new BadFlag("--project and --all-projects exclude each other");
  if (organization !== undefined && !allProjects) throw new BadFlag("--organization needs --all-projects");
  const unique = [...new Set(projects)];
  return { projects: unique, organization, namespace, connection, branches, observe, baseURL: baseUrl };
}

const hint = "manifests are named with -f or -k";

function manifestFlags({
  filename: paths,
  kustomize,
  namespace,
  kubeconfig,
  context,
  fleet,
  baseUrl: baseURL,
  cluster: mayRead,
}: z.infer<z.ZodObject<typeof manifestValues>>): ManifestFlags {
  if (kustomize !== undefined && paths.length > 0) throw new BadFlag("-f and -k exclude each other: take one of them");
  if (paths.length === 0 && kustomize === undefined) {
    throw new BadFlag("-f or -k is needed: -f a file, a directory, or - for standard input; -k a kustomization");
  }
  const cluster = kubeconfig === undefined && context === undefined ? "none" : "named";
  if (!mayRead && cluster === "named") throw new BadFlag("--no-cluster excludes --kubeconfig and --context");
  return { cluster, paths, kustomize, namespace, kubeconfig, context, fleet, baseURL };
}
