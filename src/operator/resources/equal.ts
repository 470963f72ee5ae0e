import { isDeepStrictEqual } from "node:util";

/** Whether two values are the same once written as JSON: order of members and absent members do not count. */
export function sameJSON(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(plain(a), plain(b));
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
