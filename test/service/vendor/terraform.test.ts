import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { rules, rulesNames } from "../../../src/service/rules.ts";
import { main, preview, project } from "../support/shop.ts";
import { TerraformProvider } from "./terraform-provider.ts";

let provider: TerraformProvider;
const Id = z.looseObject({ id: z.string() });

describe.each(rulesNames)("under the rules %s", (name) => {
  beforeEach(() => {
    provider = new TerraformProvider({ rules: rules[name] });
  });

  describe("neon_project", () => {
    const minimal = {
      history_retention_seconds: 86_400,
      name: "",
      provisioner: "",
      region_id: "",
      store_passwords: true,
    };

    it("a project with nothing set is created, and read with what the service chose", () => {
      const created = provider.write("POST /projects", { project: minimal });
      const { id } = Id.parse(created["project"]);
      const { attributes, branch, endpoint, role, password } = provider.readProject(id);
      expect(attributes).toMatchObject({ ...minimal, name: id, region_id: "aws-us-east-2", provisioner: "k8s-neonvm" });
      expect(created["branch"]).toMatchObject({ id: branch?.id, name: "main" });
      expect(created["endpoints"]).toMatchObject([{ id: endpoint?.id }]);
      expect(created["roles"]).toMatchObject([{ name: role, password }]);
    });

    it("a project with everything set is created, changed, read without a difference, and deleted", () => {
      const settings = {
        quota: { active_time_seconds: 3600, logical_size_bytes: 1_000_000 },
        allowed_ips: { ips: ["10.0.0.1"], protected_branches_only: true },
        block_public_connections: false,
        enable_logical_replication: true,
        maintenance_window: { weekdays: [7], start_time: "01:00", end_time: "02:00" },
      };
      const whole = {
        ...minimal,
        org_id: "org-shop",
        name: "shop-three",
        provisioner: "k8s-neonvm",
        region_id: "aws-eu-central-1",
        pg_version: 16,
        store_passwords: true,
        default_endpoint_settings: { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 2 },
        settings,
      };
      const branch = { name: "production", role_name: "app", database_name: "shop" };
      const { id } = Id.parse(provider.write("POST /projects", { project: { ...whole, branch } })["project"]);
      const read = provider.readProject(id);
      expect(read.attributes).toMatchObject(whole);
      expect([read.branch?.name, read.role, read.database?.name]).toEqual(["production", "app", "shop"]);

      const change = { name: "shop-four", settings: { ...settings, quota: { active_time_seconds: 60 } } };
      provider.write(`PATCH /projects/${id}`, { project: change });
      expect(provider.readProject(id).attributes).toMatchObject({ ...whole, ...change });
      provider.ok(`DELETE /projects/${id}`);
      expect(provider.send(`GET /projects/${id}`).status).toBe(404);
    });

    it("a project that only gets another name keeps its settings", () => {
      const quota = { active_time_seconds: 3600 };
      const made = provider.write("POST /projects", { project: { ...minimal, settings: { quota } } });
      const { id } = Id.parse(made["project"]);
      provider.write(`PATCH /projects/${id}`, { project: { name: "next", settings: { allowed_ips: {} } } });
      expect(provider.readProject(id).attributes).toMatchObject({ name: "next", settings: { quota } });
    });
  });

  describe("neon_branch", () => {
    const path = `/projects/${project}/branches`;
    const minimal = { name: "", parent_id: "", parent_lsn: "" };

    it("a branch with nothing set is one of the default branch", () => {
      const { id } = Id.parse(provider.write(`POST ${path}`, { branch: minimal })["branch"]);
      expect(provider.ok(`GET ${path}/${id}`)["branch"]).toMatchObject({ name: id, parent_id: main, protected: false });
    });

    it("a branch with everything set is created, changed, and deleted", () => {
      const parent_timestamp = new Date(provider.shop.time.now()).toISOString();
      const whole = { name: "next", parent_id: preview, parent_timestamp };
      const made = provider.write(`POST ${path}`, { branch: { ...minimal, ...whole, protected: true } });
      const { id } = Id.parse(made["branch"]);
      expect(provider.ok(`GET ${path}/${id}`)["branch"]).toMatchObject({ ...whole, protected: true });
      provider.write(`PATCH ${path}/${id}`, { branch: { name: "last" } });
      provider.write(`PATCH ${path}/${id}`, { branch: { protected: false } });
      expect(provider.ok(`GET ${path}/${id}`)["branch"]).toMatchObject({ name: "last", protected: false });
      provider.write(`DELETE ${path}/${id}`);
      expect(provider.send(`GET ${path}/${id}`).status).toBe(404);
    });
  });

  describe("neon_endpoint", () => {
    const path = `/projects/${project}/endpoints`;
    const minimal = { branch_id: preview, type: "read_write", region_id: "", provisioner: "", disabled: false };

    it("a compute with nothing set has the service's sizes", () => {
      const { id } = Id.parse(provider.write(`POST ${path}`, { endpoint: minimal })["endpoint"]);
      expect(provider.ok(`GET ${path}/${id}`)["endpoint"]).toMatchObject({
        region_id: "aws-us-east-2",
        provisioner: "k8s-neonvm",
        autoscaling_limit_max_cu: 1,
        suspend_timeout_seconds: 0,
      });
    });

    it("a compute with everything set is created, changed, and deleted", () => {
      const sizes = { autoscaling_limit_min_cu: 0.5, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: 600 };
      const settings = { pg_settings: { work_mem: "64MB" } };
      const whole = { ...minimal, ...sizes, region_id: "aws-us-east-2", provisioner: "k8s-neonvm", settings };
      const { id } = Id.parse(provider.write(`POST ${path}`, { endpoint: whole })["endpoint"]);
      expect(provider.ok(`GET ${path}/${id}`)["endpoint"]).toMatchObject(whole);
      const { type: _, region_id: __, ...changeable } = whole;
      const change = { ...changeable, autoscaling_limit_max_cu: 4, suspend_timeout_seconds: -1 };
      provider.write(`PATCH ${path}/${id}`, { endpoint: change });
      expect(provider.ok(`GET ${path}/${id}`)["endpoint"]).toMatchObject(change);
      provider.write(`DELETE ${path}/${id}`);
      expect(provider.send(`GET ${path}/${id}`).status).toBe(404);
      expect(provider.send(`DELETE ${path}/${id}`).status).toBe(204);
    });
  });

  describe("neon_role and neon_database", () => {
    const path = `/projects/${project}/branches/${main}`;

    it("a role and its database are created, read with the role's password, changed, and deleted", () => {
      const { role } = provider.write(`POST ${path}/roles`, { role: { name: "app" } });
      expect(provider.ok(`GET ${path}/roles/app`)["role"]).toMatchObject({ name: "app", protected: false });
      expect(role).toMatchObject(provider.ok(`GET ${path}/roles/app/reveal_password`));
      const database = { name: "stock", owner_name: "app" };
      provider.write(`POST ${path}/databases`, { database });
      expect(provider.ok(`GET ${path}/databases/stock`)["database"]).toMatchObject(database);
      provider.write(`PATCH ${path}/databases/stock`, { database: { ...database, name: "store" } });
      provider.write(`DELETE ${path}/databases/store`);
      provider.write(`DELETE ${path}/roles/app`);
      expect(provider.send(`GET ${path}/databases/store`).status).toBe(404);
      expect(provider.send(`GET ${path}/roles/app`).status).toBe(404);
    });
  });

  describe("neon_api_key and neon_org_api_key", () => {
    it.each([
      ["/api_keys", { key_name: "terraform" }],
      ["/organizations/org-shop/api_keys", { key_name: "terraform" }],
      ["/organizations/org-shop/api_keys", { key_name: "terraform", project_id: project }],
    ])("keys below %s with %j are created, found by name, and revoked", (path, body) => {
      const { id } = z.looseObject({ id: z.number(), key: z.string() }).parse(provider.ok(`POST ${path}`, body));
      const listed = Object.values(provider.ok(`GET ${path}`));
      expect(listed).toContainEqual(expect.objectContaining({ id, name: "terraform" }));
      provider.ok(`DELETE ${path}/${id}`);
    });
  });

  it("the data sources read projects, branches, computes, roles and passwords", () => {
    const path = `/projects/${project}/branches`;
    expect(provider.readProject(project)).toMatchObject({ branch: { id: main }, database: { name: "neondb" } });
    expect(provider.ok(`GET ${path}`)["branches"]).toHaveLength(3);
    expect(provider.ok(`GET ${path}/${main}/roles`)["roles"]).toMatchObject([{ name: "neondb_owner" }]);
  });

  it.each([
    ["neon_project_permission", `POST /projects/${project}/permissions`, "grantPermissionToProject"],
    ["neon_jwks_url", `POST /projects/${project}/jwks`, "addProjectJWKS"],
    ["neon_vpc_endpoint_restriction", `GET /projects/${project}/vpc_endpoints`, "listProjectVPCEndpoints"],
  ])("%s is refused with the name of the call that is not served", (_, line, operation) => {
    const { status, body } = provider.send(line, {});
    expect([status, body["message"]]).toEqual([501, expect.stringContaining(operation)]);
  });
});
