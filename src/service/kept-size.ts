import { refusals } from "./refusal.ts";

/** The most that a client may keep with one object, in characters of its JSON. */
const mostOfOne = 16_384;
/** The most that clients may keep with all objects of a list that is made in one go, likewise. */
const mostOfAll = 4_000_000;
/** Objects that keep so little are not summed up: their number is bounded. */
const little = 512;

/** Refuses what a client wants to keep with an object where it is too long, alone or with that of others. */
export function refuseLong(what: string, kept: unknown, lengthOfOthers: () => number = () => 0): void {
  const { length } = JSON.stringify(kept ?? {});
  if (length > mostOfOne) {
    throw refusals.invalid(`${what}: ${length} characters of JSON are too many, at most ${mostOfOne} are possible`);
  }
  refuseMuch(what, length, lengthOfOthers);
}

/** Refuses so many characters more in a list that is made in one go where it would have too many. */
export function refuseMuch(what: string, length: number, lengthOfOthers: () => number): void {
  if (length > little && length + lengthOfOthers() > mostOfAll) {
    throw refusals.unprocessable(
      `${what}: all of them in one list have at most ${mostOfAll} characters of JSON, so keep less or delete some`,
    );
  }
}
