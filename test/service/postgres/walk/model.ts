/** The databases of a branch, with their rows, and its roles. */
export interface Content {
  /** By name: true for a role that logs in. */
  roles: Map<string, boolean>;
  databases: Map<string, { owner: string; rows: Set<string> }>;
}

/** A branch as far as its clients know it. */
export interface ModelBranch {
  id: string;
  name: string;
  parent: string | undefined;
  content: Content;
  /** What it can be restored to, oldest first. */
  past: Moment[];
  primary: string;
  replica: string | undefined;
  isProtected: boolean;
  /** The password of each role that logs in, where it is known. */
  passwords: Map<string, string>;
  /** Passwords that hold no more. */
  former: { role: string; password: string }[];
}

/** A state of a branch at a time in milliseconds since the epoch, and at a position of its log where that is known. */
export interface Moment {
  at: number;
  lsn: string | undefined;
  content: Content;
}

export function copied({ roles, databases }: Content): Content {
  return {
    roles: new Map(roles),
    databases: new Map([...databases].map(([name, one]) => [name, { owner: one.owner, rows: new Set(one.rows) }])),
  };
}

/** The same content without a row. */
export function emptied(content: Content): Content {
  const { roles, databases } = copied(content);
  for (const one of databases.values()) one.rows.clear();
  return { roles, databases };
}

/** Gives a branch what another one has, or had at a moment. A role keeps its password where the branch had it. */
export function become(branch: ModelBranch, source: ModelBranch, moment: Moment | undefined): void {
  const content = moment?.content ?? source.content;
  const keeps = (role: string) =>
    branch.content.roles.get(role) === true &&
    content.roles.get(role) === true &&
    source.content.roles.has(role) &&
    !source.isProtected;
  for (const [role, password] of branch.passwords) if (!keeps(role)) forget(branch, role, password);
  branch.past = source.past.filter(({ at }) => moment === undefined || at <= moment.at);
  branch.content = copied(content);
}

/** A password holds no more. */
export function forget(branch: ModelBranch, role: string, password = branch.passwords.get(role)): void {
  branch.passwords.delete(role);
  if (password !== undefined) branch.former.push({ role, password });
}

/** The content in words, for a comparison. */
export function inWords({ roles, databases }: Content): string[] {
  return [
    ...[...roles].map(([name, login]) => `role ${name}${login ? "" : " without login"}`),
    ...[...databases].flatMap(([name, { owner, rows }]) => [
      `database ${name} of ${owner}`,
      ...[...rows].map((row) => `${name}: ${row}`),
    ]),
  ].toSorted();
}
