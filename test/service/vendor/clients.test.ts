import { createNeonClient } from "@neon/sdk";
import { createApiClient, EndpointType } from "@neondatabase/api-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ListeningShop } from "../support/listening.ts";
import { keys, main, preview, primary, project, staging } from "../support/shop.ts";
import { PublicApi } from "./public-api.ts";

/** Real time passes here: an inactivity time would suspend a compute that the test is slow to use. */
const never = -1;

let shop: ListeningShop;
beforeAll(async () => {
  shop = await ListeningShop.start({ timeScale: 50, rateLimits: { perMinute: 1e6, perSecondAndRoute: 1e6 } });
});
afterAll(async () => {
  await shop[Symbol.asyncDispose]();
});

/** Asks again until the project's operations are finished. */
async function settled(): Promise<void> {
  while (shop.core.context.store.operations.anyUnfinished(project)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    shop.core.settle();
  }
}

describe("@neondatabase/api-client", () => {
  const client = () => createApiClient({ apiKey: keys.ana, baseURL: shop.baseURL });

  it("creates, lists, changes, restarts and deletes a compute", async () => {
    const api = client();
    const type = EndpointType.ReadOnly;
    const wanted = { branch_id: main, type, name: "replica", suspend_timeout_seconds: never };
    const created = await api.createProjectEndpoint(project, { endpoint: wanted });
    expect([created.status, created.data.endpoint.current_state]).toEqual([201, "init"]);
    const { id } = created.data.endpoint;
    await settled();
    const changed = await api.updateProjectEndpoint(project, id, { endpoint: { autoscaling_limit_max_cu: 2 } });
    expect(changed.data.operations.map(({ action }) => action)).toEqual(["apply_config"]);
    await settled();
    expect((await api.restartProjectEndpoint(project, id)).data.operations).toHaveLength(2);
    await settled();
    expect((await api.suspendProjectEndpoint(project, id)).data.operations).toHaveLength(1);
    await settled();
    expect((await api.startProjectEndpoint(project, id)).data.operations).toHaveLength(1);
    await settled();
    expect((await api.getProjectEndpoint(project, id)).data.endpoint.current_state).toBe("active");
    expect((await api.listProjectEndpoints(project)).data.endpoints.map((endpoint) => endpoint.id)).toContain(id);
    expect((await api.listProjectBranchEndpoints(project, main)).data.endpoints).toHaveLength(2);
    expect((await api.deleteProjectEndpoint(project, id)).data.operations).toEqual([]);
    expect((await api.deleteProjectEndpoint(project, id)).status).toBe(204);
  });

  it("pages through projects and operations", async () => {
    const api = client();
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { data } = await api.listProjects({ limit: 1, ...(cursor !== undefined && { cursor }) });
      seen.push(...data.projects.map(({ id }) => id));
      cursor = data.pagination?.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([project, "shop-two", "ana-own"]);
    const first = await api.listProjectOperations({ projectId: project, limit: 2 });
    const next = await api.listProjectOperations({
      projectId: project,
      limit: 2,
      ...(first.data.pagination && { cursor: first.data.pagination.cursor }),
    });
    const ids = [...first.data.operations, ...next.data.operations].map(({ id }) => id);
    expect(new Set(ids).size).toBe(4);
    expect((await api.getProjectOperation(project, ids[0] ?? "")).data.operation.status).toBe("finished");
  });

  it("creates, lists and revokes keys of every kind", async () => {
    const api = client();
    const personal = (await api.createApiKey({ key_name: "second" })).data;
    const shops = (await api.createOrgApiKey("org-shop", { key_name: "ci-two" })).data;
    const scoped = (await api.createOrgApiKey("org-shop", { key_name: "one", project_id: project })).data;
    for (const { key } of [personal, shops, scoped]) {
      const { data } = await createApiClient({ apiKey: key, baseURL: shop.baseURL }).getProject(project);
      expect(data.project.id).toBe(project);
    }
    expect((await api.listApiKeys()).data.map(({ id }) => id)).toContain(personal.id);
    expect((await api.listOrgApiKeys("org-shop")).data.map(({ id }) => id)).toContain(scoped.id);
    expect((await api.revokeApiKey(personal.id)).data.revoked).toBe(true);
    expect((await api.revokeOrgApiKey("org-shop", shops.id)).data.revoked).toBe(true);
    const after = createApiClient({ apiKey: personal.key, baseURL: shop.baseURL });
    await expect(after.getAuthDetails()).rejects.toMatchObject({ response: { status: 401 } });
  });

  it("creates and deletes projects and branches, and tells who is who", async () => {
    const api = client();
    const made = (await api.createProject({ project: { name: "new" } })).data;
    expect(made.endpoints).toHaveLength(1);
    expect(made.connection_uris[0]?.connection_uri).toContain(made.endpoints[0]?.host);
    const branch = (
      await api.createProjectBranch(project, { branch: { name: "b" }, endpoints: [{ type: EndpointType.ReadWrite }] })
    ).data;
    expect(branch.endpoints).toHaveLength(1);
    await settled();
    expect((await api.listProjectBranches({ projectId: project, search: "b" })).data.branches).not.toHaveLength(0);
    expect((await api.getProjectBranch(project, branch.branch.id)).data.branch.current_state).toBe("ready");
    await api.deleteProjectBranch({ projectId: project, branchId: branch.branch.id });
    await expect(api.getProjectBranch(project, branch.branch.id)).rejects.toMatchObject({ response: { status: 404 } });
    const uri = await api.getConnectionUri({
      projectId: project,
      database_name: "neondb",
      role_name: "neondb_owner",
    });
    expect(uri.data.uri).toContain(primary);
    expect((await api.getCurrentUserInfo()).data.email).toBe("ana@example.com");
    expect((await api.getCurrentUserOrganizations()).data.organizations.map(({ id }) => id)).toEqual(["org-shop"]);
    expect((await api.getOrganization("org-shop")).data.name).toBe("Shop");
    expect((await api.getOrganizationMembers({ orgId: "org-shop" })).data.members).toHaveLength(2);
    expect((await api.getAuthDetails()).data.auth_method).toBe("api_key_user");
    expect((await api.updateProject(project, { project: { name: "renamed" } })).data.project.name).toBe("renamed");
  });
});

