import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import { PostgresUnusable } from "../../../../src/service/postgres/host/failure.ts";
import type { Ended, ProcessFacts, ProcessUser, RunSettings } from "../../../../src/service/postgres/host/processes.ts";
import { realClock } from "../../../support/real-clock.ts";
import { FakeMachine } from "../fake/fake-machine.ts";

const [me, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
/** Only root gives files to another user. */
const isRoot = me === 0;
const servers: ProcessUser = isRoot ? { uid: 65_534, gid: 65_534 } : { uid: me, gid: group };
const other = 4711;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "compute-operator-home-"));
  chmodSync(directory, 0o755);
});
afterEach(() => rmSync(directory, { recursive: true }));

function opened(data = join(directory, "service.sqlite"), user = servers): Promise<Home> {
  return Home.open({ data, user, processes: new FakeMachine(() => 0), clock: realClock });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : error;
}

/** Programs in a directory of this mode, for servers of a user. */
async function reached(mode: number, user: ProcessUser): Promise<string> {
  const home = Object.assign(await opened(undefined, { uid: me, gid: group }), { user });
  const programs = join(directory, "programs");
  mkdirSync(programs);
  chmodSync(programs, mode);
  return home.reachable(programs, "copy").then(
    (path) => basename(path).replace(/-[0-9a-f]{12}$/, ""),
    (error: unknown) => String(error),
  );
}

describe("servers of a user that is not the service's", () => {
  it("the user owns every directory of the servers, and no other user enters them", async () => {
    const { root, sockets } = await opened();
    for (const name of ["", "branches", "replicas", "making", "history", "logs", "poolers", "s"]) {
      const { uid, gid, mode } = statSync(join(root, name));
      expect([name, uid, gid, mode & 0o777]).toEqual([name, servers.uid, servers.gid, 0o700]);
    }
    expect(sockets).toBe(join(root, "s"));
  });

  it.each([
    ["its own, as its mode has it", 0o700, { uid: me, gid: other }],
    ["one of its group", 0o710, { uid: other, gid: group }],
    ["another one, which every user may enter", 0o701, { uid: other, gid: other }],
  ])("programs in a directory are used where they lie if the user may enter it: %s", async (_, mode, user) => {
    expect(await reached(mode, user)).toBe("programs");
  });

  it.each([
    ["one of its group, which others may enter and it may not", 0o701, { uid: other, gid: group }],
    ["another one, which no other user may enter", 0o770, { uid: other, gid: other }],
  ])("programs in a directory are copied for the user if that may not enter it: %s", async (_, mode, user) => {
    expect(await reached(mode, user)).toMatch(isRoot ? /^copy$/ : /EPERM/);
  });

  it("programs below a directory that the user may not enter are copied once, without room on the disk", async () => {
    const home = Object.assign(await opened(), { user: { uid: other, gid: other } });
    const programs = join(directory, "above", "programs");
    mkdirSync(programs, { recursive: true });
    chmodSync(join(directory, "above"), 0o700);
    const original = join(programs, "postgres");
    writeFileSync(original, "");
    const inode = statSync(original).ino;
    mkdirSync(home.making("copy"));
    writeFileSync(join(home.making("copy"), "half"), "");
    const copied = async () => {
      const copy = await home.reachable(programs, "copy");
      const { mode, uid } = statSync(copy);
      const same = statSync(join(copy, "postgres")).ino === inode;
      return [copy, readdirSync(copy), mode & 0o777, uid, same, existsSync(home.making("copy"))];
    };
    const outcome = await copied().catch(codeOf);
    const place: unknown = expect.stringContaining(join(home.root, "copy-"));
    const whole = [place, ["postgres"], 0o755, other, true, false];
    expect([outcome, await copied().catch(codeOf)]).toEqual(isRoot ? [whole, outcome] : ["EPERM", "EPERM"]);
  });

  it("programs of another release, or of another place, take the place of those that were copied before", async () => {
    const home = Object.assign(await opened(), { user: { uid: other, gid: other } });
    mkdirSync(join(home.root, "copy"));
    const outcomes: unknown[] = [];
    for (const [place, program, changedAt] of [
      ["one", "postgres", 1000],
      ["one", "postgres-of-another-release", 2000],
      ["other", "postgres-of-another-place", 2000],
    ] as const) {
      const programs = join(directory, "above", place);
      mkdirSync(programs, { recursive: true });
      chmodSync(join(directory, "above"), 0o700);
      writeFileSync(join(programs, program), "");
      utimesSync(programs, changedAt, changedAt);
      outcomes.push(await home.reachable(programs, "copy").then((copy) => readdirSync(copy), codeOf));
    }
    const [first, second] = ["postgres", "postgres-of-another-release"];
    const all = [[first], [first, second], ["postgres-of-another-place"]];
    const copies = readdirSync(home.root).filter((name) => name.startsWith("copy"));
    expect([outcomes, copies.length]).toEqual(isRoot ? [all, 1] : [Array(3).fill("EPERM"), 1]);
  });

  it("programs are copied again when those of their directory have changed", async () => {
    const home = Object.assign(await opened(), { user: { uid: other, gid: other } });
    const programs = join(directory, "above", "one");
    mkdirSync(join(programs, "bin"), { recursive: true });
    chmodSync(join(directory, "above"), 0o700);
    const copies = new Set<unknown>();
    for (const changedAt of [1000, 1000, 2000]) {
      utimesSync(join(programs, "bin"), changedAt, changedAt);
      copies.add(await home.reachable(programs, "copy").catch(codeOf));
    }
    expect(copies.size).toBe(isRoot ? 2 : 1);
  });

  it("programs behind a link that the user may follow are copied where that may not enter a directory above them", async () => {
    const home = Object.assign(await opened(), { user: { uid: other, gid: other } });
    const programs = join(directory, "closed", "programs");
    mkdirSync(programs, { recursive: true });
    chmodSync(join(directory, "closed"), 0o700);
    symlinkSync(programs, join(directory, "link"));
    const outcome = await home.reachable(join(directory, "link"), "copy").catch(codeOf);
    expect(String(outcome).replace(/-[0-9a-f]{12}$/, "")).toBe(isRoot ? join(home.root, "copy") : "EPERM");
  });

  it("a service whose data the user cannot reach says where to put it", async () => {
    const hidden = join(directory, "hidden");
    mkdirSync(hidden, { mode: 0o700 });
    const refused = opened(join(hidden, "service.sqlite"), { ...servers, uid: isRoot ? servers.uid : other });
    const said = `PostgresUnusable: the user of --postgres-user cannot reach ${join(hidden, "service.sqlite.postgres")}: put`;
    await expect(refused.catch(String)).resolves.toContain(isRoot ? said : "EPERM");
  });
});

