import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { expect } from "vitest";
import { applyCommand, exportCommand, planCommand } from "../../src/cli/commands/command.ts";
import { connectionCommand } from "../../src/cli/commands/connection.ts";
import type { CliPorts } from "../../src/cli/commands/ports.ts";
import type { Ended } from "../../src/cli/commands/programs.ts";
import { type Prepared, type PrepareOptions, prepare } from "../../src/cli/plan/prepare.ts";
import * as plugin from "../../src/cli/plugin/commands.ts";
import type { ClusterTransport } from "../../src/operator/kube/transport.ts";
import type { Clock } from "../../src/operator/runtime/clock.ts";
import {
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "../../src/operator/service-client/transport.ts";
import type { Rules } from "../../src/service/rules.ts";
import { DrivenTime } from "../service/support/service.ts";
import { Shop } from "../service/support/shop.ts";
import { temporaryDirectory } from "../support/guardian.ts";

/** Time that passes at once whenever somebody waits for it. */
class LeapingClock extends DrivenTime implements Clock {
  /** Happens each time that somebody has waited. */
  passing: () => void = () => {};

  monotonic(): number {
    return this.now();
  }

  override after(ms = 0, task: () => void = () => {}): () => void {
    let due: (() => void) | undefined = task;
    setImmediate(() => {
      if (due === undefined) return;
      this.pass(Math.ceil(ms));
      this.passing();
      due();
    });
    return () => {
      due = undefined;
    };
  }
}

/** What becomes of one request: no answer comes, carried out or not, or it is refused with this status. */
export type Fate = "answered" | "lost before" | "lost after" | 409 | 423 | 429 | 503;

const commands = {
  plan: planCommand,
  apply: applyCommand,
  connection: connectionCommand,
  export: exportCommand,
  status: plugin.statusCommand,
  psql: plugin.psqlCommand,
  restart: plugin.restartCommand,
  pause: plugin.pauseCommand,
  resume: plugin.resumeCommand,
  disrupt: plugin.disruptCommand,
  reset: plugin.resetCommand,
};

export interface Run {
  status: number;
  out: string;
  err: string;
}

/** A directory of manifests, a service in this process, and the commands between them. */
export class Stage implements Disposable {
  readonly time = new LeapingClock();
  readonly shop: Shop;
  /** Writes that reached the service, as `METHOD path`. */
  readonly writes: { line: string; body: unknown }[] = [];
  stopping = new AbortController();
  env: Record<string, string | undefined> = {};
  terminal = false;
  /** Changes what the service answered. */
  rewrite: (request: ServiceRequest, response: ServiceResponse) => ServiceResponse = (_, response) => response;
  /** Happens before standard input is read for the first time. */
  whenAsked: () => void = () => {};
  /** Decides what becomes of a request. */
  fate: (request: ServiceRequest) => Fate = () => "answered";
  /** For how long lists show the computes as they stood when this was set. */
  staleUntil = 0;
  /** The API server of the cluster that a kubeconfig names. */
  cluster: ClusterTransport | undefined;
  #stale: string | undefined;
  /** The programs of the machine, by name. */
  programs: Record<string, (args: readonly string[]) => Ended> = {};
  /** Programs that the terminal was handed over to. */
  readonly handedOver: { program: string; args: readonly string[]; env: Readonly<Record<string, string>> }[] = [];
  readonly #directory = temporaryDirectory("cli");

  constructor(options: { strictSpec?: boolean; rules?: Rules } = {}) {
    this.shop = new Shop({ ...options, time: this.time });
  }

  /** Writes a file of the directory and answers its path. */
  file(name: string, text: string): string {
    const path = join(this.#directory.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  get directory(): string {
    return this.#directory.path;
  }

  /** Runs a command; paths of the directory are shown without it. */
  async run(command: keyof typeof commands, args: readonly string[], stdin = ""): Promise<Run> {
    const out: string[] = [];
    const err: string[] = [];
    const ports = this.ports(
      stdin,
      (line) => out.push(line),
      (line) => err.push(line),
    );
    const status = await commands[command](args, ports);
    const plain = (lines: readonly string[]) => lines.join("\n").replaceAll(`${this.#directory.path}/`, "");
    return { status, out: plain(out), err: plain(err) };
  }

  /** What the commands are given of the process. */
  ports(stdin = "", stdout: (line: string) => void = () => {}, stderr: (line: string) => void = () => {}): CliPorts {
    return {
      clock: this.time,
      stdout,
      stderr,
      terminal: this.terminal,
      stdoutTerminal: this.terminal,
      stdin: Object.assign(Readable.from(this.#answers(stdin)), { isTTY: this.terminal }),
      env: this.env,
      signal: this.stopping.signal,
      programs: {
        run: (program, args) => Promise.resolve(this.programs[program]?.(args)),
        handOver: (program, args, env) => {
          const found = this.programs[program]?.(args);
          if (found !== undefined) this.handedOver.push({ program, args, env });
          return Promise.resolve(found?.status);
        },
      },
      serviceTransport: this.transport(),
      ...(this.cluster === undefined ? {} : { clusterTransport: this.cluster }),
    };
  }

  /** Applies a file and interrupts that after its first POST. */
  async interrupted(path: string, ...flags: readonly string[]): Promise<Run> {
    this.fate = ({ method }) => {
      if (method === "POST") this.stopping.abort();
      return "answered";
    };
    const run = await this.run("apply", ["-f", path, "--yes", ...flags]);
    this.fate = () => "answered";
    this.stopping = new AbortController();
    return run;
  }

  /** What `apply` has of a text before it lists the service. */
  prepare(text: string, flags: Partial<PrepareOptions> = {}): Promise<Prepared> {
    const none = { kustomize: undefined, namespace: undefined, kubeconfig: undefined, context: undefined };
    const given = { cluster: "none", fleet: undefined, baseURL: undefined, createSettleMs: 60_000 } as const;
    const paths = [this.file("a.yaml", text)];
    const options = { ...none, ...given, prune: false, writes: true, paths, ...flags };
    return prepare(options, this.ports(), this.transport());
  }

  /** What a person types, when somebody reads it. */
  *#answers(text: string): Generator<Buffer> {
    this.whenAsked();
    yield Buffer.from(text);
  }

  transport(): ServiceTransport {
    return {
      send: async (request) => {
        const fate = this.fate(request);
        if (fate === "lost before") throw new NoResponseError("no answer in time");
        const { pathname } = new URL(request.baseURL);
        if (request.method !== "GET")
          this.writes.push({ line: `${request.method} ${request.path}`, body: request.body });
        if (typeof fate === "number") {
          const message = fate === 409 ? "already exists" : "not now";
          return { status: fate, body: { code: "", message, request_id: "" }, json: true };
        }
        const reply = this.shop.core.call({
          method: request.method,
          path: pathname + request.path,
          query: request.query ?? {},
          headers: { authorization: request.key.authorization() },
          ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        });
        if (fate === "lost after") throw new NoResponseError("no answer in time");
        if (request.method === "GET" && request.path.endsWith("/endpoints")) {
          this.#stale ??= reply.body;
          if (this.time.now() < this.staleUntil)
            return this.rewrite(request, { status: 200, body: JSON.parse(this.#stale ?? ""), json: true });
        }
        const body: unknown = reply.body === undefined ? undefined : JSON.parse(reply.body);
        return this.rewrite(request, { status: reply.status, body, json: reply.body !== undefined });
      },
    };
  }

  [Symbol.dispose](): void {
    this.shop.core.close();
    this.#directory.remove();
  }
}

/** A service without a route for branches. */
export const hidingBranches: Stage["rewrite"] = ({ path }, response) =>
  path.endsWith("/branches")
    ? { status: 404, body: { code: "", message: "this route does not exist", request_id: "" }, json: true }
    : response;

/** The lines that plan writes for a file of this text, the name of the command left out. */
export async function refusals(text: string, stage = new Stage()): Promise<string> {
  using _ = stage;
  const run = await stage.run("plan", ["-f", stage.file("a.yaml", text)]);
  expect(run).toMatchObject({ status: 1, out: "" });
  return run.err.replaceAll("compute-operator plan: ", "");
}
