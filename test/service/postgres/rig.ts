import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { z } from "zod";
import { socketIn, socketNumber } from "../../../src/service/postgres/host/sockets.ts";
import type { Child } from "../../support/child.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { startCommand } from "../../support/processes.ts";
import { lastRows, nodePostgres, type PgClient } from "./node-postgres.ts";

export const project = "shop";
export const main = "br-main";
export const primary = "ep-main";

/** One project with its default branch and primary, which belongs to the role `app` with the database `stock`. */
export const seed = {
  accounts: [{ id: "acc-ana", email: "ana@example.com", plan: "scale", apiKeys: [{ name: "laptop", key: "ana-key" }] }],
  projects: [
    {
      id: project,
      owner: "acc-ana",
      branches: [
        { id: main, name: "main", default: true, roles: ["app"], databases: [{ name: "stock", owner: "app" }] },
      ],
      endpoints: [{ id: primary, branchID: main, type: "read_write", autoscaling_limit_max_cu: 1 }],
    },
  ],
};

/** Two paths; whether they meet is a computation of hours, which asks nowhere whether it is to end. */
export const paths = `SELECT ('[' || string_agg('(' || i || ',0)', ',') || ']')::path AS one,
  ('[(-5,-5),(-5,1),' || string_agg('(' || i || ',1)', ',') || ']')::path AS other FROM generate_series(1, 300000) i`;

