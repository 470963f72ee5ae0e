import { z } from "zod";
import { main, primary, project } from "../rig.ts";
import { CatalogWalk } from "./catalog-walk.ts";
import { Branches } from "./look.ts";
import { become, copied, emptied, type ModelBranch, type Moment } from "./model.ts";
import { base } from "./walk.ts";

const mostBranches = 4;

const Made = z.looseObject({
  branch: z.looseObject({ id: z.string(), name: z.string() }),
  endpoints: z.array(z.looseObject({ id: z.string(), type: z.string() })),
});
const Compute = z.looseObject({ id: z.string() });

/** Walks at random through the calls of the API, beside a model of what each branch then has. */
export class Walker extends CatalogWalk {
  readonly #deleted: ModelBranch[] = [];
  #owner = "org-a";

  /** The main branch of the seed, before anything was written. */
  async begin(): Promise<void> {
    const roles = new Map([
      ["neondb_owner", true],
      ["app", true],
    ]);
    const database = (owner: string) => ({ owner, rows: new Set<string>() });
    const databases = new Map([
      ["neondb", database("neondb_owner")],
      ["stock", database("app")],
    ]);
    this.branches.push(this.newBranch(main, "main", primary, { roles, databases }, undefined));
    await this.act("start", "POST", `/endpoints/${primary}/start`);
    await this.moment();
  }

  /** One step of a kind, at a branch that is drawn. */
  async step(kind: string): Promise<void> {
    const branch = this.pick(this.branches);
    if (!branch) return;
    const act = this.#steps[isKind(kind) ? kind : "write"];
    const lsns = (await act.call(this, branch)) ?? new Map<string, string>();
    await this.moment(lsns);
  }

