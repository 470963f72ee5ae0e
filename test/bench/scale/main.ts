// `npm run bench -- scale`: fleets of several sizes, with the operator as the image runs it and with the baseline.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { wholeNumber } from "../../support/flags.ts";
import { endEverything } from "../../support/guardian.ts";
import { svgOf } from "./plot.ts";
import { plotsOf, tables } from "./report.ts";
import { measure, type Round, type Setting } from "./round.ts";
import { baseline, operatorOfImage, type Subject } from "./subject.ts";

const usage = `Usage: npm run bench -- scale [flags]

  --fleet COMPUTES/PROJECTS  a fleet to measure, repeatable (default 100/10, 1000/10, 1000/1, 10000/100)
  --service locking|free     one kind of service only: whether an operation locks its project (default both)
  --subject NAME             operator or baseline only (default both)
  --timeout SECONDS          how long a fleet may take after kubectl has ended (default 120)
  --json FILE                the figures as JSON, written after each round
  --from FILE                show the rounds of such a file instead of measuring; repeatable
  --svg FILE                 plots of how each figure grows with the fleet`;

/** Runs the rounds that the flags name; answers the exit status. */
export async function scale(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      fleet: { type: "string", multiple: true, default: ["100/10", "1000/10", "1000/1", "10000/100"] },
      service: { type: "string" },
      subject: { type: "string" },
      timeout: { type: "string", default: "120" },
      json: { type: "string" },
      from: { type: "string", multiple: true, default: [] },
      svg: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(usage);
    return 0;
  }
  if (values.from.length > 0) return show(values.from.flatMap(readRounds), values.svg);
  const timeoutMs = wholeNumber(usage, "--timeout", values.timeout, 1) * 1000;
  const settings = values.fleet.flatMap((fleet): Setting[] => {
    const [computes = "", projects = ""] = fleet.split("/");
    const size = {
      computes: wholeNumber(usage, "--fleet", computes, 1),
      projects: wholeNumber(usage, "--fleet", projects, 1),
    };
    const kinds = [false, true].filter(
      (locks) => values.service === undefined || locks === (values.service === "locking"),
    );
    return kinds.map((locks) => ({ ...size, locks }));
  });
  const subjects: Subject[] = [operatorOfImage(), baseline].filter(
    ({ name }) => values.subject === undefined || name === values.subject,
  );
  const rounds: Round[] = [];
  for (const setting of settings) {
    for (const subject of subjects) {
      const { computes, projects, locks } = setting;
      console.error(`${subject.name}: ${computes} in ${projects}, ${locks ? "locking" : "not locking"}`);
      rounds.push(await measure(setting, subject, timeoutMs, (line) => console.error(`  ${line}`)));
      if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(rounds, null, 1));
    }
  }
  await endEverything();
  return show(rounds, values.svg);
}

function show(rounds: readonly Round[], svg: string | undefined): number {
  console.log(tables(rounds));
  if (svg !== undefined) writeFileSync(svg, svgOf(plotsOf(rounds)));
  return 0;
}

function readRounds(file: string): Round[] {
  const rounds: Round[] = JSON.parse(readFileSync(file, "utf8"), (_, value: unknown) =>
    // JSON has no other word for what is not a number.
    value === null ? Number.NaN : value,
  );
  return rounds;
}
