import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { CreatedBranch, type PostgresRig, type Reply, seed } from "../rig.ts";
import type { Send, Stage } from "./operations.ts";

const [shop] = seed.projects;

function projectOf(id: string): object {
  const databases = [{ name: "stock", owner: "app" }];
  return {
    ...shop,
    id,
    branches: [{ id: `br-${id}`, name: "main", default: true, roles: ["app"], databases }],
    endpoints: [{ id: `ep-${id}`, branchID: `br-${id}`, type: "read_write", autoscaling_limit_max_cu: 1 }],
  };
}

/** A project whose branches are held, and one of another client. */
export const matrixSeed = { ...seed, projects: [projectOf("held"), projectOf("other")] };

const main = { branch: "br-held", endpoint: "ep-held" };
export const other = { branch: "br-other", endpoint: "ep-other" };
const branchesPath = "/projects/held/branches";

const Begun = z.looseObject({ operations: z.array(z.looseObject({ id: z.string() })).optional() });
const Shown = z.looseObject({
  operation: z.looseObject({ status: z.string(), action: z.string(), error: z.string().optional() }),
});
const Branch = z.looseObject({ id: z.string(), default: z.boolean() });

/** The branches of the project `held`, of which each cell has its own. */
export class Branches {
  readonly #rig: PostgresRig;

  constructor(rig: PostgresRig) {
    this.#rig = rig;
  }

  /** Puts roles, databases and tables into the main branch, of which the others are copies. */
  async prepare(): Promise<void> {
    const rig = this.#rig;
    for (const name of ["thief", "victim", "honest"])
      await this.send("POST", `${branchesPath}/br-held/roles`, { role: { name } });
    await this.send("POST", `${branchesPath}/br-held/databases`, { database: { name: "doomed", owner_name: "app" } });
    await this.send("PATCH", "/projects/held", { project: { settings: { enable_logical_replication: true } } });
    await this.send("POST", "/projects/held/endpoints/ep-held/restart");
    await rig.query(
      await this.uri(main, "app"),
      "CREATE TABLE items (x int)",
      "CREATE PUBLICATION pub FOR TABLE items",
      "GRANT CREATE ON DATABASE stock TO victim",
      "GRANT CREATE ON SCHEMA public TO PUBLIC",
    );
    await rig.query(
      await this.uri(main, "victim"),
      "CREATE SCHEMA victims CREATE TABLE things (x int)",
      "GRANT ALL ON SCHEMA victims TO app",
      "GRANT ALL ON victims.things TO app",
    );
    // Data that no server uses is copied quickly.
    await this.send("POST", "/projects/held/endpoints/ep-held/suspend");
  }

  async create(replica: boolean): Promise<Stage> {
    const settings = { pg_settings: { max_prepared_transactions: "1000" } };
    const primary = { type: "read_write", settings, autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 };
    const endpoints = [primary, ...(replica ? [{ type: "read_only", settings }] : [])];
    const reply = await this.send("POST", branchesPath, { branch: {}, endpoints });
    const { branch, endpoints: made } = CreatedBranch.parse(reply.body);
    return { branch: branch.id, endpoint: made[0]?.id ?? "", replica: made[1]?.id, begun: new Date().toISOString() };
  }

  /** Deletes all but the main branch, children first. */
  async clean(): Promise<void> {
    const { body } = await this.#rig.call("GET", `${branchesPath}?limit=100&sort_by=created_at&sort_order=desc`);
    for (const { id, default: isDefault } of z.array(Branch).parse(body["branches"]))
      if (!isDefault) await this.send("DELETE", `${branchesPath}/${id}`).catch(() => {});
  }

  /** A call whose operations run to their end; one that meets others waits for them. Throws where it is refused. */
  async send(...call: Parameters<Send>): Promise<Reply> {
    let reply = await this.#rig.call(...call);
    for (; reply.status === 423; reply = await this.#rig.call(...call)) await sleep(50);
    if (reply.status >= 300) throw new Error(`${call[0]} ${call[1]}: ${reply.status} ${JSON.stringify(reply.body)}`);
    await this.ends(reply);
    return reply;
  }

  /** The operations that an answer names, at their ends. */
  async ends(reply: Reply): Promise<z.infer<typeof Shown>["operation"][]> {
    const ends = [];
    for (const { id } of Begun.parse(reply.body).operations ?? []) ends.push(await this.#end(id));
    return ends;
  }

  async #end(id: string): Promise<z.infer<typeof Shown>["operation"]> {
    for (;;) {
      const { operation } = Shown.parse((await this.#rig.call("GET", `/projects/held/operations/${id}`)).body);
      if (!["running", "scheduling"].includes(operation.status)) return operation;
      await sleep(20);
    }
  }

  async uri({ branch, endpoint }: typeof main, role: string, database = "stock"): Promise<string> {
    const project = branch === other.branch ? "other" : "held";
    const { body } = await this.#rig.call(
      "GET",
      `/projects/${project}/branches/${branch}/roles/${role}/reveal_password`,
    );
    const password = z.string().parse(body["password"]);
    return `postgresql://${role}:${password}@${this.#rig.address}/${database}?options=endpoint%3D${endpoint}`;
  }
}