  readonly #steps: Record<Kind, (branch: ModelBranch) => Promise<Map<string, string> | void>> = {
    write: (branch) => this.#write(branch),
    branch: (branch) => this.#branch(branch),
    restore: (branch) => this.#restore(branch),
    rewind: (branch) => this.#rewind(branch),
    delete: (branch) => this.#delete(branch),
    recover: () => this.#recover(),
    rename: async (branch) => {
      const name = `renamed-${this.next()}`;
      if (await this.act("rename", "PATCH", `/branches/${branch.id}`, { branch: { name } })) branch.name = name;
    },
    protect: async (branch) => {
      const wanted = !branch.isProtected;
      const body = { branch: { protected: wanted } };
      if (await this.act("protect", "PATCH", `/branches/${branch.id}`, body)) branch.isProtected = wanted;
    },
    default: async (branch) => {
      await this.act("default", "POST", `/branches/${branch.id}/set_as_default`);
      this.defaultBranch = branch.id;
    },
    transfer: async () => {
      const to = this.#owner === "org-a" ? "org-b" : "org-a";
      const path = `/organizations/${this.#owner}/projects/transfer`;
      const { status } = await this.rig.call("POST", path, { destination_org_id: to, project_ids: [project] });
      this.log.push(`transfer to ${to}: ${status}`);
      if (status === 200) this.#owner = to;
      else this.problems.push(`transfer: ${status}`);
    },
    role: (branch) => this.role(branch),
    password: (branch) => this.password(branch),
    database: (branch) => this.database(branch),
    sql: (branch) => this.sql(branch),
    suspend: async (branch) => {
      await this.act("suspend", "POST", `/endpoints/${branch.primary}/suspend`);
    },
    start: async (branch) => {
      await this.act("start", "POST", `/endpoints/${branch.primary}/start`);
    },
    restart: async (branch) => {
      await this.act("restart", "POST", `/endpoints/${branch.primary}/restart`);
    },
    replica: async (branch) => {
      if (branch.replica !== undefined) {
        if (await this.act("replica", "DELETE", `/endpoints/${branch.replica}`)) branch.replica = undefined;
        return;
      }
      const body = { endpoint: { branch_id: branch.id, type: "read_only" } };
      const reply = await this.act("replica", "POST", "/endpoints", body);
      if (reply) branch.replica = Compute.parse(reply.body["endpoint"]).id;
    },
    compute: async (branch) => {
      if (branch.isProtected) return;
      await this.act("compute", "DELETE", `/endpoints/${branch.primary}`);
      const body = { endpoint: { branch_id: branch.id, type: "read_write" } };
      const reply = await this.act("compute", "POST", "/endpoints", body);
      if (reply) branch.primary = Compute.parse(reply.body["endpoint"]).id;
    },
    size: async (branch) => {
      const cu = this.pick([0.25, 0.5, 1, 2]);
      const endpoint = { autoscaling_limit_min_cu: cu, autoscaling_limit_max_cu: cu };
      const settings = { settings: { pg_settings: { work_mem: `${this.next()}MB` } } };
      const wanted = this.chance(0.5) ? endpoint : settings;
      await this.act("size", "PATCH", `/endpoints/${branch.primary}`, { endpoint: wanted });
    },
    kill: async () => {
      this.log.push("SIGKILL");
      await this.rig.kill();
      await this.rig.start();
      await this.rig.settled();
    },
    stop: async () => {
      this.log.push("SIGTERM");
      await this.rig.stop();
      await this.rig.start();
      await this.rig.settled();
    },
    killNext: async () => {
      this.killsNext = true;
    },
  };

  async #write(branch: ModelBranch): Promise<Map<string, string>> {
    const [name, database] = this.pick([...branch.content.databases]) ?? [];
    if (name === undefined || !database) return new Map();
    const login = branch.passwords.has(database.owner) ? database.owner : undefined;
    const client = await this.rig.client(await this.uri(branch, name, login));
    try {
      const found = await client.query("SELECT to_regclass('s.mark') AS found");
      if (found.rows[0]?.["found"] === null && login === undefined) return new Map();
      if (found.rows[0]?.["found"] === null) {
        await client.query("CREATE SCHEMA s");
        await client.query("CREATE TABLE s.mark (m text)");
      }
      if (database.rows.size > 3 && this.chance(0.3)) {
        const [gone] = this.pick([...database.rows].map((one) => [one])) ?? [];
        await client.query(`DELETE FROM s.mark WHERE m = '${gone}'`);
        database.rows.delete(gone ?? "");
      }
      for (let more = 1 + (this.chance(0.5) ? 0 : 2); more > 0; more -= 1) {
        const mark = `${branch.name}/${name}/${this.next()}`;
        await client.query(`INSERT INTO s.mark VALUES ('${mark}')`);
        database.rows.add(mark);
      }
      const { rows } = await client.query("SELECT pg_current_wal_insert_lsn()::text AS lsn");
      this.log.push(`write to ${name} of ${branch.id}`);
      return new Map([[branch.id, String(rows[0]?.["lsn"])]]);
    } finally {
      await client.end();
    }
  }

  async #branch(parent: ModelBranch): Promise<void> {
    if (this.branches.length >= mostBranches) return this.#delete(parent);
    const past = this.chance(0.5) ? this.momentOf(parent) : undefined;
    const init = this.chance(0.25) ? this.pick(["schema-only", "parent-schema"]) : undefined;
    const point =
      past && Object.fromEntries(Object.entries(past.point).map(([key, value]) => [`parent_${key}`, value]));
    const name = `b${this.next()}`;
    const branch = { parent_id: parent.id, name, ...point, ...(init !== undefined && { init_source: init }) };
    const endpoints = [{ type: "read_write" }, ...(this.chance(0.2) ? [{ type: "read_only" }] : [])];
    const reply = await this.act("branch", "POST", "/branches", { branch, endpoints });
    if (!reply) return;
    const made = Made.parse(reply.body);
    const computeOf = (type: string) => made.endpoints.find((one) => one.type === type)?.id;
    const shown = past?.moment.content ?? parent.content;
    const content = init === undefined ? copied(shown) : emptied(shown);
    const one = this.newBranch(
      made.branch.id,
      name,
      computeOf("read_write") ?? "",
      content,
      init === "schema-only" ? undefined : parent.id,
    );
    one.replica = computeOf("read_only");
    if (init === undefined) one.past = parent.past.filter(({ at }) => !past || at <= past.moment.at);
    one.former.push(...[...parent.passwords].map(([role, password]) => ({ role, password })));
    this.branches.push(one);
  }

  async #restore(branch: ModelBranch): Promise<void> {
    if (branch.isProtected) return;
    const parent = this.branches.find(({ id }) => id === branch.parent);
    const source = parent && this.chance(0.5) ? parent : this.pick(this.branches.filter((one) => one !== branch));
    if (!source) return this.#rewind(branch);
    const past = this.chance(0.4) ? this.momentOf(source) : undefined;
    await this.#restoreTo(branch, source, past, this.#hasChildren(branch) || this.chance(0.3));
  }

  async #rewind(branch: ModelBranch): Promise<void> {
    if (branch.isProtected) return;
    const past = this.momentOf(branch);
    if (past) await this.#restoreTo(branch, branch, past, true);
  }

  #hasChildren(branch: ModelBranch): boolean {
    return this.branches.some(({ parent }) => parent === branch.id);
  }

  async #restoreTo(
    branch: ModelBranch,
    source: ModelBranch,
    past: { moment: Moment; point: object } | undefined,
    preserves: boolean,
  ): Promise<void> {
    const name = `kept${this.next()}`;
    const point =
      past && Object.fromEntries(Object.entries(past.point).map(([key, value]) => [`source_${key}`, value]));
    const body = { source_branch_id: source.id, ...point, ...(preserves && { preserve_under_name: name }) };
    const reply = await this.act("restore", "POST", `/branches/${branch.id}/restore`, body);
    if (!reply) return;
    const before = { content: copied(branch.content), past: [...branch.past], parent: branch.parent };
    become(branch, source, past?.moment);
    branch.parent = source.id;
    if (!preserves) return;
    const listed = await this.rig.call("GET", `${base}/branches?search=${name}`);
    const [kept] = Branches.parse(listed.body["branches"]);
    const made = await this.act("compute", "POST", "/endpoints", {
      endpoint: { branch_id: kept?.id, type: "read_write" },
    });
    if (!made || !kept) return;
    const one = this.newBranch(kept.id, name, Compute.parse(made.body["endpoint"]).id, before.content, before.parent);
    one.past = before.past;
    for (const child of this.branches) if (child.parent === branch.id && child !== branch) child.parent = one.id;
    if (source === branch) branch.parent = one.id;
    this.branches.push(one);
  }

  async #delete(wanted: ModelBranch): Promise<void> {
    const free = this.branches.filter(
      (one) => one.id !== this.defaultBranch && !one.isProtected && !this.#hasChildren(one),
    );
    const branch = free.includes(wanted) ? wanted : this.pick(free);
    if (!branch || this.branches.length < 3) return;
    if (!(await this.act("delete", "DELETE", `/branches/${branch.id}`))) return;
    this.branches.splice(this.branches.indexOf(branch), 1);
    this.#deleted.push(branch);
  }

  async #recover(): Promise<void> {
    const branch = this.pick(this.#deleted);
    const isThere = (id: string | undefined) => id === undefined || this.branches.some((one) => one.id === id);
    if (!branch || !isThere(branch.parent) || this.branches.length > mostBranches) return;
    if (!(await this.act("recover", "POST", `/branches/${branch.id}/recover`))) return;
    this.#deleted.splice(this.#deleted.indexOf(branch), 1);
    this.branches.push(branch);
  }
}

/** The kinds of steps, each with the part that it has of all. */
export const kinds = {
  write: 24,
  branch: 10,
  restore: 8,
  rewind: 8,
  delete: 4,
  recover: 4,
  rename: 2,
  protect: 2,
  default: 1,
  transfer: 2,
  role: 8,
  password: 4,
  database: 10,
  sql: 8,
  suspend: 3,
  start: 2,
  restart: 2,
  replica: 3,
  compute: 2,
  size: 3,
  kill: 1,
  stop: 1,
  killNext: 4,
};
type Kind = keyof typeof kinds;

function isKind(text: string): text is Kind {
  return text in kinds;
}
