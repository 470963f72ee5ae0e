import { describe, expect, it } from "vitest";
import { EndpointAnswer, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { ProjectsAnswer } from "../../../src/api/project.ts";
import { keys, preview, primary, project, Shop } from "../support/shop.ts";

const endpointFields = [
  "autoscaling_limit_max_cu",
  "autoscaling_limit_min_cu",
  "branch_id",
  "created_at",
  "current_state",
  "disabled",
  "host",
  "id",
  "passwordless_access",
  "pending_state",
  "pooler_enabled",
  "pooler_mode",
  "project_id",
  "proxy_host",
  "region_id",
  "settings",
  "type",
  "updated_at",
];

describe("with --strict-spec", () => {
  it("there are only the six calls that the specification shows", () => {
    const routes = new Shop({ strictSpec: true }).core.routes.map(({ method, path }) => `${method} ${path}`);
    expect(routes).toEqual([
      "GET /projects",
      "GET /projects/{project_id}/endpoints",
      "POST /projects/{project_id}/endpoints",
      "PATCH /projects/{project_id}/endpoints/{endpoint_id}",
      "DELETE /projects/{project_id}/endpoints/{endpoint_id}",
      "POST /projects/{project_id}/endpoints/{endpoint_id}/restart",
    ]);
  });

  it("a compute has only the specification's fields, and a name is neither kept nor echoed", () => {
    const shop = new Shop({ strictSpec: true });
    const answer = shop.ana(`POST /projects/${project}/endpoints`, {
      endpoint: { branch_id: preview, type: "read_write", name: "k8s-1", suspend_timeout_seconds: 60 },
    });
    const { endpoint, operations } = EndpointAnswer.parse(answer.body);
    expect(Object.keys(endpoint).toSorted()).toEqual(endpointFields);
    expect(Object.keys(operations?.[0] ?? {})).not.toContain("total_duration_ms");
    const listed = EndpointsAnswer.parse(shop.ana(`GET /projects/${project}/endpoints`).body).endpoints;
    expect(JSON.stringify(listed)).not.toContain("k8s-1");
    expect(shop.core.context.store.endpoints.byId(endpoint.id)?.name).toBeUndefined();
  });

  it("scale to zero can be set all the same", () => {
    const shop = new Shop({ strictSpec: true });
    shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { suspend_timeout_seconds: 60 } });
    expect(shop.core.context.store.endpoints.byId(primary)?.suspendTimeoutSeconds).toBe(60);
  });

  it("a single compute cannot be read, and projects come in one list", () => {
    const shop = new Shop({ strictSpec: true });
    const single = shop.ana(`GET /projects/${project}/endpoints/${primary}`);
    expect(single.status).toBe(404);
    expect(single.body["message"]).toBe("this route does not exist");
    const { projects, pagination } = ProjectsAnswer.parse(shop.ana("GET /projects?limit=1&cursor=1").body);
    expect(projects.map(({ id }) => id)).toEqual([project, "shop-two", "ana-own"]);
    expect(pagination).toBeUndefined();
    expect(Object.keys(projects[0] ?? {}).toSorted()).toEqual([
      "branch_logical_size_limit",
      "cpu_used_sec",
      "created_at",
      "id",
      "locked",
      "name",
      "pg_version",
      "platform_id",
      "provisioner",
      "proxy_host",
      "region_id",
      "updated_at",
    ]);
  });

  it("keys still decide", () => {
    const shop = new Shop({ strictSpec: true });
    expect(shop.send(undefined, "GET /projects").status).toBe(401);
    expect(shop.send(keys.eve, `GET /projects/${project}/endpoints`).status).toBe(404);
  });
});
