import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { startWithUs } from "../../support/guardian.ts";
import { findProgram } from "../programs.ts";

/** How long anything may take on a busy machine, in milliseconds. */
const patienceMs = 150_000;

const resource = z.object({ kind: z.string(), name: z.string(), status: z.string(), message: z.string() });
const synced = z.object({
  revision: z.string(),
  resources: z.array(resource).nullable(),
  error: z.string().optional(),
});
const line = z.object({
  ready: z.boolean().optional(),
  synced: synced.optional(),
  health: resource.optional(),
});

/** What the engine says of an object: how it was synchronized, or its health. */
export type Said = z.infer<typeof resource>;

/** What came of one synchronization. */
export interface Synced {
  resources: readonly Said[];
  /** Why it failed; "" where it did not. */
  error: string;
}

export interface EngineOptions {
  kubeconfig: string;
  namespace: string;
  /** Path or URL of the Git repository. */
  repository: string;
  /** A directory of its own. */
  directory: string;
}

/** Argo CD's engine in a process of its own, which keeps a namespace as a Git repository says. */
export class Engine implements AsyncDisposable {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #synced: Synced[] = [];
  readonly #healths: Said[] = [];
  readonly #end: Promise<void>;
  #ready = false;
  #taken = 0;
  #errors = "";

  static async start(options: EngineOptions): Promise<Engine> {
    const { data }: { data: unknown } = parse(readFileSync("deploy/argocd/argocd-cm.yaml", "utf8"));
    const settings = join(options.directory, "argocd-cm.json");
    writeFileSync(settings, JSON.stringify(data));
    const flags = { ...options, checkout: join(options.directory, "checkout"), settings };
    const { kubeconfig, namespace, repository, checkout } = flags;
    const named = { kubeconfig, namespace, repository, checkout, settings };
    const args = Object.entries(named).map(([flag, value]) => `-${flag}=${value}`);
    const program = await findProgram("engine");
    const engine = new Engine(startWithUs((own) => spawn(program, args, own)));
    await engine.#eventually("to be ready", () => engine.#ready);
    return engine;
  }

  private constructor(process: ChildProcessWithoutNullStreams) {
    this.#process = process;
    createInterface({ input: process.stdout }).on("line", (text) => this.#take(text));
    process.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-4000);
    });
    this.#end = new Promise((resolve) => {
      process.once("close", () => resolve());
    });
  }

  /** Has the engine fetch the repository and synchronize. */
  async sync(): Promise<Synced> {
    const before = this.#synced.length;
    this.#process.stdin.write("sync\n");
    await this.#eventually("to synchronize", () => this.#synced.length > before);
    const last = this.#synced.at(-1);
    if (last === undefined) throw new Error("the engine has not synchronized");
    return last;
  }

  /** Waits until the last change of an object's health, since `takeHealths`, is to this. */
  async comesTo(kind: string, name: string, status: string, reason = ""): Promise<void> {
    await this.#eventually(`${kind} ${name} to be ${status} ${reason}`, () => {
      const last = this.#healths.slice(this.#taken).findLast((one) => one.kind === kind && one.name === name);
      return last?.status === status && last.message.startsWith(reason);
    });
  }

  /** The changes of health since this was asked last. */
  takeHealths(): Said[] {
    const since = this.#healths.slice(this.#taken);
    this.#taken = this.#healths.length;
    return since;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill();
    await this.#end;
  }

  #take(text: string): void {
    const said = line.parse(JSON.parse(text));
    if (said.ready === true) this.#ready = true;
    if (said.health !== undefined) this.#healths.push(said.health);
    if (said.synced !== undefined) {
      this.#synced.push({ resources: said.synced.resources ?? [], error: said.synced.error ?? "" });
    }
  }

  async #eventually(what: string, isSo: () => boolean): Promise<void> {
    await eventually(
      `the engine ${what}; it said ${JSON.stringify(this.#healths)} and wrote ${this.#errors}`,
      () => (isSo() ? true : undefined),
      {
        timeoutMs: patienceMs,
      },
    );
  }
}
