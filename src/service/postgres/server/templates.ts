import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { type ServiceClock, within } from "../../clock.ts";
import { messageOf } from "../../error-message.ts";
import type { Home } from "../data/home.ts";
import { type BinarySettings, findBinaries, installationOf } from "../host/binaries.ts";
import { copyTree, renameDurably } from "../host/copy-tree.ts";
import { PostgresUnusable, ServerFailed } from "../host/failure.ts";
import { writePrivate } from "../host/private-file.ts";
import { type Processes, type ProcessUser, serverEnvironment } from "../host/processes.ts";
import { superuser } from "../session/privileged-role.ts";
import { type Asking, SettingsAnswers } from "./settings-answers.ts";

/** A major version of Postgres, ready to be used. */
export interface Edition {
  major: number;
  postgres: string;
  /** A data directory that never runs: branches without a parent begin as copies of it. */
  template: string;
}

/** Older ones copy the data of a running server by other means. */
export const oldestMajor = 15;

/** Longest wait at a start for versions that clients have chosen, in milliseconds: npm may fetch some. */
const prepareMs = 10_000;

interface PreparePorts {
  clock: Pick<ServiceClock, "after">;
  stderr: (line: string) => void;
}

/** Every major version that was asked for, each with its programs and template; made when first asked for. */
export class Templates {
  readonly #home: Home;
  readonly #binaries: BinarySettings;
  readonly #processes: Processes;
  readonly #editions = new Map<number, Promise<Edition>>();
  readonly #ready = new Map<number, Edition>();
  readonly #answers = new SettingsAnswers();

  constructor(home: Home, binaries: BinarySettings, processes: Processes) {
    this.#home = home;
    this.#binaries = binaries;
    this.#processes = processes;
  }

  /** Rejects with `PostgresUnusable` or `ServerFailed`; it is tried again the next time. */
  edition(major: number): Promise<Edition> {
    const known = this.#editions.get(major);
    if (known) return known;
    const made = this.#make(major);
    this.#editions.set(major, made);
    made.then(
      (edition) => this.#ready.set(major, edition),
      () => this.#editions.delete(major),
    );
    return made;
  }

  /** Makes what clients have chosen: of one that is not there, or long in coming, their operations say so. */
  async prepare(majors: readonly number[], { clock, stderr }: PreparePorts): Promise<void> {
    const made = majors.map((major) => this.edition(major).catch((error: unknown) => stderr(messageOf(error))));
    await within(clock, prepareMs, Promise.all(made));
  }

  /** As `SettingsAnswers.refusal`; a version that is not ready yet cannot be asked. */
  refusedSettings(asking: Asking, settings: Readonly<Record<string, string>>): string | undefined {
    const edition = this.#ready.get(asking.major);
    const given = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    if (edition === undefined || given.length === 0) return undefined;
    const args = ["-C", "max_connections", "-D", edition.template, ...given];
    const { user } = this.#home;
    return this.#answers.refusal(asking, given, () =>
      this.#processes.run(edition.postgres, args, { user, cwd: "/", env: serverEnvironment }),
    );
  }

  async #make(major: number): Promise<Edition> {
    if (major < oldestMajor) {
      throw new PostgresUnusable(
        `Postgres ${major} cannot run behind computes: give the project ${oldestMajor} or newer`,
      );
    }
    const home = this.#home;
    const directory = await findBinaries(major, this.#binaries, this.#processes);
    const installation = installationOf(directory);
    const reachable = await home.reachable(installation, `programs-${major}`);
    const programs = basename(directory) === "bin" ? join(reachable, "bin") : reachable;
    const template = join(home.root, `template-${major}`);
    if (!existsSync(template)) await this.#initialise(major, programs, template);
    return { major, postgres: join(programs, "postgres"), template };
  }

  async #initialise(major: number, programs: string, template: string): Promise<void> {
    const made = this.#home.making(`template-${major}-${randomUUID()}`);
    const prepared = join(installationOf(programs), preparedTemplate);
    try {
      await (existsSync(prepared) ? this.#takePrepared(prepared, made) : this.#runInitdb(major, programs, made));
      await renameDurably(made, template);
    } finally {
      // Each start tries again, under another name.
      await rm(made, { recursive: true, force: true });
    }
  }

  async #runInitdb(major: number, programs: string, made: string): Promise<void> {
    const { user } = this.#home;
    const { status, output } = await this.#processes.run(join(programs, "initdb"), initdbArguments(major, made), {
      user,
      cwd: "/",
      env: serverEnvironment,
    });
    if (status !== 0) {
      throw new ServerFailed(`initdb of Postgres ${major} failed: ${output.trim().split("\n").at(-1) ?? ""}`);
    }
  }

  /** Takes what `initdb` has made elsewhere: `initdb` itself needs a shell. */
  async #takePrepared(prepared: string, made: string): Promise<void> {
    const { user } = this.#home;
    await copyTree(prepared, made, { owner: user });
    // The template's settings are of the place where it was made; each start writes others.
    await writePrivate(join(made, "postgresql.conf"), "", user);
  }
}

/** The name of a directory beside the programs that `initdb` has filled: for places without a shell. */
export const preparedTemplate = "compute-operator-template";

export function initdbArguments(major: number, directory: string): string[] {
  // The built-in locale sorts by code point on every system, and knows the letters of all languages.
  const locale = major >= 17 ? ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"] : ["--locale=C"];
  const cluster = ["--wal-segsize=1", "--data-checksums", "--encoding=UTF8", ...locale];
  // Each start writes access rules of its own; the superuser has no password.
  const access = ["-U", superuser, "--auth=reject"];
  return ["-D", directory, ...access, ...cluster, "--no-instructions"];
}

/** The user that servers run as: the one named where this process is root, else its own. */
export async function serverUser(name: string | undefined, processes: Processes): Promise<ProcessUser | undefined> {
  if (processes.self.uid !== 0) {
    if (name === undefined) return undefined;
    throw new PostgresUnusable("--postgres-user works only as root: leave it out, and servers run as the user you are");
  }
  if (name === undefined) {
    throw new PostgresUnusable("Postgres does not run as root: name another user of this system with --postgres-user");
  }
  const ids = await Promise.all(["-u", "-g"].map((flag) => processes.run("id", [flag, name])));
  const [uid = 0, gid = 0] = ids.map(({ status, output }) => (status === 0 ? Number(output.trim()) : 0));
  if (uid > 0) return { uid, gid, name };
  throw new PostgresUnusable(`--postgres-user ${name} is no user of this system that is not root`);
}