it("a service whose servers are to run as another user than before says as which, and changes nothing", async () => {
  const { root } = await opened();
  const next = { uid: other, gid: other };
  const refused = opened(undefined, next);
  await expect(refused).rejects.toThrow(PostgresUnusable);
  await expect(refused).rejects.toThrow(`${root} belongs to user ${servers.uid}: name that one with --postgres-user`);
  expect(statSync(root).uid).toBe(servers.uid);
});

describe("the temporary directory of a service that was killed", () => {
  const left = () => join(directory, "compute-operator-postgres-left");
  /** Runs the programs of a service that is this user's. */
  class Machine extends FakeMachine {
    override readonly self;
    readonly runs: unknown[] = [];
    readonly sought: number[] = [];

    constructor(uid: number) {
      super(() => 0);
      this.self = { pid: 4711, uid, user: "ana", node: process.execPath };
    }

    override run(command: string, args: readonly string[], settings?: RunSettings): Promise<Ended> {
      this.runs.push([command, ...args, settings]);
      return super.run(command, args);
    }

    override facts(pid: number): Promise<ProcessFacts | undefined> {
      this.sought.push(pid);
      return super.facts(pid);
    }
  }

  async function startsBeside(uid: number, user?: ProcessUser): Promise<Machine> {
    vi.stubEnv("TMPDIR", directory);
    onTestFinished(() => void vi.unstubAllEnvs());
    mkdirSync(left());
    writeFileSync(join(left(), "owner"), "0 1\n");
    if (isRoot) chownSync(left(), other, group);
    const machine = new Machine(uid);
    await Home.open({ data: join(directory, "service.sqlite"), user, processes: machine, clock: realClock });
    return machine;
  }

  it.each([
    ["another user", me + 1],
    ["root with servers of another user", isRoot ? 0 : me + 1],
  ])("the directory is not looked into by a service of %s: a pipe in it has no end", async (_, uid) => {
    const { runs, sought } = await startsBeside(uid);
    expect([runs, sought, existsSync(join(left(), "owner"))]).toEqual([[], [4711], true]);
  });

  it("the directory is removed by root as the user whose it is: no link in it leads root elsewhere", async () => {
    const user = { uid: isRoot ? other : me, gid: group };
    const { runs } = await startsBeside(0, user);
    expect(runs).toEqual([["rm", "-rf", left(), { user, cwd: "/" }]]);
    expect(existsSync(join(left(), "owner"))).toBe(false);
  });
});

