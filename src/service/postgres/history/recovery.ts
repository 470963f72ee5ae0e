import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type HistoryPoint, lsnOf, positionOf } from "../../domain/history-point.ts";
import type { BranchData } from "../../store/branch-data.ts";
import type { CatalogThen } from "../../store/catalog.ts";
import { presentIn, presentQuery } from "../catalog/catalog-changes.ts";
import { checkpointOf } from "../data/backup.ts";
import { pointInWords } from "../data/point.ts";
import { isSegment, placeAt } from "../data/segments.ts";
import { copyTree } from "../host/copy-tree.ts";
import { ServerFailed } from "../host/failure.ts";
import { writePrivate } from "../host/private-file.ts";
import type { ProcessUser } from "../host/processes.ts";
import type { OwnServer } from "../server/own-server.ts";
import { isOurs, privilegedRole } from "../session/privileged-role.ts";
import { readableRows } from "../session/readable-names.ts";
import { type SqlClient } from "../session/sql-client.ts";
import type { Base, BranchHistory } from "./branch-history.ts";
import { positionBy } from "./commits.ts";

export interface RecoveryPorts {
  now: () => number;
  owner: ProcessUser | undefined;
  /** Rejects with `ServerFailed` where the disk lacks room for a copy of a directory. */
  refuseFullDisk(directory: string): Promise<void>;
  /** A session on the data of the source, whose server runs or is started for it. */
  session<Result>(act: (client: Pick<SqlClient, "query">) => Promise<Result>): Promise<Result>;
  /** Runs a server on a directory that recovers to a point first. */
  serve(data: string, point: HistoryPoint): Promise<OwnServer>;
}

/** The catalogue of a recovered server. */
export interface Present {
  /** Of its privileged role and the roles that the API made, but of none that a client made of such a name. */
  roleNames: readonly string[];
  /** Roles that the API made. */
  roles: CatalogThen["roles"];
  databases: CatalogThen["databases"];
}

export interface Recovered {
  /** The position in its source's history at which the recovery began. */
  position: bigint;
  /** The place in the log where it left that history. */
  place: string;
  present: Present;
}

/**
 * Makes the state that a branch had at a point, in a directory: a base, with the log that follows, on which a server
 * recovers to the point. Answers `undefined` where the point is the present, and nothing is made. Rejects with
 * `ServerFailed`. To be called in the turn of the branch.
 */
export async function recover(
  source: BranchData & { directory: string },
  history: BranchHistory,
  point: HistoryPoint,
  to: string,
  ports: RecoveryPorts,
): Promise<Recovered | undefined> {
  const reached = await ports.session((client) => marked(client, ports.now));
  if (point.kind === "time" && point.at >= reached.at) return undefined;
  if (point.kind === "lsn" && positionOf(point.lsn) > reached.position) {
    throw new ServerFailed(`${pointInWords(point)} lies after the end of the log of branch ${source.branchId}`);
  }
  await history.archive(source.directory);
  const base = await newestBase(point, history, source.branchId);
  await ports.refuseFullDisk(base.directory);
  await copyTree(base.directory, to, { owner: ports.owner });
  await history.restoreLog(base.place, source.directory, join(to, "pg_wal"));
  // Of a base that was removed meanwhile, the copy and the log lack files. A newer one may have become whole.
  await newestBase(point, history, source.branchId);
  if (!existsSync(base.directory)) throw new ServerFailed(`${pointInWords(point)} has another base by now: try again`);
  // As a standby it reads the log in pg_wal; for a mere recovery Postgres wants a command, and with it a shell.
  await writePrivate(join(to, "standby.signal"), "", ports.owner);
  const server = await ports.serve(to, await exactly(point, base, join(to, "pg_wal")));
  let present: Present;
  try {
    present = await catalogIn(server.connect("postgres"));
  } finally {
    await server.stop();
  }
  return { position: base.position, place: placeAt(await checkpointOf(to)), present };
}

async function newestBase(point: HistoryPoint, history: BranchHistory, branchId: string): Promise<Base> {
  const base = await history.baseFor(point);
  if (base) return base;
  const [oldest] = await history.bases();
  const begins = oldest ? `begins at ${new Date(oldest.at).toISOString()}` : "has not begun";
  throw new ServerFailed(`${pointInWords(point)} lies before the history of branch ${branchId}, which ${begins}`);
}

/** A time as the position of the log at which the last transaction had ended by then. */
async function exactly(point: HistoryPoint, { place, position: from }: Base, directory: string): Promise<HistoryPoint> {
  if (point.kind === "lsn") return point;
  const names = (await readdir(directory)).filter(isSegment);
  const position = await positionBy(point.at, { directory, names, place, from });
  return position === undefined ? point : { kind: "lsn", lsn: lsnOf(position) };
}

/**
 * Ends the segment of the log with a commit in it: a recovery to a time ends at the first commit after that, and fails
 * where there is none.
 */
async function marked(client: Pick<SqlClient, "query">, now: () => number): Promise<{ at: number; position: bigint }> {
  const at = now();
  await client.query("SELECT pg_current_xact_id()");
  const [row] = await client.query("SELECT pg_switch_wal()");
  return { at, position: positionOf(row?.[0] ?? "") };
}

async function catalogIn(connecting: Promise<SqlClient>): Promise<Present> {
  using client = await connecting;
  const databases = presentIn(await readableRows(client, presentQuery));
  const found = await client.query(`SELECT rolname, rolcanlogin FROM pg_roles WHERE ${isOurs}`);
  const roles = found.map(([name, login]) => ({ name: name ?? "", login: login === "t" }));
  return {
    roleNames: roles.map(({ name }) => name),
    roles: roles.filter(({ name }) => name !== privilegedRole),
    databases: [...databases].map(([name, ownerName]) => ({ name, ownerName })),
  };
}
