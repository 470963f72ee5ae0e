import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { z } from "zod";
import { flagsOf, wholeNumber } from "../../support/flags.ts";

const usage = `Usage: npm run simulate -- traces record FILE | compare FILE [flags]

Proves that a change of structure changes no behaviour: records a hash of every request that the operators of many
simulated worlds send, and of what is there at the end, and compares a later version with it.

  --seeds N            how many seeds (default 1000)
  --from N             the first of them (default 1)
  --workers N          on how many cores (default: all)
  --without-messages   leaves the messages of conditions and events out: for a change of words only`;

const Recorded = z.object({
  messages: z.boolean(),
  traces: z.array(z.object({ seed: z.number(), requests: z.number(), sent: z.string(), end: z.string() })),
});
type Recorded = z.infer<typeof Recorded>;

const { values, positionals } = flagsOf(usage, {
  allowPositionals: true,
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    workers: { type: "string", default: String(availableParallelism()) },
    "without-messages": { type: "boolean", default: false },
  },
});
const whole = (flag: "seeds" | "from" | "workers") => wholeNumber(usage, `--${flag}`, values[flag] ?? "", 1);
const [command, file] = positionals;

if (command === "record" && file !== undefined) {
  const recorded = await record(whole("from"), whole("seeds"), !values["without-messages"]);
  writeFileSync(file, JSON.stringify(recorded));
  console.log(`${recorded.traces.length} seeds recorded in ${file}`);
} else if (command === "compare" && file !== undefined) {
  process.exitCode = await compare(Recorded.parse(JSON.parse(readFileSync(file, "utf8"))));
} else {
  console.error(usage);
  process.exitCode = 1;
}

async function compare(before: Recorded): Promise<number> {
  const seeds = before.traces.map(({ seed }) => seed);
  const after = await record(Math.min(...seeds), seeds.length, before.messages);
  const now = new Map(after.traces.map((trace) => [trace.seed, trace]));
  const changed = before.traces.filter(({ seed, sent, end }) => {
    const trace = now.get(seed);
    return trace?.sent !== sent || trace.end !== end;
  });
  for (const { seed, requests } of changed.slice(0, 20)) {
    console.log(`seed ${seed}: ${requests} requests before, ${now.get(seed)?.requests ?? 0} now`);
  }
  console.log(`${seeds.length} seeds compared, ${changed.length} changed`);
  return changed.length === 0 ? 0 : 1;
}

async function record(from: number, seeds: number, messages: boolean): Promise<Recorded> {
  const traces: Recorded["traces"] = [];
  const workers = whole("workers");
  const shares = Array.from({ length: workers }, (_, index) => ({
    from: from + index,
    until: from + seeds,
    step: workers,
  }));
  await Promise.all(
    shares.map(
      (share) =>
        new Promise<void>((resolve, reject) => {
          const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: { ...share, messages } });
          worker.on("message", (message) => traces.push(Recorded.shape.traces.element.parse(message)));
          worker.once("error", reject);
          worker.once("exit", () => resolve());
        }),
    ),
  );
  return { messages, traces: traces.toSorted((a, b) => a.seed - b.seed) };
}
