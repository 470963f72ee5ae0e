import { Seed } from "../../../src/service/seed/document.ts";

/** The key of the service's administrators; the operator has keys of its own. */
export const usersKey = "peoples-key";
export const consoleKey = "console-key";
/** The key of an account that has no part in the projects. */
export const strangersKey = "the-key-of-a-perfect-stranger";

export const projects = ["shiny-wind-000001", "quiet-moon-000002"] as const;
export const branchesOf = (project: string): string[] =>
  ["main", "one", "two"].map((name) => `br-${name}-${project.slice(-1)}`);

const seeds = new Map<string, Seed>();

export function seedWith(firstKey: string): Seed {
  const known = seeds.get(firstKey);
  if (known !== undefined) return known;
  const seed = Seed.parse({
    accounts: [
      {
        id: "acc-ops",
        email: "ops@example.com",
        plan: "scale",
        apiKeys: [
          { name: "console", key: consoleKey },
          { name: "first", key: firstKey },
        ],
      },
      { id: "acc-stranger", email: "stranger@example.com", apiKeys: [{ name: "stranger", key: strangersKey }] },
      { id: "acc-dev", email: "dev@example.com", plan: "scale", apiKeys: [{ name: "users", key: usersKey }] },
    ],
    organizations: [
      {
        id: "org-shop",
        plan: "scale",
        members: [
          { account: "acc-ops", role: "admin" },
          { account: "acc-dev", role: "admin" },
        ],
      },
    ],
    projects: projects.map((id) => ({
      id,
      owner: "org-shop",
      branches: branchesOf(id).map((branch, index) => ({ id: branch, name: branch, default: index === 0 })),
      endpoints: [{ id: `ep-seed-${id.slice(-1)}`, branchID: branchesOf(id)[0], type: "read_write" }],
    })),
  });
  seeds.set(firstKey, seed);
  return seed;
}

export function withoutEndpoints(seed: Seed): Seed {
  return { ...seed, projects: seed.projects.map((project) => ({ ...project, endpoints: [] })) };
}