describe("servers that a killed service has left over", () => {
  /** Servers that run on directories until they are signalled. */
  class Leftover extends FakeMachine {
    override readonly self = { pid: 4711, uid: me, user: "ana", node: process.execPath };
    readonly running = new Map<number, string>();

    begin(root: string): void {
      for (const [index, kind] of ["branches", "replicas", "making"].entries()) {
        const [data, pid] = [join(root, kind, "data"), 100 + index];
        mkdirSync(data, { recursive: true });
        writeFileSync(join(data, "postmaster.pid"), `${pid}\n${data}\n5\n`);
        this.running.set(pid, data);
      }
    }

    override async facts(pid: number): Promise<ProcessFacts | undefined> {
      await new Promise((resolve) => setImmediate(resolve));
      const place = pid === this.self.pid ? "/" : this.running.get(pid);
      return place === undefined ? undefined : { startedAt: 5, place };
    }

    override signal(pid: number): void {
      // Its directory is there as long as it runs.
      this.events.push(`${pid} ${existsSync(this.running.get(pid) ?? "")}`);
      this.running.delete(pid);
    }
  }

  const open = (processes: FakeMachine) =>
    Home.open({ data: join(directory, "service.sqlite"), user: undefined, processes, clock: realClock });
  const all = ["100 true", "101 true", "102 true"];

  it("the servers of a service's own directory are stopped before another begins, and what was not finished goes", async () => {
    const machine = new Leftover(() => 0);
    const root = join(directory, "service.sqlite.postgres");
    machine.begin(root);
    await open(machine);
    expect(machine.events.toSorted()).toEqual(all);
    expect(["branches", "replicas", "making"].map((kind) => readdirSync(join(root, kind)))).toEqual([
      ["data"],
      ["data"],
      [],
    ]);
  });

  it("the servers of a temporary directory are stopped before that goes, and no other directory is touched", async () => {
    const machine = new Leftover(() => 0);
    vi.stubEnv("TMPDIR", directory);
    onTestFinished(() => void vi.unstubAllEnvs());
    const [left, foreign] = ["compute-operator-postgres-left", "another"].map((name) => join(directory, name));
    machine.begin(left ?? "");
    mkdirSync(foreign ?? "");
    for (const place of [left, foreign]) writeFileSync(join(place ?? "", "owner"), "0 1\n");
    await open(machine);
    expect(machine.events.toSorted()).toEqual(all);
    expect([existsSync(left ?? ""), existsSync(join(foreign ?? "", "owner"))]).toEqual([false, true]);
  });
});

