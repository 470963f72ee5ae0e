import { inWords } from "./actions.ts";
import type { RunResult } from "./run.ts";
import type { Script } from "./run-script.ts";

/** A failure for a person: what was broken, the line that replays it, and what led there. */
export function describeFailure(script: Script, { violations, history }: RunResult): string {
  const broken = violations.map(
    ({ promise, message, atMs }) => `${promise}: ${message} (at ${(atMs / 1000).toFixed(1)} s)`,
  );
  return [
    `seed ${script.seed} breaks a promise: ${broken.join("; ")}`,
    `replay it: npm run simulate -- --seed ${script.seed}`,
    `${settingOf(script)}, faults until ${script.calmAtMs / 1000} s, then:`,
    ...script.actions.map(inWords),
    "what happened last:",
    ...history().slice(-40),
  ].join("\n");
}

function settingOf({ operators, shards, strictSpec }: Script): string {
  const who = shards === true ? "two shards" : operators === 1 ? "one operator" : "two operators";
  return strictSpec === true ? `${who}, a service that shows only what is specified` : who;
}
