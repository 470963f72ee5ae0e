import type { ServiceContext } from "../context.ts";
import { uuidOf } from "../ids.ts";
import { Seed } from "./document.ts";

/**
 * The content of a service without a seed: one account on a paid plan, one project with the branch `main` and its
 * primary compute, and the account's first key. The project is the account's own; where projects are listed by
 * organization alone, it is that of an organization which the account administers.
 */
export function firstSeed({ ids, options }: ServiceContext): { seed: Seed; secret: string } {
  const owner = uuidOf(ids.uuid());
  const secret = ids.secret();
  const project = ids.name();
  const branch = `br-${ids.name()}`;
  const apiKeys = [{ name: "first", key: secret }];
  const members = [{ account: owner, role: "admin" }];
  const organizations = options.rules.listsByOrganization
    ? [{ id: `org-${ids.name()}`, name: "Owner", plan: "scale", members }]
    : [];
  const seed = Seed.parse({
    accounts: [{ id: owner, email: "owner@example.com", name: "Owner", plan: "scale", apiKeys }],
    organizations,
    projects: [
      {
        id: project,
        name: "first-project",
        owner: organizations[0]?.id ?? owner,
        branches: [{ id: branch, name: "main", default: true }],
        endpoints: [{ id: `ep-${ids.name()}`, branchID: branch, type: "read_write" }],
      },
    ],
  });
  return { seed, secret };
}
