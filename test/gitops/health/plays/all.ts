import type { KubeObject } from "../../../simulation/api-server/objects.ts";
import type { Row } from "../world.ts";
import { branchPlays } from "./branch.ts";
import { computePlays } from "./compute.ts";
import { connectionPlays } from "./connection.ts";
import { poolPlays } from "./pool.ts";

export interface Played {
  rows: readonly Row[];
  /** Every version of every object on the way. */
  versions: readonly KubeObject[];
}

/** Plays everything, in the order of the table. */
export async function playAll(): Promise<Played> {
  const rows: Row[] = [];
  const versions: KubeObject[] = [];
  for (const play of [...computePlays, ...branchPlays, ...poolPlays, ...connectionPlays]) {
    await using world = await play();
    rows.push(...world.rows);
    versions.push(...world.versions);
  }
  return { rows, versions };
}
