import { hash } from "node:crypto";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import type { ServiceClock } from "../../clock.ts";
import { copyTree } from "../host/copy-tree.ts";
import { unlessGone } from "../host/each-file.ts";
import { PostgresUnusable } from "../host/failure.ts";
import type { ProgramPorts } from "../host/guarded-program.ts";
import { stopLeftover } from "../host/leftover.ts";
import { makeDirectory, writePrivate } from "../host/private-file.ts";
import type { Processes, ProcessUser } from "../host/processes.ts";

const temporaryPrefix = "compute-operator-postgres-";
const socketsPrefix = "cpg-";

/** The longest path of a socket that every system takes, in bytes, less its name and that of its own directory. */
const longestSocketDirectory = 74;

/** Characters that end, or begin, something else in a connection string or in a list of directories. */
const unfitForSockets = /[\s'"\\,]/;

export interface HomeSettings extends ProgramPorts {
  /** The store's file, or `:memory:`. */
  data: string;
}

/** The directory that holds everything of the servers: beside the store's file, or a temporary one. */
export class Home {
  readonly root: string;
  readonly sockets: string;
  readonly user: ProcessUser | undefined;
  readonly #temporary: boolean;
  #noted = 0;

  private constructor(root: string, sockets: string, user: ProcessUser | undefined, temporary: boolean) {
    this.root = root;
    this.sockets = sockets;
    this.user = user;
    this.#temporary = temporary;
  }

  /** Opens it, after what an earlier service has left over is stopped and removed. */
  static async open({ data, user, processes, clock }: HomeSettings): Promise<Home> {
    const own = await processes.facts(processes.self.pid);
    // A system that does not show this process shows no other that runs.
    if (own) await removeAbandoned(user?.uid ?? processes.self.uid, processes, clock);
    const temporary = data === ":memory:";
    const given = temporary ? await mkdtemp(join(tmpdir(), temporaryPrefix)) : resolve(`${data}.postgres`);
    await mkdir(given, { recursive: true, mode: 0o700 });
    // The system names the directory of a process so, also of one that was started through a link.
    const root = await realpath(given);
    if (user) await refuseOfAnother(user, root);
    if (!temporary) await clear(root, processes, clock);
    const start = own?.sinceBoot ?? own?.startedAt ?? 0;
    await writePrivate(join(root, "owner"), `${processes.self.pid} ${start}\n`, undefined);
    for (const name of ["", "branches", "replicas", "making", "history", "logs", "poolers"])
      await makeDirectory(join(root, name), user);
    const inside = join(root, "s");
    const isFit = Buffer.byteLength(inside) <= longestSocketDirectory && !unfitForSockets.test(inside);
    const sockets = isFit ? inside : await mkdtemp(join(tmpdir(), socketsPrefix));
    await makeDirectory(sockets, user);
    if (!isFit) await writePrivate(join(root, "sockets"), sockets, undefined);
    const home = new Home(root, sockets, user, temporary);
    await home.#refuseUnreachable();
    return home;
  }

  /**
   * Rejects with `PostgresUnusable` where another store made what lies here: its servers take no password of ours; or
   * where this one is a copy from before it was made, and would have it removed. `operations`: the number of the last
   * one that the store has.
   */
  async claim(store: string, operations: number): Promise<void> {
    const file = join(this.root, "store");
    // Empty where the machine lost its power soon after the first start: a file reaches the disk after its name.
    const owner = (await readFile(file, "utf8").catch(unlessGone)) || undefined;
    if (owner === undefined) await writePrivate(file, store, undefined);
    else if (owner !== store) {
      throw new PostgresUnusable(
        `${this.root} belongs to another store than the one of --data: move it away, or put the store that it belongs to back`,
      );
    }
    if (Number(await readFile(this.#madeBy, "utf8").catch(unlessGone)) > operations) {
      throw new PostgresUnusable(
        `${this.root} has data that the store of --data is too old to know: put the store that made it back, or remove ${this.#madeBy} to lose that data`,
      );
    }
  }

  /** Notes, before data is made, the number of the store's last operation: the store of the data has it, or more. */
  noteMaking(operations: number): void {
    if (operations <= this.#noted) return;
    // In one turn: of two that are made at once, the later number stays. On a full disk the earlier one does.
    writeFileSync(`${this.#madeBy}.new`, `${operations}\n`, { mode: 0o600 });
    renameSync(`${this.#madeBy}.new`, this.#madeBy);
    this.#noted = operations;
  }

  get #madeBy(): string {
    return join(this.root, "made-by");
  }

  branch(branchId: string, generation: string): string {
    return join(this.root, "branches", `${branchId}.${generation}`);
  }

  replica(endpointId: string): string {
    return join(this.root, "replicas", endpointId);
  }

  /** Of a compute's server, or of its pooler. */
  log(endpointId: string, of: "" | "-pooler" = ""): string {
    return join(this.root, "logs", `${endpointId}${of}.log`);
  }

  /** All logs, and the settings of poolers, each with its compute. */
  async ofComputes(): Promise<{ file: string; endpointId: string }[]> {
    const found = ["logs", "poolers"].map(async (part) => {
      const names = await readdir(join(this.root, part));
      const idOf = (name: string) => name.replace(/(-pooler)?\.\w+$/, "");
      return names.map((name) => ({ file: join(this.root, part, name), endpointId: idOf(name) }));
    });
    return (await Promise.all(found)).flat();
  }

  making(name: string): string {
    return join(this.root, "making", name);
  }

  /**
   * Programs that the servers' user may run: those given, or a copy where that user cannot reach them. Others that were
   * copied under the name go: of an earlier release, or of another place.
   */
  async reachable(installation: string, name: string): Promise<string> {
    if (this.user === undefined || (await mayEnter(installation, this.user))) return installation;
    const stats = await Promise.all([".", "bin"].map((part) => stat(join(installation, part)).catch(unlessGone)));
    const edition = hash("sha256", [installation, ...stats.map((one) => one?.mtimeMs)].join(" ")).slice(0, 12);
    const copy = join(this.root, `${name}-${edition}`);
    if (existsSync(copy)) return copy;
    const staging = this.making(name);
    await rm(staging, { recursive: true, force: true });
    await copyTree(installation, staging, { owner: this.user, hardLinks: true, mode: 0o755 });
    for (const other of await readdir(this.root))
      if (other === name || other.startsWith(`${name}-`)) await rm(join(this.root, other), { recursive: true });
    await rename(staging, copy);
    return copy;
  }

  async close(): Promise<void> {
    await rm(this.#temporary ? this.root : this.sockets, { recursive: true, force: true });
    if (this.#temporary) await rm(this.sockets, { recursive: true, force: true });
    else await rm(join(this.root, "owner"), { force: true });
  }

  async #refuseUnreachable(): Promise<void> {
    if (this.user === undefined || (await mayEnter(this.root, this.user))) return;
    throw new PostgresUnusable(
      `the user of --postgres-user cannot reach ${this.root}: put --data into a directory that every user may enter`,
    );
  }
}

/** Rejects with `PostgresUnusable` where servers of another user have made what lies here: it is closed to others. */
async function refuseOfAnother({ uid }: ProcessUser, root: string): Promise<void> {
  const made = await stat(join(root, "branches")).catch(unlessGone);
  if (made === undefined || made.uid === uid) return;
  throw new PostgresUnusable(
    `${root} belongs to user ${made.uid}: name that one with --postgres-user, or give all of it to the other (chown -R)`,
  );
}

/** True if a user may enter a directory: it, and each one above it, by its mode. */
async function mayEnter(directory: string, { uid, gid }: ProcessUser): Promise<boolean> {
  const { uid: owner, gid: group, mode } = await stat(await realpath(directory));
  const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  const above = dirname(await realpath(directory));
  return above === directory || mayEnter(above, { uid, gid });
}

/**
 * Removes what services have left that kept nothing and were killed, and whose servers ran as this user. Other accounts
 * of the machine may make directories of the name: a pipe in one has no end, and a link leads elsewhere.
 */
async function removeAbandoned(servers: number, processes: Processes, clock: ServiceClock): Promise<void> {
  // A directory that nobody may list, or that is not there, shows none.
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    if (!name.startsWith(temporaryPrefix)) continue;
    const root = join(tmpdir(), name);
    const found = await lstat(root).catch(() => undefined);
    if (found?.isDirectory() !== true || found.uid !== servers) continue;
    const owner = await readFile(join(root, "owner"), "utf8").catch(() => "");
    // Without a whole file it is being made, or another service that starts now was first to remove it.
    if (!owner.endsWith("\n") || (await isAlive(owner, processes))) continue;
    const { uid, gid } = found;
    await stopServers(root, processes, clock);
    // As the one whose directory it is: nobody can lead root elsewhere with links in it.
    const user = processes.self.uid === uid ? undefined : { uid, gid };
    await rm(join(root, "owner"), { force: true });
    if (user) await processes.run("rm", ["-rf", root], { user, cwd: "/" });
    else await rm(root, { recursive: true, force: true });
  }
}

/** True if a service that noted itself runs, or may run. Earlier versions noted the time at which they started. */
async function isAlive(owner: string, processes: Processes): Promise<boolean> {
  const [pid = 0, start = 0] = owner.trim().split(" ").map(Number);
  if (start === 0) return true;
  const facts = await processes.facts(pid);
  return facts !== undefined && (facts.sinceBoot === start || Math.abs(facts.startedAt - start) < 3);
}

/** Stops servers that are left over, and removes what was not finished, and the log that all copies once shared. */
async function clear(root: string, processes: Processes, clock: ServiceClock): Promise<void> {
  await stopServers(root, processes, clock);
  const sockets = (await readFile(join(root, "sockets"), "utf8").catch(() => "")).trim();
  const ours = dirname(sockets) === tmpdir() && basename(sockets).startsWith(socketsPrefix);
  if (ours) await rm(sockets, { recursive: true, force: true });
  for (const name of ["making", "s", "sockets", "logs/copies.log"])
    await rm(join(root, name), { recursive: true, force: true });
}

async function stopServers(root: string, processes: Processes, clock: ServiceClock): Promise<void> {
  for (const kind of ["branches", "replicas", "making"]) {
    const names = await readdir(join(root, kind)).catch(() => []);
    await Promise.all(names.map((name) => stopLeftover(join(root, kind, name), processes, clock)));
  }
}
