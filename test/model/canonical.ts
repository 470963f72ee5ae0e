/**
 * Text of a value that is equal for equal values: keys sorted, nothing that is undefined, and what JSON lacks (maps,
 * infinities) spelled out.
 */
export function textOf(value: unknown): string {
  if (value === Number.NEGATIVE_INFINITY) return '"-inf"';
  if (value === Number.POSITIVE_INFINITY) return '"+inf"';
  if (value instanceof Map)
    return `{"$map":${textOf([...value].toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))}}`;
  if (Array.isArray(value)) return `[${value.map((one) => textOf(one)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${textOf(member)}`)
    .join(",")}}`;
}

/** The value of such a text. */
export function valueOf(text: string): unknown {
  if (!text.includes('-inf"') && !text.includes('"$map"') && !text.includes('+inf"')) return JSON.parse(text);
  return JSON.parse(text, (_, value: unknown) => {
    if (value === "-inf") return Number.NEGATIVE_INFINITY;
    if (value === "+inf") return Number.POSITIVE_INFINITY;
    if (typeof value === "object" && value !== null && "$map" in value)
      return new Map(trusted<[unknown, unknown][]>(value.$map));
    return value;
  });
}

/** Texts by small numbers, so that a state can name them. */
export class Interned {
  readonly #texts: string[] = [""];
  readonly #numbers = new Map<string, number>([["", 0]]);

  of(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#texts.push(text);
    this.#numbers.set(text, this.#texts.length - 1);
    return this.#texts.length - 1;
  }

  text(number: number): string {
    return this.#texts[number] ?? "";
  }
}

/** The present instant on a process's monotonic clock, in milliseconds: times are kept relative to it. */
export const nowMs = 5_000_000_000_000;

/** An instant of the model lasts as long as a list may lag, in milliseconds. */
export const tickMs = 10_000;

const times = /(?<=[:,[])(?:4999|5000)\d{9}(?=[,\]}])/g;

/** Times that a process records now are this late in the present instant; what came due in it is earlier. */
const presentMs = 500;

/** Times of which nothing depends but their order to those of later lists. */
const ordering =
  /(?<="(?:countAfter|firstCreateAfter|seenSince|dueAt)":|"laidOver":\{"at":|"laidOver":\{"at":\d{13},"before":|"ep-\d",|"answered":\[\{"at":)\d{13}/g;

export interface Forgetting {
  /** Times older than so many instants all count as that old. */
  oldest: number;
  /** Times later than so many instants all count as that late. */
  latest: number;
  /** Whether the order of times of one instant is kept. */
  isOrdered: boolean;
}

/**
 * A process's memory with its times moved `ticks` instants back. Each is later within its instant than any of an older
 * one: two of different instants are whole instants apart.
 */
export function shifted(text: string, ticks: number, { oldest, latest, isOrdered }: Forgetting): string {
  const found = [...new Set(text.match(times))].map(Number).toSorted((a, b) => a - b);
  if (found.length === 0) return text;
  const ranks = new Map<number, number>();
  const names = new Map<string, string>();
  for (const at of found) {
    const before = Math.floor((at - nowMs) / tickMs);
    const tick = Math.max(-oldest, Math.min(latest, before - ticks));
    const isPresent = before === 0 && ticks === 0 && at - nowMs >= presentMs;
    const base = tick * tickMs + (isPresent ? presentMs : tick > 0 ? 0 : 440 + tick * 20);
    const rank = isOrdered ? (ranks.get(base) ?? 0) + 1 : 1;
    ranks.set(base, rank);
    if (rank >= 20 && tick < 0) throw new Error("too many times in one instant");
    names.set(String(at), String(nowMs + base + rank));
  }
  const moved = text.replaceAll(times, (at) => names.get(at) ?? at);
  return isOrdered ? moved : moved.replaceAll(ordering, (at) => String(Math.max(Number(at), longAgo)));
}

const longAgo = nowMs - tickMs + 421;

/** The first millisecond of the present instant that is later than every time in this memory. */
export function nextMoment(text: string): number {
  const present = (text.match(times) ?? []).map(Number).filter((at) => at < nowMs + tickMs);
  return Math.max(nowMs + presentMs, ...present) + 1;
}

/** Versions of the object, as the API server numbers them: all that counts is which of two is newer. */
const versions = /(?<=")90000000\d\d\d(?=")/g;
export const newestVersion = 900;

export function versionText(version: number): string {
  return `90000000${version}`;
}

export function versionsIn(text: string): number[] {
  return (text.match(versions) ?? []).map((version) => Number(version.slice(8)));
}

export function renumbered(text: string, names: ReadonlyMap<number, number>): string {
  return text.replaceAll(versions, (version) => versionText(names.get(Number(version.slice(8))) ?? 0));
}

/** The numbers of records: all that counts is which is the newer one. */
const numbers = /(?<="n":)\d+/g;

export function numbersIn(text: string): number[] {
  return (text.match(numbers) ?? []).map(Number);
}

export function withNumbers(text: string, names: ReadonlyMap<number, number>): string {
  return text.replaceAll(numbers, (number) => String(names.get(Number(number)) ?? number));
}

/** A value that this model made itself, or stands for in a part that is asked for. */
export function trusted<T>(value: unknown, like?: T): T;
export function trusted(value: unknown): unknown {
  return value;
}
