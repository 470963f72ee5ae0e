import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { z } from "zod";
import { Collector } from "../operator/tracing/collector.ts";
import { nodePostgres } from "../service/postgres/node-postgres.ts";
import { asRoot } from "../service/postgres/rig.ts";
import { Child } from "../support/child.ts";
import { type CountedRequest, CountingProxy } from "../support/counting-proxy.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { OperatorProcess, ServiceProcess } from "../support/processes.ts";
import { kubeconfigTo } from "./api-front.ts";
import { administratorsKey, compute } from "./manifests.ts";
import { connectedNamespace, ProcessStage, type StageParts } from "./process-stage.ts";
import { sharedCluster } from "./shared-cluster.ts";

const project = "shop";
const branch = "br-main";
const seed = stringify({
  accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale", apiKeys: [{ name: "laptop", key: "ana-key" }] }],
  projects: [
    {
      id: project,
      owner: "acc-ana",
      branches: [
        {
          id: branch,
          name: "main",
          default: true,
          roles: ["app_a", "app_b"],
          databases: [{ name: "stock", owner: "app_a" }],
        },
      ],
    },
  ],
});

/** What an application connects with. */
export interface Login {
  username: string;
  password: string;
  uri: string;
}

/** A request of the operator at whose arrival it dies. `passes`: the request takes effect all the same. */
export interface Step {
  at: "service" | "cluster";
  method: string;
  path: RegExp;
  passes: boolean;
}

const secretAnswer = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()) }),
  data: z.record(z.string(), z.string()),
});

/** The operator as a process, with a proxy before the service and one before the API server. */
export class RotatingWorld extends ProcessStage {
  /** All passwords that any role had. */
  readonly passwords = new Set<string>();
  readonly #toService: CountingProxy;
  readonly #toCluster: CountingProxy;
  readonly #collector: Collector;
  readonly #logs: string[] = [];

  static async start(): Promise<RotatingWorld> {
    nodePostgres();
    const cluster = sharedCluster();
    await using stack = new AsyncDisposableStack();
    const service = stack.use(
      await ServiceProcess.start({ seed, args: ["--postgres", "--postgres-port", "0", ...asRoot] }),
    );
    const toService = stack.use(await CountingProxy.start(service));
    const proxy = await Child.start({
      name: "kubectl proxy",
      command: cluster.kubectl,
      args: ["--kubeconfig", cluster.kubeconfig, "proxy", "--port=0"],
    });
    stack.defer(() => proxy.kill());
    const [, port] = await proxy.waitForLine(/Starting to serve on 127\.0\.0\.1:(\d+)/);
    const toCluster = stack.use(await CountingProxy.start({ baseURL: `http://127.0.0.1:${port}` }));
    const collector = stack.use(await Collector.start());
    const files = temporaryDirectory("rotating");
    stack.defer(() => files.remove());
    const file = join(files.path, "kubeconfig");
    writeFileSync(file, kubeconfigTo(new URL(toCluster.baseURL).origin));
    const connected = { baseURL: toService.baseURL, key: administratorsKey };
    const namespace = await connectedNamespace("rotating", cluster, connected);
    const operator = stack.use(
      await OperatorProcess.start({
        kubeconfig: file,
        allowedBaseURLs: [toService.baseURL],
        namespaces: [namespace],
        args: ["--log-level", "debug"],
        env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
      }),
    );
    const proxies = { toService, toCluster, collector };
    return new RotatingWorld({ cluster, namespace, service, operator }, proxies, stack.move());
  }

  private constructor(
    parts: StageParts,
    proxies: { toService: CountingProxy; toCluster: CountingProxy; collector: Collector },
    everything: AsyncDisposable,
  ) {
    super(parts, everything);
    this.#toService = proxies.toService;
    this.#toCluster = proxies.toCluster;
    this.#collector = proxies.collector;
  }

  /** The roles whose passwords the operator asked the service to reset, in order. */
  get resets(): string[] {
    const { requests } = this.#toService;
    return requests.flatMap(({ path }) => /\/roles\/([^/]+)\/reset_password$/.exec(path)?.[1] ?? []);
  }

  /** Declares the Compute with this connection Secret, and waits for both. */
  async declare(connectionSecret: object): Promise<void> {
    await this.apply(
      compute("shop", { projectID: project, branchID: branch, adopt: { branchPrimary: true }, connectionSecret }),
    );
    await this.ready();
  }

  async ready(): Promise<void> {
    await this.waitForReady("compute/shop", 120);
  }

