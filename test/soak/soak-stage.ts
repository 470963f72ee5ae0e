import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../../src/api/endpoint.ts";
import { HttpTransport } from "../../src/operator/kube/http-transport.ts";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import { kubectl } from "../control-plane/kubectl.ts";
import { Installation } from "../deploy/installation.ts";
import { type Project, seedOf } from "../e2e/manifests.ts";
import { connect } from "../e2e/process-stage.ts";
import { Cluster, type Raw } from "../integration/support/cluster-admin.ts";
import { eventually } from "../support/eventually.ts";
import { isReady } from "../support/is-ready.ts";
import { realClock } from "../support/real-clock.ts";
import type { Handles, Sample } from "./figures.ts";

export const namespace = "soak";

/** Reasons with which a condition asks a person for an annotation: an operation that failed, a loss in doubt. */
const helpReasons = ["OperationFailed", "MassLoss"] as const;
export type HelpReason = (typeof helpReasons)[number];

const megabyte = 1024 * 1024;
/** Half a minute until the last compute is idle, half until connections that nobody uses are closed, and some more. */
const restMs = 80_000;
const samplesAtRest = 10;

/** What goes wrong at the service while the fleet churns: every hundredth request or so, each in another way. */
const mildFaults = [
  { method: "POST", kind: "drop-after", rate: 0.03 },
  { method: "PATCH", kind: "drop-after", rate: 0.03 },
  { method: "DELETE", kind: "drop-after", rate: 0.03 },
  { kind: "drop-before", rate: 0.01 },
  { kind: "500", rate: 0.01 },
  { kind: "503", rate: 0.01, retryAfter: 1 },
  { kind: "429", rate: 0.005, retryAfter: 2 },
  { kind: "423", method: "PATCH", rate: 0.03 },
  { kind: "html", rate: 0.005 },
  { kind: "cut", rate: 0.01 },
  { kind: "delay", rate: 0.05, ms: 400 },
  { kind: "fail-operations", method: "PATCH", rate: 0.01 },
];

