import { createNeonClient } from "@neon/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rules, rulesNames } from "../../../src/service/rules.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, main, preview, primary, project } from "../support/shop.ts";
import { PublicApi } from "./public-api.ts";

let shop: ListeningShop;

function client() {
  return createNeonClient({
    apiKey: keys.ana,
    baseUrl: shop.baseURL,
    throwOnError: true,
    waitForReadiness: true,
    wait: { pollIntervalMs: 5, timeoutMs: 10_000 },
  });
}
type Client = ReturnType<typeof client>;

/** An end for a branch: in whole seconds, and at most 30 days ahead. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");

/** Every method of the client that we serve, by its place in the client, with what proves that it worked. */
const session: Readonly<Record<string, (neon: Client) => Promise<unknown>>> = {
  "user.me": async ({ user }) => expect((await user.me()).email).toBe("ana@example.com"),
  "user.organizations": async ({ user }) => expect(await user.organizations()).toHaveLength(1),
  "regions.list": async ({ regions }) => expect(await regions.list()).not.toHaveLength(0),
  "apiKeys.create": async ({ apiKeys }) => expect((await apiKeys.create({ keyName: "sdk" })).key).toBeTruthy(),
  "apiKeys.list": async ({ apiKeys }) => expect((await apiKeys.list()).map(({ name }) => name)).toContain("sdk"),
  "apiKeys.revoke": async ({ apiKeys }) => {
    const key = (await apiKeys.list()).find(({ name }) => name === "sdk");
    await apiKeys.revoke({ keyId: Number(key?.id) });
    expect((await apiKeys.list()).map(({ name }) => name)).not.toContain("sdk");
  },
  "projects.list": async ({ projects }) =>
    expect(await projects.list({ limit: 1, org_id: "org-shop" }).all()).toHaveLength(2),
  "projects.get": async ({ projects }) => expect((await projects.get({ projectId: project })).name).toBe("shop"),
  "projects.create": async ({ projects }) => {
    const settings = { autoscaling_limit_max_cu: 2, pg_settings: { work_mem: "64MB" } };
    const made = await projects.create({
      name: "whole",
      org_id: "org-shop",
      pg_version: 16,
      region_id: "aws-eu-central-1",
      store_passwords: true,
      history_retention_seconds: 3600,
      settings: { enable_logical_replication: true },
      default_endpoint_settings: settings,
      branch: { name: "trunk", role_name: "app", database_name: "stock" },
    });
    expect(made).toMatchObject({ pg_version: 16, default_endpoint_settings: settings });
  },
  "projects.createAndConnect": async ({ projects }) =>
    expect((await projects.createAndConnect({ name: "quick", org_id: "org-shop" })).connectionString).toMatch(
      /^postgresql:/,
    ),
  "projects.update": async ({ projects }) =>
    expect((await projects.update({ projectId: project, name: "renamed" })).name).toBe("renamed"),
  "projects.transferFromUser": async ({ projects }) => {
    await projects.transferFromUser({ toOrgId: "org-shop", projectIds: ["ana-own"] });
    expect((await projects.get({ projectId: "ana-own" })).org_id).toBe("org-shop");
  },
  "projects.transfer": async ({ projects }) => {
    await projects.transfer({ fromOrgId: "org-shop", toOrgId: "org-shop", projectIds: ["ana-own"] });
  },
  "projects.permissions.list": async ({ projects }) =>
    expect(await projects.permissions.list({ projectId: project })).toEqual([]),
  "projects.delete": async ({ projects }) => {
    const [quick] = await projects.list({ search: "quick", org_id: "org-shop" }).all();
    await projects.delete({ projectId: quick?.id ?? "" });
    expect(await projects.list({ search: "quick", org_id: "org-shop" }).all()).toEqual([]);
  },
  "branches.list": async ({ branches }) => expect(await branches.list({ projectId: project }).all()).toHaveLength(3),
  "branches.getDefault": async ({ branches }) =>
    expect((await branches.getDefault({ projectId: project })).id).toBe(main),
  "branches.create": async ({ branches }) => {
    const made = await branches.create({
      projectId: project,
      name: "whole",
      parent_id: preview,
      expires_at: tomorrow,
      compute: { minCu: 0.5, maxCu: 2, suspendTimeoutSeconds: 600 },
    });
    expect(made).toMatchObject({ parent_id: preview, expires_at: tomorrow });
  },
  "branches.createAndConnect": async ({ branches }) =>
    expect((await branches.createAndConnect({ projectId: project, name: "quick" })).connectionString).toMatch(
      /^postgresql:/,
    ),
  "branches.get": async ({ branches }) =>
    expect((await branches.get({ projectId: project, branchId: preview })).name).toBe("preview"),
  "branches.update": async ({ branches }) => {
    const one = { projectId: project, branchId: preview };
    expect((await branches.update({ ...one, name: "next", protected: true })).protected).toBe(true);
    expect((await branches.update({ ...one, name: "preview", protected: false })).name).toBe("preview");
  },
  "branches.setDefault": async ({ branches }) => {
    expect((await branches.setDefault({ projectId: project, branchId: preview })).default).toBe(true);
    await branches.setDefault({ projectId: project, branchId: main });
  },
  "branches.resetFromParent": async ({ branches }) =>
    expect((await branches.resetFromParent({ projectId: project, branchId: "br-staging-1" })).parent_id).toBe(main),
  "branches.delete": async ({ branches }) => {
    await branches.delete({ projectId: project, branchId: "br-staging-1" });
    expect(await branches.list({ projectId: project, search: "staging" }).all()).toEqual([]);
  },
  "postgres.roles.create": async ({ postgres }) =>
    expect((await postgres.roles.create({ projectId: project, branchId: main, name: "app" })).name).toBe("app"),
  "postgres.roles.list": async ({ postgres }) =>
    expect(await postgres.roles.list({ projectId: project, branchId: main })).toHaveLength(2),
  "postgres.roles.get": async ({ postgres }) =>
    expect((await postgres.roles.get({ projectId: project, branchId: main, roleName: "app" })).name).toBe("app"),
  "postgres.roles.password": async ({ postgres }) =>
    expect(
      JSON.stringify(await postgres.roles.password({ projectId: project, branchId: main, roleName: "app" })),
    ).toContain("npg_"),
  "postgres.roles.resetPassword": async ({ postgres }) =>
    expect(
      (await postgres.roles.resetPassword({ projectId: project, branchId: main, roleName: "app" })).password,
    ).toMatch(/^npg_/),
  "postgres.databases.create": async ({ postgres }) => {
    const wanted = { projectId: project, branchId: main, name: "stock", owner_name: "app" };
    expect((await postgres.databases.create(wanted)).owner_name).toBe("app");
  },
  "postgres.databases.list": async ({ postgres }) =>
    expect(await postgres.databases.list({ projectId: project, branchId: main })).toHaveLength(2),
  "postgres.databases.get": async ({ postgres }) =>
    expect((await postgres.databases.get({ projectId: project, branchId: main, databaseName: "stock" })).name).toBe(
      "stock",
    ),
  "postgres.databases.update": async ({ postgres }) => {
    const change = { projectId: project, branchId: main, databaseName: "stock", name: "store" };
    expect((await postgres.databases.update(change)).name).toBe("store");
  },
  "postgres.databases.delete": async ({ postgres }) => {
    await postgres.databases.delete({ projectId: project, branchId: main, databaseName: "store" });
    expect(await postgres.databases.list({ projectId: project, branchId: main })).toHaveLength(1);
  },
  "postgres.roles.delete": async ({ postgres }) => {
    await postgres.roles.delete({ projectId: project, branchId: main, roleName: "app" });
    expect(await postgres.roles.list({ projectId: project, branchId: main })).toHaveLength(1);
  },
  "postgres.connectionString": async ({ postgres }) =>
    expect(await postgres.connectionString({ projectId: project, pooled: false })).toContain(primary),
  "postgres.endpoints.create": async ({ postgres }) => {
    const made = await postgres.endpoints.create({
      projectId: project,
      branch_id: main,
      type: "read_only",
      name: "sdk",
    });
    expect(made.name).toBe("sdk");
  },
  "postgres.endpoints.list": async ({ postgres }) =>
    expect((await postgres.endpoints.list({ projectId: project })).map(({ name }) => name)).toContain("sdk"),
  "postgres.endpoints.listByBranch": async ({ postgres }) =>
    expect(await postgres.endpoints.listByBranch({ projectId: project, branchId: main })).toHaveLength(2),
  "postgres.endpoints.get": async ({ postgres }) => expect((await postgres.endpoints.get(one)).type).toBe("read_write"),
  "postgres.endpoints.update": async ({ postgres }) => {
    // Never suspended, for real time passes here, and the calls that follow need it active.
    const change = { autoscaling_limit_max_cu: 4, suspend_timeout_seconds: -1 };
    expect(await postgres.endpoints.update({ ...one, ...change })).toMatchObject(change);
  },
  "postgres.endpoints.start": async ({ postgres }) => {
    await postgres.endpoints.start(one);
    expect((await postgres.endpoints.get(one)).current_state).toBe("active");
  },
  "postgres.endpoints.restart": async ({ postgres }) => {
    await postgres.endpoints.restart(one);
  },
  "postgres.endpoints.suspend": async ({ postgres }) => {
    await postgres.endpoints.suspend(one);
    expect((await postgres.endpoints.get(one)).current_state).toBe("idle");
  },
  "postgres.endpoints.delete": async ({ postgres }) => {
    await postgres.endpoints.delete(one);
    expect((await postgres.endpoints.get(one, { throwOnError: false })).error?.kind).toBe("not_found");
  },
  "operations.list": async ({ operations }) =>
    expect(await operations.list({ projectId: project }).all()).not.toHaveLength(0),
  "operations.get": async ({ operations }) => {
    const [last] = await operations.list({ projectId: project }).all();
    expect((await operations.get({ projectId: project, operationId: last?.id ?? "" })).id).toBe(last?.id);
  },
  "operations.waitFor": async ({ operations }) => {
    await operations.waitFor({ operations: await operations.list({ projectId: project }).all() });
  },
};
const one = { projectId: project, endpointId: primary };

