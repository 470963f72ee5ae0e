import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { type PgClient, streamOf } from "../node-postgres.ts";
import type { PostgresRig } from "../rig.ts";
import { Branches, other } from "./branches.ts";
import { Gauge } from "./gauge.ts";
import type { Holder, Opening } from "./holder.ts";
import { leavings } from "./leavings.ts";
import { type Operation, operations, type Send, type Stage } from "./operations.ts";
import { sessions } from "./sessions.ts";
import { transactions } from "./transactions.ts";

/** All that a role of SQL holds here, by its name. */
export const holders: Readonly<Record<string, Holder>> = { ...sessions, ...transactions, ...leavings };

/** One holder and one operation of the API. */
export interface Cell {
  /** Of the operation, in seconds. */
  took: number;
  /** Errors of the operation, of the call, and what is other afterwards than the API says. */
  faults: string[];
  /** Longest wait of another client of the branch, and of another project's, in milliseconds. */
  branchWaits: number;
  otherWaits: number;
}

/** An operation of the API that has not ended after so many milliseconds is a fault. */
const longestMs = 60_000;

const Named = z.array(z.looseObject({ name: z.string() })).transform((all) => all.map(({ name }) => name).toSorted());

/** The names of the API's roles, and those of the databases of clients, as a server has them. */
const present = `SELECT
  ARRAY(SELECT member::regrole::text FROM pg_auth_members WHERE roleid = 'neon_superuser'::regrole
    AND member::regrole::text <> 'cloud_admin' ORDER BY 1) AS roles,
  ARRAY(SELECT datname::text FROM pg_database WHERE datname <> 'postgres' AND datname !~ '^template' ORDER BY 1) AS databases`;

/** What a role of SQL can hold, times what the API does: each cell on a branch of its own. */
export class Matrix {
  readonly #rig: PostgresRig;
  readonly #branches: Branches;

  constructor(rig: PostgresRig) {
    this.#rig = rig;
    this.#branches = new Branches(rig);
  }

  prepare(): Promise<void> {
    return this.#branches.prepare();
  }

  async cell({ hold, atReplica, locksOut }: Holder, operation: Operation): Promise<Cell> {
    const clients: PgClient[] = [];
    const stage = await this.#branches.create(atReplica === true || operation.replica === true);
    const open = async ({ database = "stock", role = "thief", settings = {}, replica = false }: Opening = {}) => {
      const endpoint = replica ? (stage.replica ?? "") : stage.endpoint;
      const client = await this.#rig.client(await this.#branches.uri({ ...stage, endpoint }, role, database), settings);
      clients.push(client);
      return client;
    };
    const gauges: Gauge[] = [];
    try {
      await hold({ open });
      const uris = [await this.#branches.uri(stage, "honest"), await this.#branches.uri(other, "app")];
      gauges.push(...uris.map((uri) => new Gauge(() => this.#rig.client(uri))));
      const begun = performance.now();
      const late = sleep(longestMs, ["the operation does not end"]);
      const faults = await Promise.race([this.#faultsOf(operation, stage), late]);
      const took = Math.round((performance.now() - begun) / 10) / 100;
      const [branchWaits = 0, otherWaits = 0] = await Promise.all(gauges.map((gauge) => gauge.end()));
      if (!operation.ends && !locksOut) faults.push(...(await this.#disagreements(stage)));
      return { took, faults, branchWaits, otherWaits };
    } finally {
      await Promise.all(gauges.map((gauge) => gauge.end()));
      for (const client of clients) streamOf(client).destroy();
      await this.#branches.clean();
    }
  }

  async #faultsOf({ act }: Operation, stage: Stage): Promise<string[]> {
    const faults: string[] = [];
    const send: Send = async (...call) => {
      const reply = await this.#rig.call(...call);
      if (reply.status >= 300) faults.push(`${reply.status} ${String(reply.body["message"])}`);
      const ends = await this.#branches.ends(reply);
      faults.push(...ends.filter(({ error }) => error !== undefined).map(({ action, error }) => `${action}: ${error}`));
      return reply;
    };
    await act(stage, send);
    return faults;
  }

  /** What the server has other than the API says. */
  async #disagreements(stage: Stage): Promise<string[]> {
    const faults: string[] = [];
    const [row = {}] = await this.#rig.query(await this.#branches.uri(stage, "honest"), present);
    for (const what of ["roles", "databases"]) {
      const { body } = await this.#rig.call("GET", `/projects/held/branches/${stage.branch}/${what}`);
      const [shown, there] = [Named.parse(body[what]).join(), String(row[what])];
      if (shown !== there) faults.push(`the API shows the ${what} ${shown}, and the server has ${there}`);
    }
    const { body } = await this.#rig.call("GET", `/projects/held/branches/${stage.branch}/roles`);
    for (const role of Named.parse(body["roles"])) {
      const login = this.#rig.query(await this.#branches.uri(stage, role), "SELECT 1");
      await login.catch((error: unknown) => faults.push(`${role}: ${String(error)}`));
    }
    return faults;
  }
}

/** Every cell of the matrix, or those of some. */
export function cellsOf(holdersOf: (operation: string) => readonly string[]) {
  return Object.entries(operations).flatMap(([name, operation]) =>
    holdersOf(name).map((held) => ({ name, operation, held, holder: holders[held] ?? { hold: () => unknown(held) } })),
  );
}

function unknown(name: string): never {
  throw new Error(`nothing that is held is named ${name}`);
}
