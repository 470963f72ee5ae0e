import type { ServiceClock } from "../../../src/service/clock.ts";
import { cryptoIds } from "../../../src/service/ids.ts";
import type { ServiceOptions } from "../../../src/service/options.ts";
import { Seed } from "../../../src/service/seed/document.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { createService, type Service } from "../../../src/service/service.ts";
import { Store } from "../../../src/service/store/store.ts";
import { realClock } from "../../support/real-clock.ts";

/** The project that every service has, and its branches. */
export const project = "shop";
export const main = "br-main";
export const preview = "br-preview";
export const staging = "br-staging";

/** The organization's key, which the operator uses. */
export const goodKey = "org-key";
/** A person's key, for what is done behind the operator's back. */
export const consoleKey = "ana-key";
/** A key of somebody who is a member of the organization, and no administrator. */
export const memberKey = "bob-key";

export interface SeededService {
  plan?: "free" | "scale";
  /** Computes that the project has from the start. */
  endpoints?: { id: string; branchID: string; type?: "read_write" | "read_only" }[];
  /** Branches besides the three that there always are. */
  branches?: readonly string[];
  /** Projects besides `shop`, with their branches. */
  projects?: readonly { id: string; branches: readonly string[] }[];
  service?: Partial<ServiceOptions>;
  /** The machine's own where left out. */
  clock?: ServiceClock;
}

/** A service in this process, ten times quicker than life, with the project and the two keys. */
export function newService({
  plan = "scale",
  endpoints = [],
  branches = [],
  projects = [],
  service = {},
  clock = realClock,
}: SeededService): Service {
  const made = createService({
    clock,
    random: Math.random,
    ids: cryptoIds(),
    store: Store.open(":memory:"),
    options: { timeScale: 10, rateLimits: { perMinute: 100_000, perSecondAndRoute: 10_000 }, ...service },
  });
  const seed = {
    accounts: [
      { id: "acc-ana", email: "ana@example.com", plan, apiKeys: [{ name: "laptop", key: consoleKey }] },
      { id: "acc-bob", email: "bob@example.com", plan, apiKeys: [{ name: "laptop", key: memberKey }] },
    ],
    organizations: [
      {
        id: "org-shop",
        plan,
        members: [
          { account: "acc-ana", role: "admin" },
          { account: "acc-bob", role: "member" },
        ],
        apiKeys: [{ name: "ci", key: goodKey }],
      },
    ],
    projects: [
      {
        id: project,
        owner: "org-shop",
        branches: [main, preview, staging, ...branches].map((id) => ({ id, name: id, databases: [{ name: "stock" }] })),
        endpoints: endpoints.map(({ type = "read_write", ...endpoint }) => ({ ...endpoint, type })),
      },
      ...projects.map((one) => ({
        id: one.id,
        owner: "org-shop",
        branches: one.branches.map((id) => ({ id, name: id })),
        endpoints: [],
      })),
    ],
  };
  made.change((world, at) => applySeed(world, Seed.parse(seed), at));
  return made;
}
