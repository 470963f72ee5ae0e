import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ServerFailed } from "../../../../src/service/postgres/host/failure.ts";
import type { GuardedServer } from "../../../../src/service/postgres/host/processes.ts";
import { limitsOf, type ServerConfig } from "../../../../src/service/postgres/server/config.ts";
import { PostgresServer } from "../../../../src/service/postgres/server/server.ts";
import { FakeData } from "../fake/fake-data.ts";
import { FakeMachine } from "../fake/fake-machine.ts";
import { HastenedClock } from "../fake/hastened-clock.ts";

const second = 1000;

let directory: string;
let data: string;
let logFile: string;
let config: ServerConfig;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "cpg-server-"));
  [data, logFile] = [join(directory, "data"), join(directory, "log")];
  FakeData.initialise(data);
  writeFileSync(logFile, "FATAL:  of an earlier start\n");
  config = {
    major: 17,
    limits: limitsOf({ min: 0.25, max: 1 }),
    sockets: directory,
    temporaryDiskKiB: undefined,
    settings: {},
    logical: false,
    primary: undefined,
  };
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A program that writes to its log when it starts, and ends when it is stopped, or at once. */
class Silent extends FakeMachine {
  readonly guarded: { command: string; args: readonly string[] }[] = [];
  stops = 0;
  readonly #says: string;
  readonly #endsAtOnce: boolean;

  constructor(says: string, { endsAtOnce }: { endsAtOnce: boolean }) {
    super(() => 0);
    this.#says = says;
    this.#endsAtOnce = endsAtOnce;
  }