/** A control plane, the service with its faults, and the operator: the shipped bundle under the shipped rights. */
export class SoakStage implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly projects: readonly Project[];
  readonly installation: Installation;
  readonly #transport: HttpTransport;
  readonly #strangeLines = new Set<string>();
  readonly #problems: string[] = [];

  static async start(computes: number): Promise<SoakStage> {
    const projects = ["shop", "blog", "wiki", "mail"].map((id) => ({
      id,
      branches: Array.from({ length: Math.ceil(computes / 4) + 4 }, (_, index) => `br-${id}-${index}`),
    }));
    const installation = await Installation.start({ seed: seedOf(projects), timeScale: 10, args: ["--faults"] });
    const stage = new SoakStage(installation, projects);
    await installation.install("deploy");
    await installation.operator.renewToken();
    await stage.cluster.createNamespace(namespace);
    const { counter, cluster } = installation;
    await connect(namespace, cluster.admin, { baseURL: counter.baseURL, spec: { refreshInterval: "10s" } });
    return stage;
  }

  private constructor(installation: Installation, projects: readonly Project[]) {
    this.installation = installation;
    this.projects = projects;
    const connected = loadKubeConfig({ file: installation.cluster.kubeconfig, env: {} });
    this.#transport = new HttpTransport({ connection: connected, clock: realClock, userAgent: "users" });
    this.cluster = new Cluster(this.#transport);
  }

  /** What went wrong so far that must never go wrong. */
  get problems(): string[] {
    const lines = [...this.#strangeLines].map((line) => `the operator wrote a line that is not of its log: ${line}`);
    return [...this.#problems, ...lines];
  }

  faults(on: boolean): Promise<void> {
    return this.installation.service.setFaults(on ? mildFaults : []);
  }

  /** Ends the service as a crash would, and starts it again. */
  async crashService(): Promise<void> {
    await this.installation.service.kill();
    await sleep(5000);
    await this.installation.service.start();
    await this.faults(true);
  }

  async sample(minutes: number): Promise<Sample> {
    const { child } = this.installation.operator;
    if (!child.running) throw new Error(`the operator has ended. It wrote:\n${child.tail(40)}`);
    for (const line of child.lines) if (!line.startsWith("{")) this.#strangeLines.add(line);
    const [metrics, health] = await Promise.all([this.metrics(), fetch(`${this.installation.operator.url}/healthz`)]);
    if (!health.ok) this.#problems.push(`/healthz at minute ${minutes.toFixed(1)}: ${await health.text()}`);
    else await health.body?.cancel();
    return {
      minutes,
      heapMB: oldHeapBytes(metrics) / megabyte,
      rssMB: residentMB(child.pid),
    };
  }

  /** The Computes whose condition asks a person for something: a restart, or a word that a loss is real. */
  async askingForHelp(): Promise<{ name: string; reason: HelpReason }[]> {
    const computes = await this.cluster.list("Compute", namespace);
    return computes.flatMap((compute) => {
      const reason = helpReasons.find((one) => one === readyOf(compute).reason);
      return reason === undefined ? [] : [{ name: compute.metadata.name, reason }];
    });
  }

  /** What the operator counts, each metric summed over its labels, and with them. */
  async metrics(): Promise<Map<string, number>> {
    const text = await (await fetch(`${this.installation.operator.url}/metrics`)).text();
    return sums(text);
  }

  /** Waits until every Compute is Ready as it is declared, and the service has one endpoint for each and no more. */
  async settled(): Promise<{ computes: number; endpoints: number }> {
    let waitsFor = "";
    return eventually(
      "the fleet to settle",
      async () => {
        const computes = await this.cluster.list("Compute", namespace);
        const unready = computes.filter((compute) => !isReadyToStay(compute));
        const strays = await this.strays();
        waitsFor = [...unready.map(inWords), ...strays].join("\n");
        const endpoints = (await this.#ours()).length;
        if (unready.length > 0 || strays.length > 0 || endpoints !== computes.length) return undefined;
        return { computes: computes.length, endpoints };
      },
      { timeoutMs: 240_000, everyMs: 2000 },
    ).catch((error: unknown) => {
      throw new Error(`the fleet does not settle:\n${waitsFor}`, { cause: error });
    });
  }

  /** Endpoints that carry the mark of a Compute that is gone, or the same mark as another. */
  async strays(): Promise<string[]> {
    const endpoints = await this.#ours();
    const living = new Set((await this.cluster.list("Compute", namespace)).map(({ metadata }) => metadata.uid));
    const orphans = endpoints.filter(({ name = "" }) => !living.has(name.slice("k8s-".length)));
    return [...orphans.map(({ id }) => `${id} has no Compute`), ...twinsOf(endpoints)];
  }

  /** Notes endpoints that were made twice for one Compute: not for a moment may there be any. */
  async lookForTwins(): Promise<void> {
    // The service may be down at this moment.
    const endpoints = await this.#ours().catch(() => []);
    this.#problems.push(...twinsOf(endpoints));
  }

  /**
   * Waits until what nobody uses is closed, and returns what is open: the least of several samples, as each opens one.
   */
  async atRest(): Promise<{ handles: Handles; writes: number }> {
    await sleep(restMs);
    this.installation.counter.clear();
    const samples: Omit<Handles, "watches">[] = [];
    while (samples.length < samplesAtRest) {
      await sleep(1500);
      const descriptors = readdirSync(`/proc/${this.installation.operator.child.pid}/fd`).length;
      samples.push({ descriptors, handles: (await this.metrics()).get("nodejs_active_handles_total") ?? Number.NaN });
    }
    const least = (figure: "descriptors" | "handles") => Math.min(...samples.map((sample) => sample[figure]));
    const handles = { descriptors: least("descriptors"), handles: least("handles"), watches: await this.#watches() };
    return { handles, writes: this.installation.counter.writes.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport.close();
    await this.installation[Symbol.asyncDispose]();
  }

  /** Watches of the operator's kinds that are open at the API server. */
  async #watches(): Promise<number> {
    const text = await kubectl(["get", "--raw", "/metrics"], this.installation.cluster.admin);
    const open = [...text.matchAll(/^apiserver_longrunning_requests\{([^}]*)\} (\d+)/gm)];
    const own = /resource="(computes|serviceconnections|computepools|secrets)".*verb="WATCH"/;
    return open.filter(([, labels = ""]) => own.test(labels)).reduce((sum, [, , count]) => sum + Number(count), 0);
  }

  async #ours(): Promise<Endpoint[]> {
    const lists = await Promise.all(this.projects.map(({ id }) => this.installation.service.endpoints(id)));
    return lists.flat().filter(({ name }) => name?.startsWith("k8s-"));
  }
}

function twinsOf(endpoints: readonly Endpoint[]): string[] {
  const twins = endpoints.filter(({ id, name }) => endpoints.some((other) => other.id !== id && other.name === name));
  return twins.map(({ id, name }) => `${id} is one of two endpoints named ${name}`);
}

/** Read from outside, as the image has no /proc here. */
export function residentMB(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kilobytes) / 1024;
}

/** What outlived its first collections: what came after is garbage mostly. */
function oldHeapBytes(metrics: ReadonlyMap<string, number>): number {
  const young = /space="new(_large_object)?"/;
  const spaces = [...metrics].filter(([name]) => name.startsWith("nodejs_heap_space_size_used_bytes{"));
  return spaces.filter(([name]) => !young.test(name)).reduce((sum, [, bytes]) => sum + bytes, 0);
}

function sums(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, name = "", labels = "", value] of text.matchAll(/^(\w+)(\{[^}]*\})? (\S+)$/gm)) {
    found.set(name, (found.get(name) ?? 0) + Number(value));
    if (labels !== "") found.set(name + labels, Number(value));
  }
  return found;
}

function readyOf({ status = {} }: Raw): { status?: unknown; reason?: unknown; message?: unknown } {
  const conditions = Array.isArray(status["conditions"]) ? status["conditions"] : [];
  return conditions.find(({ type }) => type === "Ready") ?? {};
}

function isReadyToStay(compute: Raw): boolean {
  return compute.metadata.deletionTimestamp === undefined && isReady(compute);
}

function inWords(compute: Raw): string {
  const { reason, message } = readyOf(compute);
  return `${compute.metadata.name}: ${String(reason)}: ${String(message)}`;
}
