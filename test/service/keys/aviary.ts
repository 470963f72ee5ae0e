import { z } from "zod";
import type { SeedInput } from "../support/service.ts";
import { Shop } from "../support/shop.ts";

/**
 * Names in a service in which everything is named after a bird, so that words show whose things an answer tells of:
 * each project with all that is in it, each organization and each person has one of its own.
 */
const nests = ["quail", "heron", "finch", "robin", "raven", "swift"] as const;
export const flocks = ["stork", "crane"] as const;
export const people = ["pipit", "siskin", "dunnock"] as const;
export const birds = [...nests, ...flocks, ...people] as const;
export type Bird = (typeof birds)[number];

/** A bird of which there is nothing. */
export const dodo = "dodo" as const;
export type Named = Bird | typeof dodo;

/** The owner of each project, and a key that may change it. */
const owners = {
  quail: ["org-stork", "stork"],
  heron: ["org-stork", "stork"],
  finch: ["acc-pipit", "pipit"],
  robin: ["acc-siskin", "siskin"],
  raven: ["org-crane", "crane"],
  swift: ["acc-dunnock", "dunnock"],
} as const;

/** The key of a bird: a personal one, that of an organization, or one scoped to a project of an organization. */
export function keyOf(bird: Bird): string {
  return `${bird}-key`;
}

const keyed = (bird: Bird, projectID?: string) => ({ name: `${bird} key`, key: keyOf(bird), projectID });

const seed = {
  accounts: people.map((bird) => ({
    id: `acc-${bird}`,
    email: `${bird}@example.com`,
    plan: "scale" as const,
    apiKeys: [{ name: `${bird} key`, key: keyOf(bird) }],
  })),
  organizations: [
    {
      id: "org-stork",
      plan: "scale",
      members: [
        { account: "acc-pipit", role: "admin" },
        { account: "acc-siskin", role: "member" },
      ],
      apiKeys: [keyed("stork"), keyed("quail", "quail-p"), keyed("heron", "heron-p")],
    },
    {
      id: "org-crane",
      plan: "scale",
      members: [{ account: "acc-dunnock", role: "admin" }],
      apiKeys: [keyed("crane"), keyed("raven", "raven-p")],
    },
  ],
  projects: nests.map((bird) => ({
    id: `${bird}-p`,
    owner: owners[bird][0],
    branches: ["main", "side", "gone"].map((name) => ({
      id: `br-${bird}-${name}`,
      name: `${bird} ${name}`,
      default: name === "main",
      roles: [`${bird}_role`],
      databases: [{ name: `${bird}_db`, owner: `${bird}_role` }],
    })),
    endpoints: [{ id: `ep-${bird}-rw`, branchID: `br-${bird}-main`, type: "read_write" as const }],
  })),
} satisfies SeedInput;

const Members = z.array(
  z.looseObject({ member: z.looseObject({ id: z.string() }), user: z.looseObject({ email: z.string() }) }),
);

/** The service of birds. Its computes have run, and a branch of each project is deleted, and can be recovered. */
export class Aviary extends Shop {
  /** The ids that the service makes, by parameter and bird. */
  readonly #made = new Map<string, string>();
  /** The passwords of roles, by the bird of their project. */
  readonly passwords: (readonly [Bird, string])[];

  constructor() {
    super({ branchRecovery: true, rateLimits: { perMinute: 1e9, perSecondAndRoute: 1e9 } });
    this.applySeed(seed);
    const { store, catalog } = this.core.context;
    this.passwords = nests.flatMap((bird) =>
      catalog.roles(`br-${bird}-main`).map((role) => [bird, catalog.passwordOf(role)] as const),
    );
    for (const bird of nests) {
      const [project, key] = [`/projects/${bird}-p`, keyOf(owners[bird][1])];
      this.send(key, `DELETE ${project}/branches/br-${bird}-gone`);
      this.send(key, `POST ${project}/endpoints/ep-${bird}-rw/start`);
      const [started] = store.operations.page(`${bird}-p`, { beforeSeq: undefined, limit: 1 });
      this.#made.set(`operation_id ${bird}`, started?.id ?? "");
    }
    this.finishOperations();
    for (const bird of birds) this.#made.set(`key_id ${bird}`, String(store.keys.bySecret(keyOf(bird))?.id));
    for (const flock of flocks) {
      const { members } = this.send(keyOf(flock), `GET /organizations/org-${flock}/members`).body;
      for (const { member, user } of Members.parse(members)) {
        this.#made.set(`member_id ${user.email.split("@")[0]}`, member.id);
      }
    }
  }

  /** The value of a parameter that names something of a bird's; `branch` is which of its branches. */
  idOf(parameter: string, bird: Named, branch: string): string {
    const made = { key_id: "999999", operation_id: absent, member_id: absent }[parameter];
    if (made !== undefined) return this.#made.get(`${parameter} ${bird}`) ?? made;
    const named: Readonly<Record<string, string>> = {
      project_id: `${bird}-p`,
      branch_id: `br-${bird}-${branch}`,
      endpoint_id: `ep-${bird}-rw`,
      role_name: `${bird}_role`,
      database_name: `${bird}_db`,
      org_id: `org-${bird}`,
    };
    const id = named[parameter];
    if (id === undefined) throw new Error(`test/service/keys/aviary.ts has no value for the parameter ${parameter}`);
    return id;
  }

  /** What is stored of each bird, but for the uses of keys. */
  stored(): Map<Bird, string> {
    const keys = "SELECT id, name, account_id, organization_id, project_id, revoked_at FROM api_keys";
    const all = [keys, ...tables.map((table) => `SELECT * FROM ${table}`)].flatMap((query) =>
      this.database.all(query).map((row) => JSON.stringify(row)),
    );
    return new Map(birds.map((bird) => [bird, all.filter((row) => row.includes(bird)).join("\n")]));
  }
}

const absent = "00000000-0000-4000-8000-000000000009";
const tables = ["accounts", "organizations", "members", "projects", "branches", "endpoints", "operations", "roles"];

/** The birds of which a parameter can name something, and one of which there is nothing. */
export function birdsFor(parameter: string): readonly Named[] {
  if (parameter === "org_id") return [...flocks, dodo];
  if (parameter === "member_id") return [...people, dodo];
  return parameter === "key_id" ? [...birds, dodo] : [...nests, dodo];
}
