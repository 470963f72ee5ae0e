import { killUnderWriters } from "../service/postgres/kills.ts";
import { crash } from "../service/store/crashes.ts";
import { flagsOf, partsOf, wholeNumber } from "../support/flags.ts";
import { storm } from "./storm.ts";
import { upgradeUnderKills } from "./upgrade.ts";

/** The last commit before the life cycle of all kinds became one. */
const earlierVersions = ["64956a22"];

const usage = `Usage: npm run chaos -- [operator] [service] [postgres] [upgrade] [flags]

All where none is named.
  operator   a storm over a large fleet on a real API server: see docs/proof/long-runs.md
  service    the service is killed again and again while it is being written to
  postgres   the service is killed again and again while clients write into its Postgres servers
  upgrade    an earlier version is killed while its requests have no known outcome, and this one takes over

  --computes N   Computes of the storm (default 500)
  --rounds N     how often everything else goes down in it, one after another (default 6)
  --seed N       of the storm and the upgrades (default 1)
  --crashes N    of the service (default 1000)
  --kills N      of the service with Postgres servers (default 200)
  --upgrades N   from each earlier version (default 10)
  --from COMMIT  the earlier version (default: each of ${earlierVersions.join(" and ")})`;

const { values, positionals } = flagsOf(usage, {
  allowPositionals: true,
  options: {
    computes: { type: "string", default: "500" },
    rounds: { type: "string", default: "6" },
    seed: { type: "string", default: "1" },
    crashes: { type: "string", default: "1000" },
    kills: { type: "string", default: "200" },
    upgrades: { type: "string", default: "10" },
    from: { type: "string", multiple: true, default: earlierVersions },
  },
});

const parts = {
  operator: stormOverOperators,
  service: crashesOfTheService,
  postgres: killsUnderWriters,
  upgrade: upgrades,
};
const named = partsOf(usage, positionals, Object.keys(parts));
const whole = (flag: Exclude<keyof typeof values, "from">) => wholeNumber(usage, `--${flag}`, values[flag], 1);
const numbers = {
  computes: whole("computes"),
  rounds: whole("rounds"),
  seed: whole("seed"),
  crashes: whole("crashes"),
  kills: whole("kills"),
  upgrades: whole("upgrades"),
};
for (const [name, run] of Object.entries(parts)) {
  if (named.includes(name) && !(await run())) process.exitCode = 1;
}

async function stormOverOperators(): Promise<boolean> {
  const report = await storm({
    computes: numbers.computes,
    seconds: 0,
    rounds: numbers.rounds,
    serviceGoneSeconds: 60,
    longestLifeSeconds: 60,
    deedsPerSecond: 8,
    createSettleSeconds: 60,
    longestHeldSeconds: 50,
    refreshInterval: "10s",
    settleSeconds: 1200,
    quietSeconds: 60,
    seed: numbers.seed,
    progress: (line) => console.log(line),
  });
  for (const [what, count] of Object.entries(report.figures)) console.log(`  ${String(count).padStart(7)}  ${what}`);
  for (const line of report.histories) console.error(line);
  for (const complaint of report.complaints) console.error(complaint);
  const { declared, atService, complaints } = report;
  console.log(`operator: ${declared} declared, ${atService} at the service, ${complaints.length} complaints`);
  return complaints.length === 0 && declared === atService;
}

async function crashesOfTheService(): Promise<boolean> {
  const count = numbers.crashes;
  const { answered, problems } = await crash(count, (done, writes, found) => {
    if (done % 50 === 0)
      console.log(`${done} of ${count} crashes, ${writes} answered writes, ${found.length} problems`);
  });
  for (const problem of problems) console.error(problem);
  console.log(`service: ${count} crashes, ${answered} answered writes, ${problems.length} problems`);
  return problems.length === 0;
}

async function killsUnderWriters(): Promise<boolean> {
  const { kills, committed, problems } = await killUnderWriters(numbers.kills, (done, rows) => {
    if (done % 10 === 0) console.log(`${done} of ${numbers.kills} kills, ${rows} committed rows`);
  });
  for (const problem of problems) console.error(problem);
  console.log(`postgres: ${kills} kills, ${committed} committed rows, ${problems.length} problems`);
  return problems.length === 0;
}

async function upgrades(): Promise<boolean> {
  let isClean = true;
  for (const commit of values.from) {
    const options = { commit, rounds: numbers.upgrades, seed: numbers.seed };
    const { rounds, open, problems } = await upgradeUnderKills(options, (line) => console.log(line));
    console.log(`upgrade: ${rounds} from ${commit}, ${open} open requests, ${problems.length} problems`);
    isClean &&= problems.length === 0;
  }
  return isClean;
}
