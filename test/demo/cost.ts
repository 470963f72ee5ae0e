import type { CountedRequest } from "../support/counting-proxy.ts";

/** What a step cost the service in words, e.g. `1 write (POST /projects/shop/endpoints), 2 reads`. */
export function costOf(requests: readonly CountedRequest[]): string {
  const writes = requests.filter(({ method }) => method !== "GET");
  const reads = requests.length - writes.length;
  const named = tally(writes.map(({ method, path }) => `${method} ${path.replace("/api/v2", "")}`));
  return `${count(writes.length, "write")}${named === "" ? "" : ` (${named})`}, ${count(reads, "read")}`;
}

/** Equal lines once each, with how often. */
function tally(lines: readonly string[]): string {
  const times = new Map<string, number>();
  for (const line of lines) times.set(line, (times.get(line) ?? 0) + 1);
  return [...times].map(([line, often]) => (often === 1 ? line : `${often} × ${line}`)).join(", ");
}

function count(number: number, noun: string): string {
  return `${number === 0 ? "no" : number} ${noun}${number === 1 ? "" : "s"}`;
}