describe("the directory of a service", () => {
  const open = (data: string) =>
    Home.open({ data, user: undefined, processes: new FakeMachine(() => 0), clock: realClock });
  const data = () => join(directory, "service.sqlite");

  it("the directory has the path that the system gives for the servers in it, also where --data leads there by a link", async () => {
    mkdirSync(join(directory, "disk"));
    symlinkSync(join(directory, "disk"), join(directory, "link"));
    const home = await open(join(directory, "link", "service.sqlite"));
    expect(home.root).toBe(join(directory, "disk", "service.sqlite.postgres"));
  });

  it("the directory belongs to the store that made it, and to no other", async () => {
    const home = await open(data());
    await home.claim("one", 0);
    await home.claim("one", 0);
    const refused = (await open(data())).claim("other", 0);
    await expect(refused).rejects.toThrow(PostgresUnusable);
    await expect(refused).rejects.toThrow(`${home.root} belongs to another store than the one of --data`);
    expect(statSync(join(home.root, "store")).mode & 0o777).toBe(0o600);
  });

  it("the directory is its store's also where the machine lost its power before the disk had the file that says so", async () => {
    const home = await open(data());
    await home.claim("one", 0);
    truncateSync(join(home.root, "store"));
    await (await open(data())).claim("one", 0);
    await expect((await open(data())).claim("other", 0)).rejects.toThrow("belongs to another store");
  });

  it("the directory takes no store that is too old to know the data in it, as a copy that is put back alone", async () => {
    const home = await open(data());
    await home.claim("one", 5);
    for (const operations of [5, 6, 5]) home.noteMaking(operations);
    await (await open(data())).claim("one", 6);
    const refused = (await open(data())).claim("one", 5);
    await expect(refused).rejects.toThrow(PostgresUnusable);
    await expect(refused).rejects.toThrow(`${home.root} has data that the store of --data is too old to know`);
    rmSync(join(home.root, "made-by"));
    await (await open(data())).claim("one", 5);
  });

  it("the number of the store that made the data stays where a later one cannot be written, as on a full disk", async () => {
    const home = await open(data());
    await home.claim("one", 5);
    home.noteMaking(6);
    mkdirSync(join(home.root, "made-by.new"));
    expect(() => home.noteMaking(7)).toThrow("EISDIR");
    await expect((await open(data())).claim("one", 5)).rejects.toThrow("is too old to know");
    rmdirSync(join(home.root, "made-by.new"));
    home.noteMaking(7);
    await expect((await open(data())).claim("one", 6)).rejects.toThrow("is too old to know");
  });

  it("the directory stays when the service ends, without its owner and its sockets", async () => {
    const home = await open(data());
    expect(existsSync(join(home.root, "owner"))).toBe(true);
    await home.close();
    const left = readdirSync(home.root).toSorted();
    expect(left).toEqual(["branches", "history", "logs", "making", "poolers", "replicas"]);
  });

  it("the directory of a service that keeps nothing is a temporary one, and goes with it and its sockets", async () => {
    const deep = join(directory, "d".repeat(80));
    for (const [place, isInside] of [
      [directory, true],
      [deep, false],
    ] as const) {
      mkdirSync(place, { recursive: true });
      vi.stubEnv("TMPDIR", place);
      const home = await open(":memory:").finally(() => void vi.unstubAllEnvs());
      expect(dirname(home.root)).toBe(place);
      expect(existsSync(join(home.root, "branches"))).toBe(true);
      expect(dirname(home.sockets)).toBe(isInside ? home.root : place);
      await home.close();
      expect([existsSync(home.root), existsSync(home.sockets)]).toEqual([false, false]);
    }
  });

  it("no other user reads whose the directory is", async () => {
    const { root } = await open(data());
    const deep = join(directory, "d".repeat(80));
    mkdirSync(deep);
    const home = await open(join(deep, "service.sqlite"));
    const modes = [join(root, "owner"), join(home.root, "sockets")].map((file) => statSync(file).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
  });

  it("what an earlier service was making is removed, and what it had made stays", async () => {
    const { root } = await open(data());
    for (const name of ["making/half", "branches/whole", "s/old"]) mkdirSync(join(root, name));
    await open(data());
    expect(["making", "branches", "s"].flatMap((name) => readdirSync(join(root, name)))).toEqual(["whole"]);
  });

  it.each([" ", "'", '"', ",", "\\"])(
    "sockets lie elsewhere where the path of the directory has %j, which ends a path in a connection string",
    async (character) => {
      const place = join(directory, `my${character}data`);
      mkdirSync(place);
      const { root, sockets } = await open(join(place, "service.sqlite"));
      expect([sockets.startsWith(join(tmpdir(), "cpg-")), existsSync(join(root, "s"))]).toEqual([true, false]);
    },
  );

  it("sockets lie elsewhere where the path of the directory is too long for one, and the next service removes them", async () => {
    const deep = join(directory, "d".repeat(80));
    mkdirSync(deep);
    const { root, sockets } = await open(join(deep, "service.sqlite"));
    expect([sockets.startsWith(join(tmpdir(), "cpg-")), existsSync(join(root, "s"))]).toEqual([true, false]);
    const next = await open(join(deep, "service.sqlite"));
    expect([existsSync(sockets), existsSync(next.sockets)]).toEqual([false, true]);
    await next.close();
    expect(existsSync(next.sockets)).toBe(false);
  });

  it("a service removes nothing that a note about sockets names elsewhere", async () => {
    const { root } = await open(data());
    const foreign = join(directory, "cpg-foreign");
    mkdirSync(foreign);
    writeFileSync(join(root, "sockets"), foreign);
    await open(data());
    expect([existsSync(foreign), existsSync(join(root, "sockets"))]).toEqual([true, false]);
  });
});
