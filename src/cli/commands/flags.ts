import { parseArgs } from "node:util";
import { publicServicePattern } from "../../operator/connection/base-url.ts";
import { duration } from "../../operator/flags.ts";
import { CommandProblem } from "./problem.ts";

const connectionHelp = `The service is reached through the ServiceConnection and Secret that the manifests hold. If they hold none:
  --base-url URL        base URL of the service; required if the manifests hold no ServiceConnection
                        (the public service is ${publicServicePattern})
  COMPUTE_OPERATOR_API_KEY   environment variable with the API key; it is sent to --base-url alone, never to an
                        address that only a manifest names`;

const manifestHelp = `  -f, --filename PATH   a file, a directory (with all below it), or - for standard input; repeatable
  --namespace NAME      namespace of manifests that name none (default: default)`;

export const planUsage = `Usage: compute-operator plan -f PATH... [flags]

Shows what the operator would do to the service for these manifests. Sends nothing but reads; needs no cluster.
Exit status: 0 nothing to do, 2 changes, 1 an error or something that only a person can put right.

${manifestHelp}
  --output FORMAT       text, json or markdown (default text)
  --help                show this

${connectionHelp}`;

export const applyUsage = `Usage: compute-operator apply -f PATH... [flags]

Shows the plan, asks, carries it out once and waits until the service is done. Needs no cluster.
Exit status: 0 everything is as declared, 1 anything else.

${manifestHelp}
  --yes                 do not ask; required if standard input is not a terminal
  --timeout DURATION    how long to wait for the service altogether (default 10m)
  --create-settle DURATION   how long after a create of unknown outcome another may be sent (default 60s)
  --help                show this

${connectionHelp}`;

export const exportUsage = `Usage: compute-operator export --project ID [flags]

Prints a manifest for each compute of a project. Each adopts what exists and retains it when deleted, so that applying
and deleting them changes nothing at the service.
Exit status: 0 done, 1 an error.

  --project ID          the project
  --namespace NAME      namespace to write into the manifests (default: none)
  --connection NAME     ServiceConnection to name in them (default: default)
  --base-url URL        base URL of the service (default ${publicServicePattern})
  --help                show this

The API key is read from the environment variable COMPUTE_OPERATOR_API_KEY.`;

const string = { type: "string" } as const;
const boolean = { type: "boolean", default: false } as const;
const common = { "base-url": string, namespace: string, help: { ...boolean, short: "h" } } as const;
const files = { filename: { type: "string", short: "f", multiple: true } } as const;

export type Format = "text" | "json" | "markdown";

export interface ManifestFlags {
  help: boolean;
  paths: readonly string[];
  namespace: string;
  baseURL: string | undefined;
}

export function parsePlanFlags(args: readonly string[]): ManifestFlags & { output: Format } {
  const values = read(() => parseArgs({ args: [...args], options: { ...common, ...files, output: string } }).values);
  return { ...manifestFlags(values), output: formatOf(values.output ?? "text") };
}

export interface ApplyFlags extends ManifestFlags {
  yes: boolean;
  timeoutMs: number;
  createSettleMs: number;
}

export function parseApplyFlags(args: readonly string[]): ApplyFlags {
  const options = { ...common, ...files, yes: boolean, timeout: string, "create-settle": string } as const;
  const values = read(() => parseArgs({ args: [...args], options }).values);
  return {
    ...manifestFlags(values),
    yes: values.yes,
    timeoutMs: read(() => duration("--timeout", values.timeout ?? "10m")),
    createSettleMs: read(() => duration("--create-settle", values["create-settle"] ?? "60s")),
  };
}

export interface ExportFlags {
  help: boolean;
  project: string;
  namespace: string | undefined;
  connection: string;
  baseURL: string | undefined;
}

export function parseExportFlags(args: readonly string[]): ExportFlags {
  const options = { ...common, project: string, connection: string } as const;
  const values = read(() => parseArgs({ args: [...args], options }).values, "the project is named with --project");
  if (!values.help && (values.project ?? "") === "") throw badFlag("--project is needed: the id of the project");
  return {
    help: values.help,
    project: values.project ?? "",
    namespace: values.namespace,
    connection: values.connection ?? "default",
    baseURL: values["base-url"],
  };
}

function manifestFlags(values: {
  help: boolean;
  filename?: string[];
  namespace?: string;
  "base-url"?: string;
}): ManifestFlags {
  const paths = values.filename ?? [];
  if (!values.help && paths.length === 0) {
    throw badFlag("-f is needed: a file, a directory, or - for standard input");
  }
  return { help: values.help, paths, namespace: values.namespace ?? "default", baseURL: values["base-url"] };
}

/** `naming` says by which flag the thing is named that people type without one. */
function read<T>(parse: () => T, naming = "manifests are named with -f"): T {
  try {
    return parse();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const stray = /^Unexpected argument (.*)\. This command/.exec(message)?.[1];
    throw badFlag(stray === undefined ? message : `${stray} belongs to no flag: ${naming}`, error);
  }
}

function formatOf(text: string): Format {
  if (text === "text" || text === "json" || text === "markdown") return text;
  throw badFlag(`--output must be text, json or markdown, not ${JSON.stringify(text)}`);
}

function badFlag(message: string, cause?: unknown): CommandProblem {
  return new CommandProblem([message], { aboutFlags: true, cause });
}
