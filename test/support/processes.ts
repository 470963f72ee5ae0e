import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Endpoint, EndpointsAnswer } from "../../src/api/endpoint.ts";
import { goodKey } from "../e2e/manifests.ts";
import { Child } from "./child.ts";
import { eventually } from "./eventually.ts";
import { temporaryDirectory } from "./guardian.ts";
import { freePort } from "./ports.ts";

const main = join(import.meta.dirname, "..", "..", "src", "main.ts");

/** Runs one command of compute-operator as a process of its own; `source` is the `main.ts` of another checkout. */
export function startCommand(
  name: string,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
  source = main,
): Promise<Child> {
  return Child.start({ name, command: process.execPath, args: [source, ...args], ...(env && { env }) });
}

export interface ServiceOptions {
  /** YAML of accounts, organizations, projects, branches and keys; without it the service makes one of each. */
  seed?: string;
  /** By how much its timers run faster than real ones. */
  timeScale?: number;
  /** Further flags. */
  args?: readonly string[];
}

/** The service as a process of its own, on one port and one data file over all its restarts. */
export class ServiceProcess implements AsyncDisposable {
  readonly port: number;
  /** Of the API, e.g. `http://127.0.0.1:34567/api/v2`. */
  readonly baseURL: string;
  /** The SQLite file that it keeps everything in, and has for itself while it runs. */
  readonly dataFile: string;
  readonly #args: readonly string[];
  readonly #directory: ReturnType<typeof temporaryDirectory>;
  #child: Child | undefined;
  #firstKey: string | undefined;

  static async start(options: ServiceOptions = {}): Promise<ServiceProcess> {
    const service = new ServiceProcess(await freePort(), options);
    await service.start();
    return service;
  }

  private constructor(port: number, { seed, timeScale, args = [] }: ServiceOptions) {
    this.port = port;
    this.baseURL = `http://127.0.0.1:${port}/api/v2`;
    this.#directory = temporaryDirectory("service");
    // Servers of Postgres run as another user where this one is root, and have to enter it.
    if (args.includes("--postgres")) chmodSync(this.#directory.path, 0o755);
    this.dataFile = join(this.#directory.path, "service.sqlite");
    const flags = ["service", "--port", String(port), "--data", this.dataFile];
    if (seed !== undefined) {
      const file = join(this.#directory.path, "seed.yaml");
      writeFileSync(file, seed);
      flags.push("--seed", file);
    }
    if (timeScale !== undefined) flags.push("--time-scale", String(timeScale));
    this.#args = [...flags, ...args];
  }

  /** The running process, or the last one. */
  get child(): Child {
    if (this.#child === undefined) throw new Error("the service has not been started");
    return this.#child;
  }

  /** The key that a service without a seed showed when it first started. */
  get firstKey(): string {
    if (this.#firstKey === undefined) throw new Error("the service has shown no key: it was started with a seed");
    return this.#firstKey;
  }

  /** Starts it, again after `kill` or `stop`, and waits until it listens. */
  async start(): Promise<void> {
    this.#child = await startCommand("service", this.#args);
    await this.#child.waitForLine(/Listening on http/);
    const shown = this.#child.lines.map((line) => /^API key \(shown once\): (\S+)/.exec(line)?.[1]);
    this.#firstKey ??= shown.find((key) => key !== undefined);
  }

  /** A call outside the operator, which no proxy sees; its path is below `/api/v2`, or the service's own (`/_…`). */
  send(method: string, path: string, body?: unknown, key = goodKey): Promise<Response> {
    const url = path.startsWith("/_") ? new URL(path, this.baseURL) : `${this.baseURL}${path}`;
    return fetch(url, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** The answer's body; rejects where the call is refused. */
  async call(method: string, path: string, body?: unknown, key = goodKey): Promise<unknown> {
    const answer = await this.send(method, path, body, key);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the service answers ${answer.status} to ${method} ${path}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** The endpoints of a project. */
  async endpoints(projectID: string): Promise<Endpoint[]> {
    return EndpointsAnswer.parse(await this.call("GET", `/projects/${projectID}/endpoints`)).endpoints;
  }

  /** Replaces its faults; it has to run with `--faults`. */
  async setFaults(rules: readonly object[]): Promise<void> {
    await this.call("PUT", "/_faults", rules);
  }

  /** Ends it as a crash would. */
  kill(): Promise<void> {
    return this.child.kill();
  }

  /** Ends it and removes its data. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child?.kill();
    this.#directory.remove();
  }
}

export interface OperatorOptions {
  kubeconfig: string;
  /** Base URLs it may talk to; any of a service on this machine where left out. */
  allowedBaseURLs?: readonly string[];
  /** The namespaces it looks after; all where left out. */
  namespaces?: readonly string[];
  /** Further flags. */
  args?: readonly string[] | undefined;
  env?: NodeJS.ProcessEnv;
  /** `main.ts` of another checkout, e.g. of an earlier version; default: of this one. */
  source?: string;
}

/** The operator as a process of its own. */
export class OperatorProcess implements AsyncDisposable {
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv | undefined;
  readonly #source: string | undefined;
  readonly #url: string;
  #child: Child | undefined;

  static async start(options: OperatorOptions): Promise<OperatorProcess> {
    const operator = await OperatorProcess.prepare(options);
    await operator.start();
    return operator;
  }

  /** One that is still to be started. */
  static async prepare(options: OperatorOptions): Promise<OperatorProcess> {
    return new OperatorProcess(await freePort(), options);
  }

  private constructor(port: number, options: OperatorOptions) {
    const { kubeconfig, allowedBaseURLs = ["http://127.0.0.1:*/api/v2"], namespaces = [], args = [] } = options;
    this.#url = `http://127.0.0.1:${port}`;
    this.#env = options.env;
    this.#source = options.source;
    this.#args = [
      "run",
      "--kubeconfig",
      kubeconfig,
      "--http-port",
      String(port),
      ...allowedBaseURLs.flatMap((url) => ["--allowed-base-url", url]),
      ...namespaces.flatMap((namespace) => ["--namespace", namespace]),
      ...args,
    ];
  }

  /** The running process, or the last one. */
  get child(): Child {
    if (this.#child === undefined) throw new Error("the operator has not been started");
    return this.#child;
  }

  /** Starts it, again after `kill` or `stop`, and waits until it says that it is ready. */
  async start(): Promise<void> {
    const child = await this.launch();
    const look = async () => {
      if (!child.running) return "ended";
      return (await this.isReady()) ? "ready" : undefined;
    };
    const answer = await eventually("the operator to be ready", look).catch((error: unknown) => {
      throw new Error(`the operator is not ready. It wrote:\n${child.tail()}`, { cause: error });
    });
    if (answer === "ended") {
      const { status, signal } = await child.end;
      const how = signal === null ? `exit code ${status}` : signal;
      throw new Error(`the operator ended while it was starting (${how}). It wrote:\n${child.tail()}`);
    }
  }

  /** Starts it, and does not wait for anything. */
  async launch(): Promise<Child> {
    this.#child = await startCommand("operator", this.#args, this.#env, this.#source);
    return this.#child;
  }

  /** Whether it says that it is ready; rejects where it does not answer. */
  async isReady(): Promise<boolean> {
    return (await fetch(`${this.#url}/readyz`)).ok;
  }

  /** Its metrics, as Prometheus reads them. */
  async metrics(): Promise<string> {
    return (await fetch(`${this.#url}/metrics`)).text();
  }

  /** Ends it as a crash would. */
  kill(): Promise<void> {
    return this.child.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child?.kill();
  }
}
