/** One of the programs of `npm run verify:long`. */
export interface LongRun {
  name: string;
  /** The npm script and what stands behind its `--`, or a program of its own. */
  script?: string;
  program?: string;
  flags: readonly string[];
  shows: string;
  /** The line of its output that sums it up; its first group goes into docs/proof/long-runs.md. */
  summary?: RegExp;
}

/** Each fails by its exit status. */
export const longRuns: readonly LongRun[] = [
  {
    name: "seeds",
    script: "simulate",
    flags: ["--seeds", "20000", "--from", "200001"],
    shows: "the promises, in ten times as many simulated worlds as `npm run verify` plays",
    summary: /^seeds (.*)$/,
  },
  {
    name: "pairs",
    script: "simulate",
    flags: ["pairs"],
    shows: "the promises, with every ordered pair of faults at every pair of requests of the crash-point scenarios",
    summary: /^pairs: (.*)$/,
  },
  {
    name: "storm",
    script: "chaos",
    flags: ["operator"],
    shows: "the promises, on real processes that are killed under 500 Computes",
    summary: /^operator: (.*)$/,
  },
  {
    name: "crashes",
    script: "chaos",
    flags: ["service"],
    shows: "the service loses nothing that it answered, over 1,000 kills",
    summary: /^service: (.*)$/,
  },
  {
    name: "kills",
    script: "chaos",
    flags: ["postgres"],
    shows:
      "no committed row is lost and no Postgres server is left over, over 200 kills of the service while clients write",
    summary: /^postgres: (.*)$/,
  },
  {
    name: "soak",
    script: "soak",
    flags: [],
    shows: "an hour of churn leaves memory, handles and watches as they were",
    summary: /^\| at the end \| (.*) \|$/,
  },
  {
    name: "mutants",
    script: "mutants",
    flags: [],
    shows: "small mistakes in `src`, one at a time, are caught by a test: [mutants](#mutants)",
    summary: /^mutants: (.*)$/,
  },
  {
    name: "clients",
    program: "test/service/vendor/python.ts",
    flags: [],
    shows: "Python's client of the public service works against ours, unmodified",
    summary: /^clients: (.*)$/,
  },
  {
    name: "gitops",
    script: "generate",
    flags: ["gitops"],
    shows:
      "Argo CD's engine applies, changes, prunes and reverts what Git says, beside the operator: [a loop](health.md#a-loop-as-argo-cds-engine-sees-it)",
    summary: /^gitops: (.*)$/,
  },
  { name: "bench", script: "bench", flags: [], shows: "latency, endpoint lists and fairness are below their limits" },
];

/** As a person types it. */
export function commandOf(run: LongRun): string {
  const [program = "", ...words] = wordsOf(run);
  return [program, ...words.filter((word) => word !== "--silent")].join(" ");
}

/** The program with its words. */
export function wordsOf({ script, program = "", flags }: LongRun): readonly string[] {
  if (script === undefined) return ["node", program, ...flags];
  return ["npm", "run", "--silent", script, ...(flags.length > 0 ? ["--", ...flags] : [])];
}
