import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { main, type PostgresRig, project, type Reply } from "./rig.ts";

/** A branch as its client knows it from answers. */
interface Known {
  compute: string;
  /** By role: the password of the last answer; `undefined` where a later one was not answered. */
  passwords: Map<string, string | undefined>;
  databases: Set<string>;
  /** Names in changes that were not answered. */
  doubtful: Set<string>;
}

const Named = z.looseObject({ name: z.string() });
const Role = Named.extend({ password: z.string().optional() });
const Made = z.looseObject({
  branch: z.looseObject({ id: z.string() }),
  endpoints: z.array(z.looseObject({ id: z.string() })),
  roles: z.array(Role),
});
const Projects = z.array(z.looseObject({ id: z.string(), org_id: z.string().optional() }));

const kinds = [
  "branch",
  "role",
  "password",
  "database",
  "restart",
  "project",
  "restore",
  "suspend",
  "role",
  "start",
  "project",
  "delete branch",
] as const;

const base = `/projects/${project}`;

/** Changes one branch after another until the service is gone, and remembers every answer. */
export class Changer {
  readonly branches = new Map<string, Known>();
  readonly gone = new Set<string>();
  readonly doubtful = new Set<string>();
  readonly projects = new Map<string, "there" | "moved" | "gone" | "doubtful">();
  readonly answered: Record<string, number> = {};
  readonly #rig: PostgresRig;
  readonly #random: () => number;
  readonly #busy = new Set<string>();
  #turn = 0;
  #count = 0;

  constructor(rig: PostgresRig, random: () => number) {
    this.#rig = rig;
    this.#random = random;
  }

  async untilItEnds(): Promise<void> {
    try {
      for (;;) await this.#change();
    } catch (error) {
      // A connection that ends is what this is about; a wrong answer is not.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Sent again while another change of the project runs. */
  async #sent(method: string, path: string, body?: object): Promise<Reply> {
    for (let tries = 1; ; tries += 1) {
      const reply = await this.#rig.call(method, path, body);
      if (reply.status !== 423 || tries === 200) return reply;
      await sleep(20 * this.#random());
    }
  }

  get sum(): number {
    return Object.values(this.answered).reduce((total, one) => total + one, 0);
  }

  /** Every kind in turn; no two changes of one branch at a time, so that their order is known. */
  async #change(): Promise<void> {
    const kind = kinds[(this.#turn += 1) % kinds.length] ?? "branch";
    const free = [...this.branches].filter(([one]) => !this.doubtful.has(one) && !this.#busy.has(one));
    const [id, branch] = free[Math.floor(this.#random() * free.length)] ?? [];
    if (kind === "project") return this.#project();
    if (kind === "branch" || id === undefined || branch === undefined) {
      if (this.branches.size < 4) return this.#branch();
      return sleep(20);
    }
    this.#busy.add(id);
    await this.#changeOf(kind, id, branch);
    this.#busy.delete(id);
  }

  #changeOf(kind: string, id: string, branch: Known): Promise<void> {
    switch (kind) {
      case "role":
        return this.#role(id, branch);
      case "password":
        return this.#password(id, branch);
      case "database":
        return this.#database(id, branch);
      case "delete branch":
        return this.#delete(id);
      case "restore":
        return this.#restore(id, branch);
      default:
        return this.#act(kind, `/endpoints/${branch.compute}/${kind}`);
    }
  }

  /** Whether it was carried out or not, nothing is known of the branch until it is looked at. */
  #restore(id: string, branch: Known): Promise<void> {
    branch.passwords.clear();
    branch.databases.clear();
    return this.#act("restore", `/branches/${id}/restore`, { source_branch_id: main });
  }

  #counted(kind: string): void {
    this.answered[kind] = (this.answered[kind] ?? 0) + 1;
  }

  async #act(kind: string, path: string, body?: object): Promise<void> {
    const { status } = await this.#sent("POST", `${base}${path}`, body);
    if (status < 300) this.#counted(kind);
    else await sleep(20);
  }

  async #branch(): Promise<void> {
    const reply = await this.#sent("POST", `${base}/branches`, { endpoints: [{ type: "read_write" }] });
    if (reply.status !== 201) return sleep(20);
    const { branch, endpoints, roles } = Made.parse(reply.body);
    const passwords = new Map(roles.map(({ name, password }) => [name, password] as const));
    const known = {
      compute: endpoints[0]?.id ?? "",
      passwords,
      databases: new Set(["stock"]),
      doubtful: new Set<string>(),
    };
    this.branches.set(branch.id, known);
    this.#counted("branch");
  }

  async #role(id: string, { passwords, doubtful }: Known): Promise<void> {
    const name = `role_${(this.#count += 1)}`;
    doubtful.add(name);
    const reply = await this.#sent("POST", `${base}/branches/${id}/roles`, { role: { name } });
    doubtful.delete(name);
    if (reply.status !== 201) return sleep(20);
    passwords.set(name, Role.parse(reply.body["role"]).password);
    this.#counted("role");
  }