  override guard(command: string, args: readonly string[]): GuardedServer {
    this.guarded.push({ command, args });
    writeFileSync(logFile, this.#says, { flag: "a" });
    const end = Promise.withResolvers<number | null>();
    if (this.#endsAtOnce) end.resolve(1);
    const stop = () => {
      this.stops += 1;
      end.resolve(0);
    };
    return { ended: end.promise, stop };
  }
}

function start(machine: FakeMachine, on = new HastenedClock(), ends?: AbortSignal): Promise<PostgresServer> {
  return PostgresServer.start(
    { processes: machine, clock: on, user: undefined, ...(ends && { ends }) },
    { postgres: "/bin/postgres", data, logFile },
    config,
  );
}

/** What is told of a start that fails. */
async function complaintOf(says: string): Promise<string> {
  const failed = start(new Silent(says, { endsAtOnce: true })).then(
    () => "started",
    (error: unknown) => error,
  );
  const error = await failed;
  if (!(error instanceof ServerFailed)) throw new Error(String(error));
  return error.message.replace("the server did not start: ", "");
}

describe("a start that fails", () => {
  const at = "2026-01-01 00:00:00.000 UTC [7] ";

  it.each([
    ["its last complaint", `${at}FATAL:  first\n${at}LOG:  between\n${at}PANIC:  last\n`, "last"],
    [
      "all lines of that",
      `${at}FATAL:  cannot map\nmemory of  \n\n  4 GB\n${at}LOG:  shut down\n`,
      "cannot map memory of  4 GB",
    ],
    ["what the program says before it has a log", "postgres: no such option\n", "no such option"],
    ["an error of the log", `${at}ERROR:  wrong\n`, "wrong"],
    ["that it ended, where it said nothing", "", "it ended while it started"],
    ["that it ended, where it complained of nothing", `${at}LOG:  starting\n`, "it ended while it started"],
    ["no more than fits into a line", `${at}FATAL:  ${"x".repeat(600)}\n`, "x".repeat(500)],
  ])("the failure tells %s", async (_, says, told) => {
    expect(await complaintOf(says)).toBe(told);
  });

  it("a server whose log could not be opened is told to have ended", async () => {
    const machine = new FakeMachine(() => 0);
    rmSync(logFile);
    vi.spyOn(machine, "guard").mockReturnValueOnce({ ended: Promise.resolve(null), stop: () => {} });
    await expect(start(machine)).rejects.toThrow(
      new ServerFailed("the server did not start: it ended while it started"),
    );
  });

  it("the failure is told when the server has ended, and not before", async () => {
    const [machine, time] = [new Silent("FATAL:  slow\n", { endsAtOnce: false }), new HastenedClock()];
    const end = Promise.withResolvers<null>();
    const guard = vi.spyOn(machine, "guard");
    guard.mockReturnValueOnce({ ended: end.promise, stop: () => void (machine.stops += 1) });
    let told = "";
    const failed = start(machine, time).catch((error: unknown) => (told = String(error)));
    await expect.poll(() => guard.mock.calls.length).toBe(1);
    await time.looks();
    time.advance(120 * second);
    await expect.poll(() => machine.stops).toBe(1);
    await time.looks();
    expect(told).toBe("");
    end.resolve(null);
    await failed;
    expect(told).toContain("it takes no connections");
  });

  it("a server that takes no connections for two minutes is stopped", async () => {
    const [machine, time] = [new Silent("", { endsAtOnce: false }), new HastenedClock()];
    const failed = start(machine, time).then(() => "started", String);
    await expect.poll(() => machine.guarded.length).toBe(1);
    time.advance(119 * second);
    await time.looks();
    expect(machine.stops).toBe(0);
    time.advance(second);
    expect([await failed, machine.stops]).toEqual([
      "ServerFailed: the server did not start: it takes no connections, and got no further for two minutes",
      1,
    ]);
  });

  it.each([
    ["recovers after a crash, and says so in its log,", undefined, "log", 3],
    ["recovers to a point, and notes that in its control file,", undefined, "data/global/pg_control", 3],
    ["follows its primary, however far it gets, never", "/primary", "data/global/pg_control", 0],
  ])("a server that %s is given two more minutes whenever it got further", async (_, primary, file, times) => {
    Object.assign(config, { primary });
    const [machine, time] = [new Silent("", { endsAtOnce: false }), new HastenedClock()];
    const failed = start(machine, time).catch(String);
    await expect.poll(() => machine.guarded.length).toBe(1);
    await time.looks();
    let given = 0;
    for (; machine.stops === 0; given += 1) {
      if (given < 3) utimesSync(join(directory, file), given, given);
      time.advance(120 * second);
      await expect.poll(() => machine.stops > 0 || time.waitsOf(120 * second) > 0).toBe(true);
    }
    expect([given - 1, await failed]).toEqual([times, expect.stringContaining("got no further for two minutes")]);
  });

  it.each([
    ["starts", (service: AbortController) => setImmediate(() => service.abort())],
    ["is to start", (service: AbortController) => service.abort()],
  ])("a server that %s when the service ends is stopped, however long it would recover", async (_, end) => {
    const [machine, service] = [new Silent("", { endsAtOnce: false }), new AbortController()];
    end(service);
    await expect(start(machine, new HastenedClock(), service.signal)).rejects.toThrow("it ended while it started");
    expect(machine.stops).toBeGreaterThan(0);
  });

  it("the log of earlier starts is kept up to four megabytes", async () => {
    writeFileSync(logFile, "x".repeat(4_000_000));
    await complaintOf("FATAL:  one\n");
    expect(statSync(logFile).size).toBe(4_000_012);
    expect(await complaintOf("FATAL:  two\n")).toBe("two");
    expect(statSync(logFile).size).toBe(12);
  });
});

describe("a server that starts", () => {
  it("a server is ready when its own file says so, and not before", async () => {
    const [machine, time] = [new Silent("", { endsAtOnce: false }), new HastenedClock()];
    let ready = false;
    const starting = start(machine, time).then((server) => {
      ready = true;
      return server;
    });
    for (const state of ["starting", "standby", "stopping"]) {
      writeFileSync(join(data, "postmaster.pid"), `1\n${data}\n0\n\n\n\n\n${state}\n`);
      await time.looks();
      expect([state, ready]).toEqual([state, false]);
    }
    writeFileSync(join(data, "postmaster.pid"), `1\n${data}\n0\n\n\n\n\nready   \n`);
    const server = await starting;
    expect(server.running).toBe(true);
    await server.stop();
    expect([server.running, machine.stops]).toEqual([false, 1]);
    expect(machine.guarded).toEqual([{ command: "/bin/postgres", args: ["-D", data] }]);
  });

  it("a server that is up is not stopped as the service ends, but by its fleet, which asks it first", async () => {
    const service = new AbortController();
    const server = await start(new FakeMachine(() => 0), new HastenedClock(), service.signal);
    const stop = vi.spyOn(server, "stop");
    service.abort();
    expect(stop).not.toHaveBeenCalled();
    await server.stop();
  });

  /** The setting with which it starts. */
  async function prepared(): Promise<string | undefined> {
    const machine = new FakeMachine(() => 0);
    const server = await start(machine);
    const places = machine.servers.get(data)?.setting("max_prepared_transactions");
    await server.stop();
    return places;
  }

  it("there are places for prepared transactions where any may lie in files or in the log", async () => {
    expect(await prepared()).toBeUndefined();
    writeFileSync(join(data, "pg_twophase", "00000001"), "");
    expect(await prepared()).toBe("1000");
    rmSync(join(data, "pg_twophase", "00000001"));
    expect(await prepared()).toBeUndefined();
    const control = readFileSync(join(data, "global", "pg_control"));
    control.writeUInt32LE(6, 16);
    writeFileSync(join(data, "global", "pg_control"), control);
    expect(await prepared()).toBe("1000");
    expect(await prepared()).toBeUndefined();
    config = { ...config, settings: { max_prepared_transactions: "5" }, primary: "/p" };
    expect(await prepared()).toBe("1000");
  });

  it("a server that recovers has places for the transactions that were prepared since its base", async () => {
    config = { ...config, recovery: { kind: "lsn", lsn: "0/1" } };
    writeFileSync(join(data, "standby.signal"), "");
    expect(await prepared()).toBe("1000");
  });

  it("the settings of a compute hold also where there are places for prepared transactions", async () => {
    writeFileSync(join(data, "pg_twophase", "00000001"), "");
    config = { ...config, settings: { work_mem: "7MB" } };
    const machine = new FakeMachine(() => 0);
    const server = await start(machine);
    const running = machine.servers.get(data);
    expect(["work_mem", "max_prepared_transactions"].map((name) => running?.setting(name))).toEqual(["7MB", "1000"]);
    await server.stop();
  });

  it("the settings, the access rules and who may be the superuser are written before each start", async () => {
    const server = await start(new FakeMachine(() => 0));
    await server.stop();
    const [settings, access, identities] = ["postgresql.conf", "pg_hba.conf", "pg_ident.conf"].map((name) =>
      readFileSync(join(data, name), "utf8"),
    );
    expect(settings).toContain(`unix_socket_directories = '${directory}'`);
    expect(access?.split("\n")).toEqual([
      "local all cloud_admin peer map=own",
      "local replication cloud_admin peer map=own",
      "local all all scram-sha-256",
      "",
    ]);
    expect(identities).toBe('own "ana" cloud_admin\n');
    expect(existsSync(join(data, "postmaster.pid"))).toBe(false);
  });
});
