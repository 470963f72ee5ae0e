import { expect, it } from "vitest";
import { stringify } from "yaml";
import { parseSeed } from "../../../src/service/seed/file.ts";

const account = { id: "acc-a", email: "a@example.com", plan: "scale" };
const organization = { id: "org-a", members: [{ account: "acc-a", role: "admin" }] };
const project = { id: "pro-a", owner: "acc-a", branches: [{ id: "br-a", default: true }] };
const primary = { branchID: "br-a", type: "read_write" };

it("a seed may leave out all but ids, addresses, owners and members", () => {
  const least = {
    accounts: [{ id: "acc-a", email: "a@example.com" }],
    organizations: [{ id: "org-a", members: [{ account: "acc-a", role: "admin" }] }],
    projects: [{ id: "pro-a", owner: "acc-a" }],
  };
  expect(parseSeed(stringify(least), "seed.yaml")).toEqual({
    accounts: [{ id: "acc-a", email: "a@example.com", plan: "free", apiKeys: [] }],
    organizations: [{ id: "org-a", plan: "free", members: [{ account: "acc-a", role: "admin" }], apiKeys: [] }],
    projects: [
      {
        id: "pro-a",
        owner: "acc-a",
        regionID: "aws-us-east-2",
        pgVersion: 17,
        branches: [{ name: "main", default: true, protected: false, roles: [], databases: [] }],
      },
    ],
  });
});

it("a seed is read with the names, the keys and the marks that it gives", () => {
  const named = {
    accounts: [{ ...account, name: "Ada", apiKeys: [{ name: "laptop", key: "k" }] }],
    organizations: [
      { ...organization, name: "A", plan: "scale", apiKeys: [{ name: "ci", key: "o", projectID: "pro-a" }] },
    ],
    projects: [
      {
        ...project,
        name: "shop",
        regionID: "aws-eu-central-1",
        pgVersion: 16,
        branches: [
          {
            id: "br-a",
            name: "main",
            default: true,
            protected: true,
            roles: ["app"],
            databases: [{ name: "d", owner: "app" }],
          },
        ],
        endpoints: [{ id: "ep-a", ...primary, name: "first", disabled: true }],
      },
    ],
  };
  expect(parseSeed(stringify(named), "seed.yaml")).toEqual(named);
});

it.each<[string, unknown]>([
  [
    "two accounts or organizations have the id same",
    {
      accounts: [{ id: "same", email: "a@example.com" }],
      organizations: [{ id: "same", members: [{ account: "same", role: "admin" }] }],
    },
  ],
  [
    "the API keys a and b are the same",
    {
      accounts: [{ ...account, apiKeys: [{ name: "a", key: "k" }] }],
      organizations: [{ ...organization, apiKeys: [{ name: "b", key: "k" }] }],
    },
  ],
  ["accounts.0.email", { accounts: [{ id: "acc-a", email: "nobody" }] }],
  ["accounts.0.plan", { accounts: [{ ...account, plan: "golden" }] }],
  ["accounts.0.name", { accounts: [{ ...account, name: "x".repeat(257) }] }],
  ["accounts.0.apiKeys.0.key", { accounts: [{ ...account, apiKeys: [{ name: "a", key: "two words" }] }] }],
  ["accounts.0.apiKeys.0.key", { accounts: [{ ...account, apiKeys: [{ name: "a", key: "k".repeat(201) }] }] }],
  ["accounts.0.apiKeys.0.name", { accounts: [{ ...account, apiKeys: [{ name: "x".repeat(65), key: "k" }] }] }],
  ["organizations.0.members", { organizations: [{ id: "org-a", members: [] }] }],
  ["organizations.0.members.0.role", { organizations: [{ id: "org-a", members: [{ account: "a", role: "boss" }] }] }],
  ["projects.0.branches", { projects: [{ ...project, branches: [] }] }],
  ["projects.0.branches.0.id", { projects: [{ ...project, branches: [{ id: "main" }] }] }],
  ["projects.0.branches.0.roles.0", { projects: [{ ...project, branches: [{ roles: [""] }] }] }],
  ["projects.0.pgVersion", { projects: [{ ...project, pgVersion: 9 }] }],
  ["projects.0.regionID", { projects: [{ ...project, regionID: "eu" }] }],
  ["projects.0.endpoints.0.id", { projects: [{ ...project, endpoints: [{ ...primary, id: "compute" }] }] }],
  ["projects.0.endpoints.0.type", { projects: [{ ...project, endpoints: [{ branchID: "br-a" }] }] }],
  [
    'projects.0.branches.0: unknown "colour": allowed here are databases, default, id, name, protected, roles',
    {
      projects: [{ ...project, branches: [{ colour: "red" }] }],
    },
  ],
])("a seed that is wrong names the place: %s", (message, seed) => {
  expect(() => parseSeed(stringify(seed), "seed.yaml")).toThrow(message);
});
