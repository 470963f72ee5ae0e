// `npm run bench -- scale`: fleets of several sizes, with the operator as the image runs it and with the baseline.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { wholeNumber } from "../../support/flags.ts";
import { endEverything } from "../../support/guardian.ts";
import { writeDocs } from "./docs.ts";
import { millionTable } from "./million.ts";
import { tables } from "./report.ts";
import { measure, type Round, type Setting } from "./round.ts";
import { baseline, operatorOfImage, type Subject, sampledOperator, twoShards } from "./subject.ts";

const usage = `Usage: npm run bench -- scale [flags]

  --fleet COMPUTES/PROJECTS  a fleet to measure, repeatable (default 100/10, 1000/10, 1000/1, 10000/100)
  --service locking|free     one kind of service only: whether an operation locks its project (default both)
  --public-limits            the service's public rate limits, and the default request budget
  --subject NAME             operator, baseline, shards, or sampled: the operator, whose longest tasks are told in CPU
                             time; repeatable (default operator and baseline)
  --runs N                   how often each is measured; tables show medians (default 1)
  --timeout SECONDS          how long a fleet may take after kubectl has ended (default 120)
  --json FILE                the figures as JSON, written after each round
  --from FILE                rounds of such a file too; repeatable. With it, only fleets that are named are measured
  --note TEXT                said of the machine in the docs, e.g. "with nothing beside it"
  --docs                     writes tables and plots of all these rounds to docs/proof/bench.md and docs/images`;

const everyFleet = ["100/10", "1000/10", "1000/1", "10000/100"];

const subjects: Readonly<Record<string, () => Subject>> = {
  operator: operatorOfImage,
  baseline: () => baseline,
  shards: twoShards,
  sampled: sampledOperator,
};

/** Runs the rounds that the flags name; answers the exit status. */
export async function scale(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      fleet: { type: "string", multiple: true },
      service: { type: "string" },
      "public-limits": { type: "boolean", default: false },
      subject: { type: "string", multiple: true, default: ["operator", "baseline"] },
      runs: { type: "string", default: "1" },
      timeout: { type: "string", default: "120" },
      json: { type: "string" },
      from: { type: "string", multiple: true, default: [] },
      note: { type: "string" },
      docs: { type: "boolean", default: false },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(usage);
    return 0;
  }
  const timeoutMs = wholeNumber(usage, "--timeout", values.timeout, 1) * 1000;
  const runs = wholeNumber(usage, "--runs", values.runs, 1);
  const kinds = [false, true].filter(
    (locks) => values.service === undefined || locks === (values.service === "locking"),
  );
  const fleets = values.fleet ?? (values.from.length > 0 ? [] : everyFleet);
  const limits = values["public-limits"] ? "public" : "raised";
  const settings = fleets.flatMap((fleet) => kinds.map((locks): Setting => ({ ...sizeOf(fleet), locks, limits })));
  const unknown = values.subject.filter((name) => !Object.hasOwn(subjects, name));
  if (unknown.length > 0) {
    console.error(`There is no subject ${unknown.join(", ")}. There are: ${Object.keys(subjects).join(", ")}.`);
    return 1;
  }
  const chosen = settings.length === 0 ? [] : values.subject.flatMap((name) => subjects[name]?.() ?? []);
  const rounds: Round[] = [];
  for (const setting of settings) {
    for (const subject of chosen) {
      for (let run = 1; run <= runs; run += 1) {
        const { computes, projects, locks } = setting;
        console.error(`${subject.name}: ${computes} in ${projects}, ${locks ? "locking" : "not locking"}, run ${run}`);
        rounds.push(await measure(setting, subject, timeoutMs, (line) => console.error(`  ${line}`)));
        if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(rounds, null, 1));
      }
    }
  }
  await endEverything();
  const all = [...values.from.flatMap(readRounds), ...rounds];
  console.log(`${tables(all)}\n\n${millionTable(all)}`);
  if (values.docs) writeDocs(all, values.note === undefined ? "" : `, ${values.note}`);
  return 0;
}

function sizeOf(fleet: string): Pick<Setting, "computes" | "projects"> {
  const [computes = "", projects = ""] = fleet.split("/");
  return {
    computes: wholeNumber(usage, "--fleet", computes, 1),
    projects: wholeNumber(usage, "--fleet", projects, 1),
  };
}

function readRounds(file: string): Round[] {
  const rounds: Round[] = JSON.parse(readFileSync(file, "utf8"), (_, value: unknown) =>
    // JSON has no other word for what is not a number.
    value === null ? Number.NaN : value,
  );
  return rounds;
}
