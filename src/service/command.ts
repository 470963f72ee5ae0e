import { parseArgs } from "node:util";
import { isLoopbackHost } from "./http/loopback.ts";
import { cryptoIds } from "./ids.ts";
import { type RunPorts, runService } from "./run.ts";

const usage = `Usage: compute-operator service [flags]

Runs the service: a faithful, persistent implementation of the API that the operator talks to.

  --port N         port to listen on, 0 for any free one (default 8090)
  --host HOST      address to listen on (default 127.0.0.1)
  --data FILE      SQLite file that keeps its state (default :memory:, gone when it ends)
  --seed FILE      YAML of accounts, organizations, projects, branches and keys; existing ones stay as they are
  --time-scale N   how many times faster than normal operations and inactivity timers run (default 1)
  --faults         serve PUT /_faults, with which requests can be made to fail
  --no-rate-limits refuse no request with 429 for the number of requests
  --test-controls  serve POST /_reset and POST /_clock/advance; only with a loopback --host
  --ready-file F   file that holds the base URL while the service is ready
  --strict-spec    serve only what the specification shows
  --help           show this`;

/** The flags are not right; the message says which, and what is allowed. */
class BadFlag extends Error {
  override name = "BadFlag";
}

/** `compute-operator service`: answers the exit status. */
export async function serviceCommand(args: readonly string[], ports: Omit<RunPorts, "ids">): Promise<number> {
  try {
    const flags = parse(args);
    if (flags.help) {
      ports.stdout(usage);
      return 0;
    }
    if (flags["test-controls"] && !isLoopbackHost(flags.host)) {
      throw new BadFlag(`--test-controls needs a --host of this machine alone, such as 127.0.0.1, not ${flags.host}`);
    }
    return await runService(
      {
        host: flags.host,
        port: wholePort(flags.port),
        data: flags.data,
        seed: flags.seed,
        timeScale: positive("--time-scale", flags["time-scale"]),
        faults: flags.faults,
        strictSpec: flags["strict-spec"],
        rateLimits: !flags["no-rate-limits"],
        testControls: flags["test-controls"],
        readyFile: flags["ready-file"],
      },
      { ...ports, ids: cryptoIds() },
    );
  } catch (error) {
    if (!(error instanceof BadFlag)) throw error;
    ports.stderr(`compute-operator service: ${error.message}\n\n${usage}`);
    return 1;
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: {
        port: { type: "string", default: "8090" },
        host: { type: "string", default: "127.0.0.1" },
        data: { type: "string", default: ":memory:" },
        seed: { type: "string" },
        "time-scale": { type: "string", default: "1" },
        faults: { type: "boolean", default: false },
        "strict-spec": { type: "boolean", default: false },
        "no-rate-limits": { type: "boolean", default: false },
        "test-controls": { type: "boolean", default: false },
        "ready-file": { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    throw new BadFlag(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function wholePort(value: string): number {
  const port = Number(value);
  if (/^[0-9]{1,5}$/.test(value) && port <= 65_535) return port;
  throw new BadFlag(`--port must be a whole number from 0 to 65535, not ${JSON.stringify(value)}`);
}

function positive(flag: string, value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && Number.isFinite(number) && number > 0) return number;
  throw new BadFlag(`${flag} must be a number greater than 0, not ${JSON.stringify(value)}`);
}
