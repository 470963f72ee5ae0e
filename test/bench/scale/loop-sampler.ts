// Preloaded into a program under measurement: appends to $LOOP_SAMPLES, for each interval between two timers in which
// its thread computed for long, when that was (milliseconds since the epoch) and how long it computed (milliseconds).
import { appendFileSync } from "node:fs";

const everyMs = 10;
const worthTellingMs = 10;

const file = process.env["LOOP_SAMPLES"] ?? "";
let before: NodeJS.CpuUsage | undefined;
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  const computedMs = (user + system) / 1000;
  // Until the first timer the program is loaded.
  if (before !== undefined && computedMs > worthTellingMs) appendFileSync(file, `${Date.now()} ${computedMs}\n`);
  before = process.threadCpuUsage();
}, everyMs).unref();
