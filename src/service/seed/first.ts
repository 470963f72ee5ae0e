import { uuidOf } from "../ids.ts";
import type { World } from "../world.ts";
import { plant } from "./plant.ts";

/**
 * What a service without a seed begins with: one account on a paid plan, with one project that has the branch `main`
 * and its primary compute. Answers the secret of the account's first key. To be called in a transaction.
 */
export function plantFirstAccount(world: World, at: number): string {
  const accountId = uuidOf(world.ids.uuid());
  const secret = world.ids.secret();
  plant(
    world,
    {
      accounts: [
        {
          id: accountId,
          email: "owner@example.com",
          name: "Owner",
          plan: "scale",
          apiKeys: [{ name: "first", key: secret }],
        },
      ],
      organizations: [],
      projects: [
        {
          id: world.ids.name(),
          name: "first-project",
          owner: accountId,
          regionID: "aws-us-east-2",
          pgVersion: 17,
          branches: [{ name: "main", default: true, protected: false, roles: [], databases: [] }],
        },
      ],
    },
    at,
  );
  return secret;
}
