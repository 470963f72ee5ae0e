import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { parseServiceFlags } from "../../src/service/flags.ts";
import { cryptoIds } from "../../src/service/ids.ts";
import { PostgresUnusable } from "../../src/service/postgres/host/failure.ts";
import { Postgres } from "../../src/service/postgres/postgres.ts";
import { runService } from "../../src/service/run.ts";
import { ProjectDetails } from "../../src/service/store/details.ts";
import { Store } from "../../src/service/store/store.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { FakeMachine } from "./postgres/fake/fake-machine.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let data: string;
beforeEach(() => {
  directory = temporaryDirectory("run-postgres");
  data = join(directory.path, "service.sqlite");
  vi.stubEnv("TMPDIR", directory.path);
});
afterEach(() => directory.remove());

/** Runs the service with `--postgres` on this machine, until it says where Postgres is; answers status and errors. */
async function run(machine: FakeMachine, ...args: string[]): Promise<{ status: number; err: string[] }> {
  const err: string[] = [];
  const stop = new AbortController();
  let now = 1_700_000_000_000;
  const after = (ms: number, task: () => void) => {
    now += ms;
    const timer = setImmediate(task);
    return () => clearImmediate(timer);
  };
  const seed = join(directory.path, "seed.yaml");
  writeFileSync(seed, "accounts: [{id: a, email: a@example.com}]\n");
  const options = parseServiceFlags(["--postgres", "--postgres-port=0", "--port=0", "--seed", seed, ...args]);
  const status = await runService(options, {
    clock: { now: () => now, after },
    random: () => 0.5,
    ids: cryptoIds(),
    stdout: (line) => line.startsWith("Postgres: ") && stop.abort(),
    stderr: (line) => err.push(line),
    signal: stop.signal,
    env: {},
    processes: machine,
  });
  return { status, err };
}

it("a service with Postgres that is root, and names no other user, is refused before it makes a file", async () => {
  class Root extends FakeMachine {
    override readonly self = { pid: 4711, uid: 0, user: "root", node: process.execPath };
  }
  const { status, err } = await run(new Root(() => 0), "--data", data);
  expect([status, err]).toEqual([
    1,
    [expect.stringContaining("name another user of this system with --postgres-user")],
  ]);
  expect(readdirSync(directory.path)).toEqual(["seed.yaml"]);
});

it("a server of an earlier service that does not stop ends the service with the process to end, and frees the store", async () => {
  const left = join(`${data}.postgres`, "branches", "br-a.1");
  mkdirSync(left, { recursive: true });
  writeFileSync(join(left, "postmaster.pid"), `42\n${left}\n1700000000\n`);
  class Stubborn extends FakeMachine {
    override async facts(pid: number) {
      return pid === 42 ? { startedAt: 1_700_000_000, place: left } : super.facts(pid);
    }

    override signal(): void {}
  }
  const { status, err } = await run(new Stubborn(() => 0), "--data", data);
  const message = `compute-operator service: a server that was left over in ${left} does not stop: end process 42`;
  expect([status, err]).toEqual([1, [message]]);
  Store.open(data).close();
});

it("a service with Postgres that ends removes what it had made for it", async () => {
  const { status } = await run(new FakeMachine(() => 0), "--data", data);
  const root = `${data}.postgres`;
  expect([status, existsSync(join(root, "store")), existsSync(join(root, "owner"))]).toEqual([0, true, false]);
});

it.each([
  ["no domain", [], "set --domain."],
  ["a domain, at another port than clients expect", ["--domain", "db.test"], "the service needs --postgres-port 5432"],
])("a service with Postgres that has %s says what that costs", async (_, args, words) => {
  const { status, err } = await run(new FakeMachine(() => 0), "--data", data, ...args);
  expect([status, err]).toEqual([0, [expect.stringContaining("pgbouncer"), expect.stringContaining(words)]]);
});

it("a service starts though a client has made a project of a version that it cannot run, and says so", async () => {
  await run(new FakeMachine(() => 0), "--data", data);
  const store = Store.open(data);
  const [owner, times] = [{ kind: "account", id: "a" } as const, { createdAt: 0, updatedAt: 0 }];
  const project = { id: "theirs", name: "theirs", owner, regionId: "aws-us-east-2", pgVersion: 14 };
  store.projects.insert({ ...project, details: ProjectDetails.parse({}), ...times });
  store.close();
  const { status, err } = await run(new FakeMachine(() => 0), "--data", data);
  expect([status, err]).toEqual([0, expect.arrayContaining([expect.stringContaining("Postgres 14 cannot run")])]);
});

it("a service with Postgres hands on what its flags say, and reports the errors of Postgres", async () => {
  const open = vi.spyOn(Postgres, "open");
  onTestFinished(() => open.mockRestore());
  const machine = new FakeMachine(() => 0);
  const bin = machine.install(join(directory.path, "bin"));
  const flags = ["--postgres-advertise=db.test:6432", "--postgres-bin", bin, "--temporary-disk-scale=0.5"];
  const { err } = await run(machine, "--data", data, "--host=127.0.0.2", "--domain=db.test", ...flags);
  const [settings, ports] = open.mock.calls[0] ?? [];
  expect(settings).toEqual({
    host: "127.0.0.2",
    port: 0,
    advertise: "db.test:6432",
    domain: "db.test",
    binaries: bin,
    user: undefined,
    data,
    temporaryDiskScale: 0.5,
  });
  ports?.onError(new Error("unforeseen"));
  expect(err.at(-1)).toContain("unforeseen");
});

it("a service with Postgres that is root hands on the user that it was given", async () => {
  const open = vi.spyOn(Postgres, "open").mockRejectedValueOnce(new PostgresUnusable("no further"));
  onTestFinished(() => open.mockRestore());
  const machine = Object.assign(new FakeMachine(() => 0), {
    self: { pid: 4711, uid: 0, user: "root", node: process.execPath },
  });
  machine.ends.set("id", { status: 0, output: "65534\n" });
  expect((await run(machine, "--data", data, "--postgres-user=servers")).status).toBe(1);
  expect(open.mock.calls[0]?.[0].user).toEqual({ uid: 65_534, gid: 65_534, name: "servers" });
});