  /** Asks for a rotation. */
  async request(value: string): Promise<void> {
    await this.kubectl("annotate", "compute/shop", `compute-operator.dev/passwordRotationAt=${value}`, "--overwrite");
  }

  /** Kills the operator at the next such request, which `act` leads to. */
  async killedAt({ at, method, path, passes }: Step, act: () => Promise<void>): Promise<void> {
    const proxy = at === "service" ? this.#toService : this.#toCluster;
    const since = this.resets.length;
    const isMeant = (request: CountedRequest) =>
      request.method === method && path.test(request.path.split("?")[0] ?? "") && this.#follows(request, since);
    const dead = new Promise<void>((resolve, reject) => {
      const stop = proxy.onRequest((request) => {
        if (!isMeant(request)) return;
        stop();
        if (!passes) proxy.instead = (one) => (one === request ? "drop" : undefined);
        this.operator.kill().then(resolve, reject);
      });
    });
    await act();
    await dead;
    proxy.instead = undefined;
    this.#logs.push(...this.operator.child.lines);
  }

  /** True for a reset, and for what comes after one that was answered. */
  #follows({ path, method }: CountedRequest, since: number): boolean {
    if (method === "POST") return true;
    if (this.resets.length === since) return false;
    const reset = this.#toService.requests.findLast((one) => one.path.endsWith("/reset_password"));
    if (reset?.status === undefined) return false;
    // The status that says that a rotation is under way is not the one that ends it.
    return !path.endsWith("/status") || this.#toCluster.requests.some((one) => this.#isSecretSince(one, reset));
  }

  #isSecretSince({ method, path, arrivedAt }: CountedRequest, reset: CountedRequest): boolean {
    return method === "PATCH" && path.includes("/secrets/shop-db") && arrivedAt > reset.arrivedAt;
  }

  /** The login that the Secret holds. */
  async held(): Promise<Login> {
    const { data } = await this.#secret();
    const text = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
    const login = { username: text("username"), password: text("password"), uri: text("uri") };
    this.passwords.add(login.password);
    return login;
  }

  /** The request that the Secret says was carried out. */
  async handled(): Promise<string | undefined> {
    for (const role of ["app_a", "app_b"]) this.passwords.add(await this.#passwordOf(role));
    return (await this.#secret()).metadata.annotations["compute-operator.dev/password-rotation-handled"];
  }

  async status(): Promise<unknown> {
    return JSON.parse(await this.kubectl("get", "compute", "shop", "-o=jsonpath={.status.connectionSecret}"));
  }

  /** False if the password is refused; a session that is cut before it answers tries again. */
  async canLogIn({ uri }: Login): Promise<boolean> {
    const { Client } = nodePostgres();
    for (;;) {
      const client = new Client({ connectionString: uri });
      client.on("error", () => {});
      try {
        await client.connect();
        await client.query("SELECT 1");
        return true;
      } catch (error) {
        if (String(error).includes("password authentication failed")) return false;
        await sleep(200);
      } finally {
        await client.end().catch(() => {});
      }
    }
  }

  /** All that people and tools see: logs of all processes, objects but Secrets, events, metrics and traces. */
  async shown(): Promise<string> {
    const objects = await this.kubectl("get", "computes,serviceconnections,events", "-o", "json");
    // Spans are sent some seconds late, so those of a killed process are lost.
    await eventually("a trace", () => (this.#collector.requests.length > 0 ? true : undefined));
    const traces = this.#collector.requests.map(({ body }) => body);
    const metrics = await this.operator.metrics();
    return [objects, metrics, ...traces, ...this.#logs, ...this.operator.child.lines].join("\n");
  }

  async #passwordOf(role: string): Promise<string> {
    const path = `/projects/${project}/branches/${branch}/roles/${role}/reveal_password`;
    const answer = await this.service.call("GET", path, undefined, administratorsKey);
    return z.object({ password: z.string() }).parse(answer).password;
  }

  async #secret(): Promise<z.infer<typeof secretAnswer>> {
    return secretAnswer.parse(JSON.parse(await this.kubectl("get", "secret", "shop-db", "-o", "json")));
  }
}

/** Clients that log in again and again with what was given out, until they are stopped. */
export function loginsOf(world: RotatingWorld, given: readonly Login[]) {
  const refused: string[] = [];
  const over = new AbortController();
  const ended = (async () => {
    while (!over.signal.aborted) {
      for (const login of given) if (!(await world.canLogIn(login))) refused.push(login.username);
      await sleep(100);
    }
  })();
  const stop = () => {
    over.abort();
    return ended;
  };
  return { refused, stop, [Symbol.dispose]: () => void stop() };
}
