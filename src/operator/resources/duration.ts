import { z } from "zod";
import { type Rule, withRules } from "./fields.ts";

const secondsPer = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
]);

/**
 * Whole seconds of a duration as manifests write it: numbers followed by s, m or h, for example "90s" or "1h30m".
 * Undefined for anything else.
 */
export function secondsOf(text: string): number | undefined {
  if (!/^([0-9]+(s|m|h))+$/.test(text)) return undefined;
  let seconds = 0;
  for (const [, count, unit = ""] of text.matchAll(/([0-9]+)([smh])/g)) {
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

/** A duration field from `least` to `most` seconds. */
export function duration(what: string, least: number, most: number) {
  const range: Rule<string> = {
    cel: `duration(self) >= duration('${least}s') && duration(self) <= duration('${most}s')`,
    message: `${what} must be between ${durationOf(least)} and ${durationOf(most)}`,
    holds: (text) => {
      const seconds = secondsOf(text);
      return seconds === undefined || (seconds >= least && seconds <= most);
    },
  };
  const text = z
    .string()
    .max(20)
    .regex(/^([0-9]+(s|m|h))+$/, "must be numbers with the units s, m or h, for example 90s or 1h30m");
  return withRules(text, range);
}
