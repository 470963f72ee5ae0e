import { z } from "zod";
import { lastRows } from "../node-postgres.ts";
import { forget, type ModelBranch } from "./model.ts";
import { Walk } from "./walk.ts";

/** The steps that change roles and databases, by the API and with SQL. */
export class CatalogWalk extends Walk {
  protected async role(branch: ModelBranch): Promise<void> {
    const name = this.name("r", 4);
    const path = `/branches/${branch.id}/roles`;
    const login = branch.content.roles.get(name);
    if (login === undefined) {
      const wanted = this.chance(0.8);
      const reply = await this.act("role", "POST", path, { role: { name, ...(!wanted && { no_login: true }) } });
      if (!reply) return;
      branch.content.roles.set(name, wanted);
      const { password } = z.looseObject({ password: z.string().optional() }).parse(reply.body["role"]);
      if (password !== undefined) branch.passwords.set(name, password);
      return;
    }
    if ([...branch.content.databases.values()].some(({ owner }) => owner === name)) return;
    if (!(await this.act("role", "DELETE", `${path}/${name}`))) return;
    branch.content.roles.delete(name);
    forget(branch, name);
  }

  protected async password(branch: ModelBranch): Promise<void> {
    const [role] = this.pick([...branch.passwords]) ?? [];
    if (role === undefined) return;
    const reply = await this.act("password", "POST", `/branches/${branch.id}/roles/${role}/reset_password`);
    if (!reply) return;
    forget(branch, role);
    const { password } = z.looseObject({ password: z.string() }).parse(reply.body["role"]);
    branch.passwords.set(role, password);
  }

  protected async database(branch: ModelBranch): Promise<void> {
    const name = this.name("d", 4);
    const { databases, roles } = branch.content;
    const path = `/branches/${branch.id}/databases`;
    const owner = this.pick([...roles.keys()]) ?? "app";
    const database = databases.get(name);
    if (!database) {
      const body = { database: { name, owner_name: owner } };
      if (await this.act("database", "POST", path, body)) databases.set(name, { owner, rows: new Set() });
      return;
    }
    if (this.chance(0.4)) {
      if (await this.act("database", "DELETE", `${path}/${name}`)) databases.delete(name);
      return;
    }
    const to = this.name("d", 4);
    const renames = !databases.has(to);
    const body = { database: { ...(renames && { name: to }), owner_name: owner } };
    if (!(await this.act("database", "PATCH", `${path}/${name}`, body))) return;
    databases.delete(name);
    databases.set(renames ? to : name, { ...database, owner });
  }

  /** A client makes, renames or drops a database. */
  protected async sql(branch: ModelBranch): Promise<void> {
    const { databases } = branch.content;
    const [name] = this.pick([...databases].filter(([one]) => /^d\d$/.test(one))) ?? [];
    const database = databases.get(name ?? "");
    const to = this.name("d", 4);
    if (name === undefined || !database || this.chance(0.4)) {
      const [role] = this.pick([...branch.passwords]) ?? [];
      if (databases.has(to) || role === undefined) return;
      await this.run(branch, role, `CREATE DATABASE ${to}`);
      databases.set(to, { owner: role, rows: new Set() });
    } else if (!branch.passwords.has(database.owner)) return;
    else if (this.chance(0.5)) {
      await this.run(branch, database.owner, `DROP DATABASE ${name} WITH (FORCE)`);
      databases.delete(name);
    } else if (!databases.has(to)) {
      await this.run(branch, database.owner, `ALTER DATABASE ${name} RENAME TO ${to}`);
      databases.delete(name);
      databases.set(to, database);
    }
  }

  protected async run(branch: ModelBranch, role: string, sql: string): Promise<void> {
    this.log.push(`${sql} as ${role} in ${branch.id}`);
    await lastRows(await this.rig.client(await this.uri(branch, "neondb", role)), [sql]);
  }
}
