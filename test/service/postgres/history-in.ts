import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { placeAt } from "../../../src/service/postgres/data/segments.ts";
import type { BranchHistory } from "../../../src/service/postgres/history/branch-history.ts";
import { Histories } from "../../../src/service/postgres/history/histories.ts";
import type { ProcessUser } from "../../../src/service/postgres/host/processes.ts";

/** Makes the data of a branch, with the place of its log, and its history beside it. */
export function historyIn(directory: string, owner?: ProcessUser) {
  const root = join(directory, "history");
  const data = join(directory, "br-a.1");
  mkdirSync(join(data, "pg_wal", "archive_status"), { recursive: true });
  mkdirSync(root);
  const histories = new Histories(root, owner);
  return { root, data, histories, history: histories.of(data) };
}

/** The name of a segment by its number. */
export const segment = (number: number) => `00000001${placeAt(BigInt(number) << 20n)}`;

/** Adds a base with rows that tell its time, at the begin of a segment. */
export function addBase(to: BranchHistory, at: number, number: number, bytes = 0): Promise<void> {
  return to.addBase((place) => {
    mkdirSync(place);
    writeFileSync(join(place, "rows"), `rows at ${at}`);
    return Promise.resolve({ at, position: BigInt(number) << 20n, place: segment(number).slice(8), bytes });
  });
}
