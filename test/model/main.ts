import { configurations as ofBranches } from "./branch/configurations.ts";
import { searched as searchedBranches } from "./branch/search.ts";
import { configuration, configurations, formerStands, largeConfigurations } from "./configuration.ts";
import { parts } from "./operator.ts";
import { searched, told } from "./search.ts";
import type { Configuration } from "./terms.ts";

// `npm run simulate -- model`: every configuration. With `large`: the larger ones. With `type=ro post=2 death=1`: a
// world of one's own; `--` between several. With `branch 4`: the worlds of Branches, with so many happenings.

function given(args: readonly string[]): Configuration {
  const may: Record<string, number> = {};
  const fields: Partial<Configuration> = {};
  for (const arg of args) {
    const [key = "", value = "1"] = arg.split("=");
    switch (key) {
      case "type":
        fields.type = value === "rw" ? "read_write" : "read_only";
        break;
      case "settle":
        fields.settleInstants = Number(value);
        break;
      case "lag":
        fields.lagInstants = Number(value);
        break;
      case "shards":
        fields.shards = Number(value);
        break;
      case "memory":
        fields.memoryInstants = Number(value);
        break;
      case "listless":
      case "held":
        fields[key] = true;
        break;
      case "nameless":
        fields.showsNames = false;
        break;
      case "former":
        Object.assign(fields, formerStands);
        break;
      default:
        may[key] = Number(value);
    }
  }
  return configuration(args.join(" "), { ...fields, may });
}

/** The worlds of Branches, with so many happenings in the first three steps. */
async function searchBranches(happenings: number): Promise<void> {
  for (const one of ofBranches(happenings, 3)) {
    const startedAt = performance.now();
    const { paths, reconciles, violation } = await searchedBranches(one);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const found = violation === undefined ? "all ends well" : `${violation.what} by ${violation.path.join("; ")}`;
    console.log(`${one.name}: ${paths} paths, ${reconciles} reconciles, ${seconds} s: ${found}`);
    if (violation !== undefined) process.exitCode = 1;
  }
}

async function searchComputes(): Promise<void> {
  const worlds = args.join(" ").split(" -- ");
  const all = args.length === 0 ? configurations : args[0] === "large" ? largeConfigurations : undefined;
  for (const one of all ?? worlds.map((world) => given(world.split(" "))))
    console.log(told(one.name, await searched(one, parts)));
}

const args = process.argv.slice(2);
await (args[0] === "branch" ? searchBranches(Number(args[1] ?? 3)) : searchComputes());