  async #password(id: string, { passwords }: Known): Promise<void> {
    const [name] = [...passwords.keys()].slice(-1);
    if (name === undefined) return;
    const before = passwords.get(name);
    passwords.set(name, undefined);
    const reply = await this.#sent("POST", `${base}/branches/${id}/roles/${name}/reset_password`);
    if (reply.status !== 200) {
      passwords.set(name, before);
      return sleep(20);
    }
    passwords.set(name, Role.parse(reply.body["role"]).password);
    this.#counted("password");
  }

  async #database(id: string, { databases, doubtful }: Known): Promise<void> {
    const name = `database_${(this.#count += 1)}`;
    doubtful.add(name);
    const database = { name, owner_name: "app" };
    const { status } = await this.#sent("POST", `${base}/branches/${id}/databases`, { database });
    doubtful.delete(name);
    if (status !== 201) return sleep(20);
    databases.add(name);
    this.#counted("database");
  }

  async #delete(id: string): Promise<void> {
    this.doubtful.add(id);
    const { status } = await this.#sent("DELETE", `${base}/branches/${id}`);
    this.doubtful.delete(id);
    if (status !== 200) return sleep(20);
    this.branches.delete(id);
    this.gone.add(id);
    this.#counted("delete branch");
  }

  /** Makes a project, moves it to the organization, and deletes it, by and by. */
  async #project(): Promise<void> {
    const [id, state] = [...this.projects].find(([, one]) => one === "there" || one === "moved") ?? [];
    if (id === undefined) {
      const reply = await this.#sent("POST", "/projects", { project: {} });
      if (reply.status !== 201) return;
      this.projects.set(z.looseObject({ id: z.string() }).parse(reply.body["project"]).id, "there");
      return this.#counted("project");
    }
    this.projects.set(id, "doubtful");
    const body = { destination_org_id: "org-shop", project_ids: [id] };
    const { status } =
      state === "there"
        ? await this.#sent("POST", "/users/me/projects/transfer", body)
        : await this.#sent("DELETE", `/projects/${id}`);
    if (status !== 200) this.projects.set(id, state ?? "there");
    else this.projects.set(id, state === "there" ? "moved" : "gone");
    if (status === 200) this.#counted(state === "there" ? "transfer" : "delete project");
  }

  /** What the service has lost or left half done. What it has is then taken as known. */
  async problems(): Promise<string[]> {
    const problems: string[] = [];
    for (const id of this.doubtful) this.branches.delete(id);
    this.doubtful.clear();
    this.#busy.clear();
    for (const [id, known] of this.branches) problems.push(...(await this.#problemsOf(id, known)));
    for (const id of this.gone) {
      const { status } = await this.#rig.call("GET", `${base}/branches/${id}`);
      if (status !== 404) problems.push(`${id} was deleted and is back`);
    }
    const { body } = await this.#rig.call("GET", "/projects?limit=400");
    const listed = Projects.parse(body["projects"]);
    for (const [id, state] of this.projects) {
      const found = listed.find((one) => one.id === id);
      const is = found === undefined ? "gone" : found.org_id === undefined ? "there" : "moved";
      if (state !== "doubtful" && state !== is) problems.push(`project ${id} was ${state} and is ${is}`);
      this.projects.set(id, is);
    }
    return problems;
  }

  async #problemsOf(id: string, { compute, passwords, databases, doubtful }: Known): Promise<string[]> {
    const problems: string[] = [];
    const path = `${base}/branches/${id}`;
    const roles = z.array(Named).safeParse((await this.#rig.call("GET", `${path}/roles`)).body["roles"]).data;
    const found = z.array(Named).safeParse((await this.#rig.call("GET", `${path}/databases`)).body["databases"]).data;
    if (!roles || !found) return [`${id} was answered and is lost`];
    for (const name of databases) {
      if (!found.some((one) => one.name === name)) problems.push(`${id}: database ${name} is lost`);
    }
    for (const { name } of found) {
      const uri = await this.#rig.uri({ endpoint: compute, database: name });
      const rows = await this.#rig.query(uri, "SELECT current_database() AS name").catch(String);
      if (typeof rows === "string" || rows[0]?.["name"] !== name)
        problems.push(`${id}: ${name}: ${JSON.stringify(rows)}`);
    }
    for (const [name, password] of passwords) {
      const { body, status } = await this.#rig.call("GET", `${path}/roles/${name}/reveal_password`);
      if (status !== 200) problems.push(`${id}: role ${name} is lost: ${status}`);
      if (password !== undefined && body["password"] !== password) problems.push(`${id}: ${name} has another password`);
      if (name === "neondb_owner") continue;
      const uri = await this.#rig.uri({ endpoint: compute, role: name });
      const rows = await this.#rig.query(uri, "SELECT current_user::text AS name").catch(String);
      if (typeof rows === "string" || rows[0]?.["name"] !== name)
        problems.push(`${id}: ${name}: ${JSON.stringify(rows)}`);
      passwords.set(name, typeof body["password"] === "string" ? body["password"] : undefined);
    }
    for (const { name } of roles) passwords.set(name, passwords.get(name));
    for (const { name } of found) databases.add(name);
    doubtful.clear();
    return problems;
  }
}
