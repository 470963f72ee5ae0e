import { z } from "zod";
import { EndpointCreate } from "../../api/endpoint.ts";
import { branchIdPattern, endpointIdPattern, Id } from "../../api/ids.ts";
import { nameOf } from "../../api/names.ts";
import { DatabaseName, PostgresMajor, RoleName } from "../domain/requests.ts";
import { mostInBranch } from "../domain/roles-and-databases.ts";
import { plans } from "../rules.ts";
import { memberRoles } from "../store/accounts.ts";

/** An object with these fields; an unknown field is refused with the list of known ones. */
function record<T extends z.core.$ZodShape>(shape: T) {
  const known = Object.keys(shape).toSorted().join(", ");
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? `unknown ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}: allowed here are ${known}`
        : undefined,
  });
}

/** A list, empty if it is left out. */
function atMost<T extends z.ZodType>(most: number, element: T) {
  return z
    .array(element)
    .max(most, { error: `at most ${most} are possible` })
    .default([]);
}

/** The most roles of a branch beside its first one, and as many databases. */
const mostOfBranch = mostInBranch - 1;

const Name = nameOf(256);
const Key = record({ name: nameOf(64), key: z.string().regex(/^[\x21-\x7e]{1,200}$/) });
const Plan = z.enum(plans).default("free");

const { branch_id: _, type, region_id: __, ...attributes } = EndpointCreate.shape.endpoint.shape;

const SeedEndpoint = record({
  id: z.string().regex(endpointIdPattern).optional(),
  branchID: Id,
  type,
  ...attributes,
});

const SeedProject = record({
  id: Id,
  name: Name.optional(),
  owner: Id,
  regionID: z.string().min(3).max(64).default("aws-us-east-2"),
  pgVersion: PostgresMajor.default(17),
  branches: z
    .array(
      record({
        id: z.string().regex(branchIdPattern).optional(),
        name: Name.optional(),
        default: z.boolean().optional(),
        protected: z.boolean().default(false),
        /** Beside the role neondb_owner and its database neondb. */
        roles: atMost(mostOfBranch, RoleName),
        databases: atMost(mostOfBranch, record({ name: DatabaseName, owner: RoleName.default("neondb_owner") })),
      }),
    )
    .min(1)
    .default([{ name: "main", default: true, protected: false, roles: [], databases: [] }]),
  /** Absent: the default branch has its primary compute. Present: exactly these. */
  endpoints: z.array(SeedEndpoint).optional(),
});

/** A seed file: the only place where keys stand in clear text. */
export const Seed = record({
  accounts: z
    .array(
      record({
        id: Id,
        email: z.email(),
        name: Name.optional(),
        plan: Plan,
        apiKeys: z.array(Key).default([]),
      }),
    )
    .default([]),
  organizations: z
    .array(
      record({
        id: Id,
        name: Name.optional(),
        plan: Plan,
        members: z.array(record({ account: Id, role: z.enum(memberRoles) })).min(1),
        apiKeys: z.array(Key.extend({ projectID: Id.optional() })).default([]),
      }),
    )
    .default([]),
  projects: z.array(SeedProject).default([]),
});
export type Seed = z.infer<typeof Seed>;
export type SeedProject = z.infer<typeof SeedProject>;
export type SeedEndpoint = z.infer<typeof SeedEndpoint>;

/** The default branch of a project, from which its others take over roles and databases. */
export function firstBranch({ branches }: SeedProject): SeedProject["branches"][number] | undefined {
  return branches.find((branch) => branch.default === true) ?? branches[0];
}