describe("@neon/sdk", () => {
  const client = () =>
    createNeonClient({
      apiKey: keys.ana,
      baseUrl: shop.baseURL,
      throwOnError: true,
      waitForReadiness: true,
      wait: { pollIntervalMs: 10, timeoutMs: 5000 },
    });

  it("creates, lists, changes, restarts and deletes a compute, waiting for the operations of each", async () => {
    const { endpoints } = client().postgres;
    const wanted = { branch_id: preview, type: "read_write", suspend_timeout_seconds: never } as const;
    const made = await endpoints.create({ projectId: project, ...wanted });
    const one = { projectId: project, endpointId: made.id };
    expect((await endpoints.get(one)).current_state).toBe("active");
    await endpoints.update({ ...one, autoscaling_limit_max_cu: 4, suspend_timeout_seconds: 604_800 });
    await endpoints.restart(one);
    await endpoints.suspend(one);
    expect((await endpoints.get(one)).current_state).toBe("idle");
    await endpoints.update({ ...one, branch_id: staging });
    await endpoints.start(one);
    expect((await endpoints.list({ projectId: project })).find(({ id }) => id === made.id)).toMatchObject({
      current_state: "active",
      branch_id: staging,
      autoscaling_limit_max_cu: 4,
    });
    await endpoints.delete(one);
    const { error } = await endpoints.get(one, { throwOnError: false });
    expect(error?.kind).toBe("not_found");
  });

  it("pages through projects and operations", async () => {
    const projects = await client().projects.list({ limit: 2 }).all();
    expect(projects.map(({ id }) => id)).toContain("ana-own");
    const operations = await client().operations.list({ projectId: project }).all();
    expect(operations.length).toBeGreaterThan(6);
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  });

  it("creates a project with its connection string, and finds a branch without help", async () => {
    const { project: made, connectionString } = await client().projects.createAndConnect({ name: "app", pooled: true });
    expect(connectionString).toContain("-pooler.");
    expect(await client().postgres.connectionString({ projectId: made.id })).toMatch(/^postgresql:\/\/neondb_owner:/);
    await client().projects.delete({ projectId: made.id });
  });

  it("creates and revokes keys", async () => {
    const neon = client();
    const made = await neon.apiKeys.create({ keyName: "third" });
    expect((await neon.apiKeys.list()).map(({ id }) => id)).toContain(made.id);
    await neon.apiKeys.revoke({ keyId: made.id });
    const after = createNeonClient({ apiKey: made.key, baseUrl: shop.baseURL });
    expect((await after.projects.list().page()).error?.kind).toBe("auth");
  });
});

describe("the public OpenAPI file", () => {
  it("allows every answer that the clients got", () => {
    const api = new PublicApi();
    expect(shop.sent.length).toBeGreaterThan(60);
    const problems = shop.sent.flatMap(({ method, path, status, body }) => {
      const parsed: unknown = body === "" ? undefined : JSON.parse(body);
      return api.problems(method, path.replace("/api/v2", ""), status, parsed);
    });
    expect([...new Set(problems)]).toEqual([]);
  });

  it("the public OpenAPI file has every route that we serve, and the clients called all of them that they need", () => {
    const api = new PublicApi();
    const unknown = shop.core.routes.filter(
      ({ method, path }) => api.templateOf(method, path.replaceAll(/\{[^}]+\}/g, "x")) === undefined,
    );
    // The newer SDK alone has this one.
    expect(unknown.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /projects/{project_id}/members"]);
  });
});
