import { beforeEach, expect, it } from "vitest";
import type { Running } from "../../../../src/service/postgres/fleet/fleet-ports.ts";
import { Logouts } from "../../../../src/service/postgres/fleet/logouts.ts";
import type { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

let clock: VirtualClock;
/** What servers were asked and clients told, in order, each with its compute. */
let done: string[];
/** True while a replica lacks what the primary has. */
let isBehind: boolean;
/** True if that ends with the sessions of its server. */
let isHeldByASession: boolean;
/** True while a replica lets no session in. */
let isFull: boolean;
let logouts: Logouts;
beforeEach(() => {
  clock = new VirtualClock();
  done = [];
  isBehind = isHeldByASession = isFull = false;
  const running = [
    compute("ep-main", "br-main", "read_write"),
    compute("ep-replica", "br-main", "read_only"),
    compute("ep-other", "br-other", "read_write"),
  ];
  logouts = new Logouts({
    running: () => running,
    sessions: {
      open: ({ sockets }) => (isFull ? Promise.reject(new Error("full")) : Promise.resolve(session(sockets))),
    },
    clients: { logOut: (id, roles) => void done.push(`${id}: clients of ${roles?.join() ?? "all"}`) },
    clock,
    restart: ({ id }) => {
      done.push(`${id}: starts again`);
      isBehind &&= !isHeldByASession;
      isFull = false;
      return Promise.resolve(running.find(({ endpoint }) => endpoint.id === id));
    },
  });

  /** A compute whose socket lies in a directory of its name. */
  function compute(id: string, branchId: string, type: string): Running {
    return JSON.parse(JSON.stringify({ endpoint: { id, branchId, type }, config: { sockets: id } }));
  }
});

function session(id: string): SqlClient {
  return Object.assign(JSON.parse("{}"), {
    query: (sql: string) => {
      done.push(`${id}: ${inShort(sql)}`);
      if (sql.includes("insert_lsn")) return Promise.resolve([["0/AB"]]);
      return Promise.resolve(sql.includes("replay_lsn") && isBehind ? [["1"]] : []);
    },
    [Symbol.dispose]: () => void done.push(`${id}: closed`),
  });
}

function inShort(sql: string): string {
  const plain = sql.replaceAll(" E'", "'");
  const whose = /IN \((.*?)\) AND/.exec(plain)?.[1] ?? (/usename <> ?'cloud_admin'/.test(plain) ? "all" : "nobody");
  if (/terminate_backend\(pid, \d+\)/.test(plain)) return `wait for ${whose}`;
  if (plain.includes("pg_terminate_backend")) return `end ${whose}`;
  return plain.includes("insert_lsn") ? "position" : `has ${/'(0\/\w+)'::/.exec(plain)?.[1]}`;
}

const ends = (id: string, whose: string) => [`${id}: end ${whose}`, `${id}: wait for ${whose}`];

it("sessions of the roles end at the primary, then at its replicas, and clients are logged out with each", async () => {
  await logouts.end("br-main", session("ep-main"), ["app", "it's"]);
  const whose = "'app', 'it''s'";
  expect(done).toEqual([
    "ep-main: position",
    ...ends("ep-main", whose),
    "ep-main: clients of app,it's",
    "ep-replica: has 0/AB",
    ...ends("ep-replica", whose),
    "ep-replica: clients of app,it's",
    "ep-replica: closed",
  ]);
});

it("all sessions end but the service's own, where no roles are named", async () => {
  await logouts.end("br-main", session("ep-main"), undefined);
  expect(done.filter((one) => one.includes("end "))).toEqual(["ep-main: end all", "ep-replica: end all"]);
});

it("a replica that is behind is asked again until it has the change, and its sessions end each time", async () => {
  isBehind = true;
  const ending = logouts.end("br-main", session("ep-main"), ["app"]);
  await clock.advance(100);
  expect(done.filter((one) => one === "ep-replica: has 0/AB")).toHaveLength(3);
  expect(done).not.toContain("ep-replica: clients of app");
  isBehind = false;
  await clock.advance(50);
  await ending;
  expect(done.slice(-5)).toEqual([
    "ep-replica: has 0/AB",
    ...ends("ep-replica", "'app'"),
    "ep-replica: clients of app",
    "ep-replica: closed",
  ]);
});

it("sessions of all end at a replica that a query has held up for ten seconds, and after thirty it starts again", async () => {
  isBehind = isHeldByASession = true;
  const ending = logouts.end("br-main", session("ep-main"), ["app"]);
  await clock.advance(9950);
  expect(done).not.toContain("ep-replica: end all");
  await clock.advance(50);
  expect(done.at(-1)).toBe("ep-replica: wait for all");
  await clock.advance(20_000);
  expect(done.at(-1)).toBe("ep-replica: wait for all");
  expect(done).not.toContain("ep-replica: clients of app");
  await clock.advance(50);
  await ending;
  expect(done.slice(-7)).toEqual([
    "ep-replica: closed",
    "ep-replica: starts again",
    "ep-replica: has 0/AB",
    ...ends("ep-replica", "'app'"),
    "ep-replica: clients of app",
    "ep-replica: closed",
  ]);
});

it("a replica that is behind thirty seconds after it has started again is given up", async () => {
  isBehind = true;
  const ending = logouts.end("br-main", session("ep-main"), ["app"]);
  ending.catch(() => {});
  await clock.advance(60_050);
  expect(done.at(-1)).toBe("ep-replica: wait for all");
  await clock.advance(50);
  await expect(ending).rejects.toThrow("replica ep-replica is behind: sessions may be open there");
  expect(done.slice(-1)).toEqual(["ep-replica: closed"]);
  expect(done).not.toContain("ep-replica: clients of app");
});

it("a replica that lets no session in, as a client has all its locks, starts again", async () => {
  isFull = true;
  await logouts.end("br-main", session("ep-main"), ["app"]);
  expect(done.slice(-6)).toEqual([
    "ep-replica: starts again",
    "ep-replica: has 0/AB",
    ...ends("ep-replica", "'app'"),
    "ep-replica: clients of app",
    "ep-replica: closed",
  ]);
});

it("a branch whose primary does not run here has no other clients to log out", async () => {
  await logouts.end("br-none", session("ep-main"), ["app"]);
  expect(done).toEqual(["ep-main: position", ...ends("ep-main", "'app'")]);
});
