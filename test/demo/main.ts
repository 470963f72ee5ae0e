// `npm run demo` shows the whole life of a Compute and leaves everything up to play with, until Ctrl-C. Nothing is left
// behind, however it ends.
import { dirname } from "node:path";
import { flagsOf } from "../support/flags.ts";
import { endEverything } from "../support/guardian.ts";
import { setStage } from "./demo-stage.ts";
import { samplesFor } from "./samples.ts";
import { createScreen } from "./screen.ts";
import { toPlayWith } from "./to-play-with.ts";
import { walk } from "./walk.ts";

const usage = `Usage: npm run demo -- [flags]

Shows the whole life of a Compute on a real control plane, and stays up to play with until Ctrl-C.

  --once         ends by itself
  --model        no Postgres runs behind the computes
  --rules NAME   what the service enforces: specification (the default), or neon as the public service does now`;

const { values } = flagsOf(usage, {
  options: {
    once: { type: "boolean", default: false },
    model: { type: "boolean", default: false },
    rules: { type: "string", default: "specification" },
  },
});
process.chdir(dirname(dirname(import.meta.dirname)));

const screen = createScreen(process.stdout);
const interrupted = new Promise<"interrupted">((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve("interrupted"));
});

/** What the demo has come to: `up` while it is left to play with. */
let state: "walking" | "up" = "walking";

const ended = await Promise.race([show(), interrupted]).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return "failed" as const;
});
const ending = endEverything();
if (ended === "interrupted") screen.note("Stopping…");
await ending;
if (ended === "shown")
  screen.note("All of it is stopped, and nothing is left behind. Without --once it stays up to play with.");
if (ended === "interrupted") screen.note("Stopped. Nothing is left behind.");
process.exit(ended === "failed" ? 1 : ended === "interrupted" && state === "walking" ? 130 : 0);

async function show(): Promise<"shown"> {
  const explanation = "A real Kubernetes control plane, the service, and the operator, each a process of its own.";
  screen.heading("Set the stage", explanation);
  const stage = await setStage(screen, values);
  await walk(screen, stage, samplesFor(stage.counter.baseURL));
  if (values.once) return "shown";
  state = "up";
  screen.note(toPlayWith(stage.controlPlane, stage.counter.baseURL, stage.operatorLog));
  return new Promise(() => undefined);
}
