import type { ServiceContext } from "../context.ts";
import { uuidOf } from "../ids.ts";
import type { Seed } from "./document.ts";

/**
 * The content of a service without a seed: one account on a paid plan, one project with the branch `main` and its
 * primary compute, and the account's first key.
 */
export function firstSeed({ ids }: ServiceContext): { seed: Seed; secret: string } {
  const owner = uuidOf(ids.uuid());
  const secret = ids.secret();
  const project = ids.name();
  const branch = `br-${ids.name()}`;
  const apiKeys = [{ name: "first", key: secret }];
  const seed: Seed = {
    accounts: [{ id: owner, email: "owner@example.com", name: "Owner", plan: "scale", apiKeys }],
    organizations: [],
    projects: [
      {
        id: project,
        name: "first-project",
        owner,
        regionID: "aws-us-east-2",
        pgVersion: 17,
        branches: [{ id: branch, name: "main", default: true, protected: false, roles: [], databases: [] }],
        endpoints: [{ id: `ep-${ids.name()}`, branchID: branch, type: "read_write" }],
      },
    ],
  };
  return { seed, secret };
}