/** What stands behind operations that docs/service-api.md lists as not served. */
const unserved =
  /^(triggers|logs|snapshots|consumption|storage|functions|buckets|credentials|aiGateway|auth|client|customDomains)\b|^postgres\.dataApi\.|^projects\.(members|permissions\.(grant|revoke)|recover)|^branches\.(compareSchema|finalizeRestore)/;

describe.each(rulesNames)("@neon/sdk under the rules %s", (ruled) => {
  beforeAll(async () => {
    const rateLimits = { perMinute: 1e6, perSecondAndRoute: 1e6 };
    shop = await ListeningShop.start({ rules: rules[ruled], timeScale: 200, rateLimits });
  });
  afterAll(async () => {
    await shop[Symbol.asyncDispose]();
  });

  it.each(Object.entries(session))("%s", async (_, act) => {
    await expect(act(client())).resolves.not.toThrow();
  });

  it("every method that is served was called", () => {
    const methods = methodsOf(client(), "");
    expect(methods.length).toBeGreaterThan(60);
    expect(methods.filter((name) => !unserved.test(name) && !(name in session))).toEqual([]);
  });

  it("got no answer that the public OpenAPI file does not allow", () => {
    const api = new PublicApi();
    const problems = shop.sent.flatMap(({ method, path, status, body }) => {
      const parsed: unknown = body === "" ? undefined : JSON.parse(body);
      return api.problems(method, path.replace("/api/v2", ""), status, parsed);
    });
    expect([...new Set(problems)]).toEqual([]);
  });
});

/** The methods of a client and of the objects in it, by their places. */
function methodsOf(value: object, path: string): string[] {
  const prototype: unknown = Object.getPrototypeOf(value);
  const inherited = prototype === Object.prototype || prototype === null ? [] : Object.getOwnPropertyNames(prototype);
  return [...new Set([...Object.keys(value), ...inherited])].flatMap((name) => {
    const member: unknown = name === "constructor" || name === "client" ? undefined : Reflect.get(value, name);
    if (typeof member === "function") return [`${path}${name}`];
    return typeof member === "object" && member !== null ? methodsOf(member, `${path}${name}.`) : [];
  });
}
