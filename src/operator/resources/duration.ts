import { z } from "zod";
import { type Rule, withRules } from "./fields.ts";

const secondsPer = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 24 * 3600],
]);

/** With this many digits no sum of parts of 20 characters leaves the integers of CEL. */
const written = /^([0-9]{1,14}[smhd])+$/;

/**
 * Whole seconds of a duration as manifests write it: numbers followed by s, m, h or d, for example "90s" or "1d12h".
 * Undefined for anything else.
 */
export function secondsOf(text: string): number | undefined {
  if (!written.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit = ""] of text.matchAll(/([0-9]+)([smhd])/g)) {
    seconds += Number(count) * (secondsPer.get(unit) ?? 0);
  }
  return seconds;
}

/** The same in milliseconds; 0 for anything else. */
export function millisecondsOf(text: string): number {
  return (secondsOf(text) ?? 0) * 1000;
}

/** The shortest way to write whole seconds as a duration: 300 as "5m", 5400 as "1h30m". */
export function durationOf(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = seconds % 60;
  const parts = [hours > 0 ? `${hours}h` : "", minutes > 0 ? `${minutes}m` : "", rest > 0 ? `${rest}s` : ""];
  return parts.join("") || "0s";
}

/** The same as a sum in CEL, which knows no days and whose `duration()` fails at a text that is none. */
const secondsInCEL = [
  "self.findAll('[0-9]+[smhd]').map(part, int(part.substring(0, part.size() - 1))",
  " * (part.endsWith('d') ? 86400 : part.endsWith('h') ? 3600 : part.endsWith('m') ? 60 : 1)).sum()",
].join("");

/** The sentence about a bad duration, in a manifest and on the command line. */
export function allowedDuration(what: string, least: number, most: number): string {
  const days = most / 86_400;
  const longest = days > 1 && Number.isInteger(days) ? `${days}d` : durationOf(most);
  return `${what} must be between ${durationOf(least)} and ${longest}, in the units s, m, h and d, for example 1h30m or 1d`;
}

/** A duration field from `least` to `most` seconds. One rule, so that a bad one is answered by one sentence. */
export function duration(what: string, least: number, most: number) {
  const range: Rule<string> = {
    cel: `self.matches('${written.source}') && ${secondsInCEL} >= ${least} && ${secondsInCEL} <= ${most}`,
    message: allowedDuration(what, least, most),
    holds: (text) => {
      const seconds = secondsOf(text);
      return seconds !== undefined && seconds >= least && seconds <= most;
    },
  };
  return withRules(z.string().max(20), range);
}
