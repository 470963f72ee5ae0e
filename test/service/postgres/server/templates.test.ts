import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import { PostgresUnusable, ServerFailed } from "../../../../src/service/postgres/host/failure.ts";
import type { Ended, RunSettings } from "../../../../src/service/postgres/host/processes.ts";
import {
  initdbArguments,
  preparedTemplate,
  serverUser,
  Templates,
} from "../../../../src/service/postgres/server/templates.ts";
import { Unanswered } from "../../../../src/service/unanswered.ts";
import { realClock } from "../../../support/real-clock.ts";
import { atEach } from "../at-each.ts";
import { FakeMachine } from "../fake/fake-machine.ts";

/** A machine that keeps how each program was run. */
class Watched extends FakeMachine {
  readonly runs: { command: string; settings: RunSettings | undefined }[] = [];

  override run(command: string, args: readonly string[], settings?: RunSettings): Promise<Ended> {
    this.runs.push({ command: [command, ...args].join(" "), settings });
    return super.run(command, args);
  }
}

let directory: string;
let machine: Watched;
let home: Home;
let bin: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "compute-operator-templates-"));
  machine = new Watched(() => 0);
  bin = machine.install(join(directory, "pg", "bin"));
  home = await Home.open({
    data: join(directory, "service.sqlite"),
    user: undefined,
    processes: machine,
    clock: realClock,
  });
});
afterEach(() => rmSync(directory, { recursive: true }));

function templates(on = home, programs = bin): Templates {
  const settings = { directory: programs, cache: join(directory, "cache"), env: {}, progress: () => {} };
  return new Templates(on, settings, machine);
}

/** How often `initdb` has run. */
const made = () => machine.runs.filter(({ command }) => command.includes("initdb")).length;

