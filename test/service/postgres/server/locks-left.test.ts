import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { smallest } from "../../../../src/service/postgres/server/config.ts";
import { startWithLocksLeft } from "../../../../src/service/postgres/server/locks-left.ts";
import { PostgresServer } from "../../../../src/service/postgres/server/server.ts";
import { FakeData } from "../fake/fake-data.ts";
import { FakeMachine } from "../fake/fake-machine.ts";
import { HastenedClock } from "../fake/hastened-clock.ts";

/** The locks that the smallest compute has with places for prepared transactions. */
const all = 64 * (smallest.maxConnections + smallest.maxWorkerProcesses + 1000);

let data: string;
beforeEach(() => {
  data = join(mkdtempSync(join(tmpdir(), "cpg-locks-")), "data");
  FakeData.initialise(data);
});
afterEach(() => rmSync(join(data, ".."), { recursive: true }));

/** Of a relation or something else, and a mode: 8 is ACCESS EXCLUSIVE. */
interface Lock {
  relation: number;
  mode: number;
  kind?: number;
}

/** A prepared transaction in its file, as Postgres writes it: records of 32 bytes, of locks or of other things. */
function prepare(name: string, locks: number, others = 0, { relation, mode, kind = 0 }: Lock = ofClient): void {
  const record = (of: number) => {
    const bytes = Buffer.alloc(32, 7);
    bytes.writeUInt32LE(20);
    bytes[4] = of;
    bytes.writeUInt16LE(0, 6);
    bytes.writeUInt32LE(relation, 12);
    bytes[22] = kind;
    bytes.writeInt32LE(mode, 24);
    return bytes;
  };
  const header = Buffer.alloc(80);
  const records = [Buffer.alloc(32 * others, record(3)), Buffer.alloc(32 * locks, record(1))];
  writeFileSync(join(data, "pg_twophase", name), Buffer.concat([header, ...records]));
}

const ofClient: Lock = { relation: 16_384, mode: 8 };

interface Start {
  config?: object;
  onStart?: () => void;
  whenUp?: () => void;
}

/** Starts and stops a server; answers what was prepared at each start, and after the last. */
async function started({ config = {}, onStart = () => {}, whenUp = () => {} }: Start = {}) {
  const prepared = () => readdirSync(join(data, "pg_twophase")).toSorted().join();
  const seen: string[] = [];
  const machine = new FakeMachine(() => 0);
  const paths = { sockets: tmpdir(), temporaryDiskKiB: undefined };
  const whole = { major: 17, limits: smallest, ...paths, settings: {}, logical: false, primary: undefined, ...config };
  const server = await startWithLocksLeft(data, whole, async () => {
    seen.push(prepared());
    onStart();
    const ports = { processes: machine, clock: new HastenedClock(), user: undefined };
    const place = { postgres: "/bin/postgres", data, logFile: join(data, "log") };
    const up = await PostgresServer.start(ports, place, whole);
    whenUp();
    return up;
  });
  seen.push(prepared());
  await server.stop();
  return seen;
}

describe("a server that starts, and what is prepared in its data", () => {
  it("prepared transactions stay where a quarter of the locks is left to sessions, whatever else they are made of", async () => {
    prepare("00000001", Math.floor(all * 0.75) - 1, 2 * all);
    prepare("00000002", 1);
    expect(await started()).toEqual(["00000001,00000002", "00000001,00000002"]);
  });

  it("prepared transactions are forgotten where less is left, those with the most locks first, and no more than needed", async () => {
    prepare("00000001", 100, all);
    prepare("00000002", Math.floor(all * 0.7));
    prepare("00000003", Math.floor(all * 0.4));
    prepare("00000004", Math.floor(all * 0.3));
    expect(await started()).toEqual(["00000001,00000003,00000004", "00000001,00000003,00000004"]);
  });

  it("a prepared transaction is forgotten for one lock too many, however its locks lie in what is read at once", async () => {
    prepare("00000001", Math.floor(all * 0.75));
    expect(await started()).toEqual(["00000001", "00000001"]);
    prepare("00000001", Math.floor(all * 0.75) + 1);
    expect(await started()).toEqual(["", ""]);
  });

  it("prepared transactions are forgotten that keep a catalogue from every session, and no others", async () => {
    const [roles, subscriptions] = [1260, 6100];
    prepare("00000001", 1, 0, { relation: roles, mode: 8 });
    prepare("00000002", 1, 0, { relation: roles, mode: 7 });
    prepare("00000003", 1, 0, { relation: roles, mode: 8, kind: 8 });
    prepare("00000004", 1, 0, { relation: subscriptions, mode: 8 });
    prepare("00000005", 5000, 5000, { relation: roles, mode: 3 });
    prepare("00000006", 1, 5000, { relation: roles, mode: 8 });
    expect(await started()).toEqual(Array(2).fill("00000002,00000003,00000004,00000005"));
  });

  it("prepared transactions that lay in the log alone are forgotten after a first start, and the server starts again", async () => {
    const control = readFileSync(join(data, "global", "pg_control"));
    control.writeUInt32LE(6, 16);
    writeFileSync(join(data, "global", "pg_control"), control);
    let starts = 0;
    const onStart = () => {
      starts += 1;
      if (starts === 1) prepare("00000001", all);
    };
    expect(await started({ onStart })).toEqual(["", "", ""]);
  });

  it("prepared transactions are looked at one after another, however many there are: the files that may be open are everybody's", async () => {
    for (let name = 1; name <= 300; name += 1) prepare(String(name), 1, Math.ceil(all / 100));
    const open = () => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
    const before = open();
    let [looks, isStarted, most] = [0, false, 0];
    const look = () => {
      [looks, most] = [looks + 1, Math.max(most, open())];
      if (!isStarted) setImmediate(look);
    };
    look();
    await started({ onStart: () => (isStarted = true) });
    expect(looks).toBeGreaterThan(1);
    expect(most - before).toBeLessThan(50);
  });

  it("a server whose prepared transactions cannot be looked at is stopped, and does not run without anybody who knows", async () => {
    const control = readFileSync(join(data, "global", "pg_control"));
    control.writeUInt32LE(6, 16);
    writeFileSync(join(data, "global", "pg_control"), control);
    const stopped = vi.spyOn(PostgresServer.prototype, "stop");
    await expect(started({ whenUp: () => rmSync(join(data, "pg_twophase"), { recursive: true }) })).rejects.toThrow(
      "ENOENT",
    );
    expect(stopped).toHaveBeenCalledOnce();
    stopped.mockRestore();
  });

  it("prepared transactions stay with a standby, whose primary has them too", async () => {
    prepare("00000001", all);
    expect(await started({ config: { primary: "/p" } })).toEqual(["00000001", "00000001"]);
  });

  it("prepared transactions are measured by the locks of the compute that starts", async () => {
    prepare("00000001", all);
    expect(await started({ config: { limits: { ...smallest, maxLocks: 128 } } })).toEqual(["00000001", "00000001"]);
    expect(await started({ config: { limits: { ...smallest, maxLocks: 32 } } })).toEqual(["", ""]);
  });
});