const Operation = z.looseObject({
  id: z.string(),
  action: z.string(),
  status: z.string(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  error: z.string().optional(),
});
export type Operation = z.infer<typeof Operation>;

const Endpoint = z.looseObject({ id: z.string(), current_state: z.string(), pending_state: z.string().optional() });

/** The answer to the create of a branch. */
export const CreatedBranch = z.looseObject({
  branch: z.looseObject({ id: z.string() }),
  endpoints: z.array(z.looseObject({ id: z.string() })),
});

export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

/** Servers must not run as root, and tests may. */
export const asRoot: readonly string[] = process.getuid?.() === 0 ? ["--postgres-user", "nobody"] : [];

/** The socket of the server that runs on the data of a branch. */
export function serverSocket(data: string, branchId = main): { host: string; port: number; socket: string } {
  const all = `${data}.postgres/branches`;
  const files = readdirSync(all).map((name) =>
    name.startsWith(`${branchId}.`) ? join(all, name, "postmaster.pid") : "",
  );
  const [file] = files.filter((one) => existsSync(one));
  const host = file === undefined ? undefined : readFileSync(file, "utf8").split("\n")[4];
  if (host === undefined) throw new Error(`no server runs on branch ${branchId} of ${data}`);
  return { host, port: socketNumber, socket: socketIn(host) };
}

/** The service with real servers as a process of its own, on one data file over its restarts. */
export class PostgresRig implements AsyncDisposable {
  readonly directory = temporaryDirectory("postgres");
  readonly data = join(this.directory.path, "service.sqlite");
  readonly #flags: readonly string[];
  #child: Child | undefined;
  #baseURL = "";
  #address = "";

  static async start(flags: readonly string[] = [], document: object = seed): Promise<PostgresRig> {
    const rig = new PostgresRig(flags, document);
    await rig.start();
    return rig;
  }

  constructor(flags: readonly string[], document: object) {
    chmodSync(this.directory.path, 0o755);
    const file = join(this.directory.path, "seed.yaml");
    writeFileSync(file, stringify(document));
    this.#flags = ["--seed", file, "--data", this.data, "--no-rate-limits", ...asRoot, ...flags];
  }

  async start(): Promise<void> {
    const everywhere = ["service", "--port", "0", "--postgres", "--postgres-port", "0"];
    this.#child = await startCommand("service", [...everywhere, ...this.#flags]);
    this.#baseURL = (await this.#child.waitForLine(/^Listening on (\S+)$/, 120_000))[1] ?? "";
    this.#address = (await this.#child.waitForLine(/^Postgres: (\S+)$/, 120_000))[1] ?? "";
  }

  get child(): Child {
    if (!this.#child) throw new Error("the service does not run");
    return this.#child;
  }

  /** Where the service listens, as HOST:PORT. */
  get serviceAddress(): string {
    return new URL(this.#baseURL).host;
  }

  /** Where clients of computes connect, as HOST:PORT. */
  get address(): string {
    return this.#address;
  }

  async kill(): Promise<void> {
    await this.child.kill();
  }

  /** Ends the service in order: its servers have ten seconds for their own end, and then some for a quicker one. */
  async stop(): Promise<void> {
    await this.child.stop(60_000);
  }

  async call(method: string, path: string, body?: unknown): Promise<Reply> {
    const answer = await fetch(`${this.#baseURL}${path}`, {
      method,
      headers: { authorization: "Bearer ana-key", "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: text === "" ? {} : z.record(z.string(), z.unknown()).parse(JSON.parse(text)),
    };
  }

  /** A change whose operations run to their end; answers them. Throws where the call is refused. */
  async change(method: string, path: string, body?: unknown): Promise<Operation[]> {
    const reply = await this.call(method, path, body);
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`);
    const begun = z.array(Operation).parse(reply.body["operations"] ?? []);
    await this.settled();
    const all = await this.operations();
    return begun.map(({ id }) => all.find((one) => one.id === id)).filter((one) => one !== undefined);
  }

  /** Resolves when no operation of the project runs. */
  async settled(): Promise<void> {
    for (;;) {
      const open = (await this.operations()).filter(({ status }) => ["running", "scheduling"].includes(status));
      if (open.length === 0) return;
      await sleep(20);
    }
  }

  /** Newest first. */
  async operations(): Promise<Operation[]> {
    const { body } = await this.call("GET", `/projects/${project}/operations?limit=100`);
    return z.array(Operation).parse(body["operations"]);
  }

  async endpoint(id = primary): Promise<z.infer<typeof Endpoint>> {
    const { body } = await this.call("GET", `/projects/${project}/endpoints/${id}`);
    return Endpoint.parse(body["endpoint"]);
  }

  async until(state: string, id = primary): Promise<void> {
    for (;;) {
      const endpoint = await this.endpoint(id);
      if (endpoint.current_state === state && endpoint.pending_state === undefined) return;
      await sleep(20);
    }
  }

  async uri({ endpoint = primary, database = "stock", role = "app", pooled = false } = {}): Promise<string> {
    const query = new URLSearchParams({ database_name: database, role_name: role, endpoint_id: endpoint });
    const { body } = await this.call("GET", `/projects/${project}/connection_uri?${query.toString()}&pooled=${pooled}`);
    return z.string().parse(body["uri"]);
  }

  /** Makes a role of the main branch with the API; answers how it connects. */
  async newRole(name: string): Promise<string> {
    await this.change("POST", `/projects/${project}/branches/${main}/roles`, { role: { name } });
    return this.uri({ role: name });
  }

  /** Goes back to the seed; answers the status. */
  async reset(): Promise<number> {
    return (await fetch(new URL("/_reset", this.#baseURL), { method: "POST" })).status;
  }

  /** Advances the service's clock; needs --test-controls. */
  async advance(seconds: number): Promise<void> {
    const body = JSON.stringify({ seconds });
    const { status } = await fetch(new URL("/_clock/advance", this.#baseURL), { method: "POST", body });
    if (status !== 200) throw new Error(`the clock was not advanced: ${status}`);
  }

  /** A client of node-postgres, connected. */
  async client(uri: string, settings: object = {}): Promise<PgClient> {
    const { Client } = nodePostgres();
    const client = new Client({ connectionString: uri, ...settings });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  /** Connects, runs statements, and answers the rows of the last. */
  async query(uri: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
    return lastRows(await this.client(uri), statements);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child?.stop(60_000);
    this.directory.remove();
  }
}