describe("the template of a version", () => {
  it("the template is made once, elsewhere first, by initdb with nothing of the service's environment", async () => {
    const all = templates();
    const [edition, again] = await Promise.all([all.edition(17), all.edition(17)]);
    const template = join(home.root, "template-17");
    expect([edition, again === edition]).toEqual([{ major: 17, postgres: join(bin, "postgres"), template }, true]);
    expect([made(), readdirSync(join(home.root, "making"))]).toEqual([1, []]);
    const run = machine.runs.find(({ command }) => command.includes("initdb"));
    expect(run?.command.startsWith(`${join(bin, "initdb")} -D ${join(home.root, "making", "template-17-")}`)).toBe(
      true,
    );
    expect(run?.settings).toEqual({ user: undefined, cwd: "/", env: { LC_ALL: "C", PATH: "/usr/bin:/bin" } });
    await templates().edition(17);
    expect(made()).toBe(1);
  });

  it("the disk knows the template by its name before anything is made of it", async () => {
    const onDisk = await atEach("sync", ({ ino }) => [ino, existsSync(join(home.root, "template-17"))]);
    await templates().edition(17);
    expect(onDisk.at(-1)).toEqual([statSync(home.root).ino, true]);
  });

  it("a failure of initdb is told in its last words, and the next caller tries again", async () => {
    const all = templates();
    machine.ends.set("initdb", { status: 1, output: "creating…\ninitdb: error: no space\n" });
    const failed = all.edition(17);
    await expect(failed).rejects.toThrow(ServerFailed);
    await expect(failed).rejects.toThrow("initdb of Postgres 17 failed: initdb: error: no space");
    expect(existsSync(join(home.root, "template-17"))).toBe(false);
    machine.ends.clear();
    expect((await all.edition(17)).major).toBe(17);
  });

  it("a version before 15 is refused, which 15 is not", async () => {
    const refused = templates().edition(14);
    await expect(refused).rejects.toThrow(PostgresUnusable);
    await expect(refused).rejects.toThrow("Postgres 14 cannot run behind computes: give the project 15 or newer");
    machine.ends.set("postgres", { status: 0, output: "postgres (PostgreSQL) 15.2" });
    expect((await templates().edition(15)).major).toBe(15);
  });

  it("nothing is left of a template that cannot be made, however often that is tried", async () => {
    // It is copied, and its settings cannot be written.
    mkdirSync(join(directory, "pg", preparedTemplate, "postgresql.conf"), { recursive: true });
    const all = templates();
    for (let times = 0; times < 2; times += 1) await expect(all.edition(17)).rejects.toThrow("EISDIR");
    expect(readdirSync(join(home.root, "making"))).toEqual([]);
  });

  it("a prepared template beside the programs is copied in place of initdb, without its settings", async () => {
    const prepared = join(directory, "pg", preparedTemplate);
    mkdirSync(prepared);
    for (const name of ["postgresql.conf", "PG_VERSION"]) writeFileSync(join(prepared, name), "of the image");
    const { template } = await templates().edition(17);
    const texts = ["postgresql.conf", "PG_VERSION"].map((name) => readFileSync(join(template, name), "utf8"));
    expect([made(), texts]).toEqual([0, ["", "of the image"]]);
  });

  it("a prepared template is copied for the user of servers", async () => {
    const [me, group] = [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    // Only root gives files to another user.
    const user = me === 0 ? { uid: 65_534, gid: 65_534 } : { uid: me, gid: group };
    const prepared = join(directory, "pg", preparedTemplate);
    mkdirSync(prepared);
    writeFileSync(join(prepared, "PG_VERSION"), "17");
    const { template } = await templates(
      Object.assign(home, { user, reachable: (path: string) => Promise.resolve(path) }),
    ).edition(17);
    const owners = ["", "PG_VERSION", "postgresql.conf"].map((name) => statSync(join(template, name)).uid);
    expect(owners).toEqual([user.uid, user.uid, user.uid]);
  });

  it("programs that lie in no bin are used where they are", async () => {
    const flat = machine.install(join(directory, "flat"));
    expect((await templates(home, flat).edition(17)).postgres).toBe(join(flat, "postgres"));
  });
});

it.each([
  [15, false],
  [16, false],
  [17, true],
  [18, true],
])("a cluster of version %i has the built-in locale: %s", (major, builtin) => {
  const args = initdbArguments(major, "/data");
  expect(args.slice(0, 2)).toEqual(["-D", "/data"]);
  expect(args.filter((arg) => arg.includes("locale"))).toEqual(
    builtin ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"] : ["--locale=C"],
  );
  expect(args).toEqual(
    expect.arrayContaining([
      "-U",
      "cloud_admin",
      "--auth=reject",
      "--wal-segsize=1",
      "--data-checksums",
      "--encoding=UTF8",
    ]),
  );
});

describe("settings that a server would refuse", () => {
  it("a server of the version is asked, by its template and with each setting", async () => {
    const all = templates();
    const settings = { work_mem: "much", jit: "off" };
    expect(all.refusedSettings({ major: 17, owner: "acc-ana" }, settings)).toBeUndefined();
    const { postgres, template } = await all.edition(17);
    expect(all.refusedSettings({ major: 17, owner: "acc-ana" }, {})).toBeUndefined();
    machine.ends.set("postgres", { status: 1, output: 'FATAL:  invalid value for parameter "work_mem"' });
    const asked = () => all.refusedSettings({ major: 17, owner: "acc-ana" }, settings);
    const unanswered = await Promise.resolve()
      .then(asked)
      .catch((error: unknown) => error);
    if (!(unanswered instanceof Unanswered)) throw new Error("the server was not asked");
    await unanswered.answered;
    expect(asked()).toBe('invalid value for parameter "work_mem"');
    expect(machine.runs.at(-1)).toEqual({
      command: `${postgres} -C max_connections -D ${template} --work_mem=much --jit=off`,
      settings: { user: undefined, cwd: "/", env: { LC_ALL: "C", PATH: "/usr/bin:/bin" } },
    });
  });

  it("a server is asked, and initdb runs, as the user of servers, from where that one reaches the programs", async () => {
    const user = { uid: 65_534, gid: 65_534, name: "nobody" };
    const copy = machine.install(join(directory, "copy", "bin"));
    const all = templates(Object.assign(home, { user, reachable: () => Promise.resolve(join(directory, "copy")) }));
    await all.edition(17);
    const asked = () => all.refusedSettings({ major: 17, owner: "acc-ana" }, { jit: "off" });
    expect(asked).toThrow(Unanswered);
    const runs = machine.runs.filter(({ command }) => command.startsWith(copy));
    expect(runs.map(({ command, settings }) => [command.split(" ")[0], settings?.user])).toEqual([
      [join(copy, "initdb"), user],
      [join(copy, "postgres"), user],
    ]);
  });
});

describe("the user of servers", () => {
  const as = (uid: number) => Object.assign(new Watched(() => 0), { self: { ...machine.self, uid } });

  it("servers run as the service's own user, which no other may be named for", async () => {
    expect(await serverUser(undefined, as(1000))).toBeUndefined();
    await expect(serverUser("nobody", as(1000))).rejects.toThrow("--postgres-user works only as root: leave it out");
  });

  it("root names the user of servers, which is not root", async () => {
    const root = as(0);
    await expect(serverUser(undefined, root)).rejects.toThrow("name another user of this system with --postgres-user");
    root.ends.set("id", { status: 0, output: "65534\n" });
    expect(await serverUser("nobody", root)).toEqual({ uid: 65_534, gid: 65_534, name: "nobody" });
    expect(root.runs.map(({ command }) => command)).toEqual(["id -u nobody", "id -g nobody"]);
    for (const end of [
      { status: 0, output: "0\n" },
      { status: 1, output: "7\n" },
    ]) {
      root.ends.set("id", end);
      await expect(serverUser("who", root)).rejects.toThrow(
        "--postgres-user who is no user of this system that is not root",
      );
    }
  });
});
