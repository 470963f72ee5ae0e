import { describe, expect, it, test, vi } from "vitest";
import { EndpointAnswer } from "../../../src/api/endpoint.ts";
import { ErrorBody } from "../../../src/api/error.ts";
import { keys, preview, primary, project, Shop } from "../support/shop.ts";

const headers = { authorization: `Bearer ${keys.ana}` };

it.each([
  "GET /projects",
  `GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`,
  "GET /users/me/organizations",
  "POST /api_keys",
  "GET /nowhere",
])("%s has an answer that no cache keeps, as one that overlooks keys would show it to others", (line) => {
  expect(new Shop().ana(line, { key_name: "one more" }).headers["cache-control"]).toBe("no-store");
});

describe("a refusal", () => {
  test.each([
    ["GET /nowhere", 404, "this route does not exist"],
    ["GET /projects/none", 404, "project not found"],
    [`GET /projects/${project}/branches/br-none`, 404, "branch not found"],
    [`GET /projects/${project}/endpoints/ep-none`, 404, "endpoint not found"],
    [`PUT /projects/${project}/endpoints`, 404, "this route does not exist"],
    ["GET /projects/%zz", 404, "this route does not exist"],
    ["GET /projects?limit=0", 400, "limit: must be a whole number from 1 to 400"],
    ["GET /projects?limit=401", 400, "limit: must be a whole number from 1 to 400"],
    ["GET /projects?cursor=soon", 400, "cursor: must be the cursor of the page before"],
    ["GET /projects?org_id=org-none", 404, "organization not found"],
  ])("%s: %s %s", (line, status, message) => {
    const answer = new Shop().ana(line);
    expect(answer.status).toBe(status);
    expect(ErrorBody.parse(answer.body).message).toContain(message);
    expect(answer.body["request_id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ["POST /_connect/ep-none", "endpoint", undefined],
    [`POST /projects/${project}/endpoints`, "branch", { endpoint: { branch_id: "br-none", type: "read_write" } }],
    [`POST /projects/${project}/branches/${preview}/recover`, "deleted branch", undefined],
    [`GET /projects/${project}/branches/${preview}/roles/nobody`, "role", undefined],
    [`GET /projects/${project}/branches/${preview}/databases/none`, "database", undefined],
    [`GET /projects/${project}/operations/00000000-0000-4000-8000-000000000000`, "operation", undefined],
  ])("the refusal of %s names what is not there: the %s", (line, what, body) => {
    const { status, body: refusal } = new Shop({ branchRecovery: true }).ana(line, body);
    expect([status, refusal["message"]]).toEqual([404, `${what} not found`]);
  });

  test.each([
    ["/projects", 400],
    [`/projects/${project}/branches`, 10_000],
    [`/projects/${project}/operations`, 1000],
    [`/projects/${project}/members`, 500],
    ["/organizations/org-shop/members", 500],
  ])("a page of %s may have %s rows, and a longer one is refused", (path, most) => {
    const shop = new Shop();
    expect(shop.ana(`GET ${path}?limit=${most}`).status).toBe(200);
    const { status, body } = shop.ana(`GET ${path}?limit=${most + 1}`);
    expect([status, body["message"]]).toEqual([
      400,
      `invalid request query: limit: must be a whole number from 1 to ${most}`,
    ]);
  });

  test.each([
    ["PUT", "/_faults", "served only with --faults"],
    ["POST", "/_reset", "served only with --test-controls"],
    ["POST", "/_clock/advance", "served only with --test-controls"],
    ["GET", "/projects", "this route does not exist; the API is below /api/v2"],
    ["GET", "/api/v2", "this route does not exist; the API is below /api/v2"],
    ["GET", "/api/v20/projects", "this route does not exist; the API is below /api/v2"],
  ])("the refusal of %s %s says what is missing: %s", (method, path, message) => {
    const reply = new Shop().core.call({ method, path, headers: { ...headers, host: "localhost:8090" }, body: "{}" });
    expect([reply.status, JSON.parse(String(reply.body)).message]).toEqual([404, message]);
  });

  test.each([
    ["", "the request needs a JSON body"],
    ["{", "the request body is not JSON"],
    ["[]", "expected object"],
    ['{"endpoint":{}}', "endpoint.branch_id"],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","size":3}}', 'Unrecognized key: "size"'],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","settings":{}}}', "settings must not be nil"],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","name":"a\\u0000b"}}', "U+0000"],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","name":"\\uD83D!"}}', "half of a pair"],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","name":"\\udE00\\ud83d"}}', "half of a pair"],
    ['{"\\ud800":{}}', "half of a pair"],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","name":" \\t "}}', "not only white space"],
    ['{"endpoint":{"branch_id":"br-preview-1","type":"read_write","region_id":"aws-eu-central-1"}}', "aws-us-east-2"],
  ])("the refusal of the body %s says: %s", (body, message) => {
    const shop = new Shop();
    const answer = shop.ana(`POST /projects/${project}/endpoints`, body);
    expect(answer.status).toBe(400);
    expect(answer.body["message"]).toContain(message);
    expect(shop.list()).toHaveLength(1);
  });

  it.each([
    ["\\ud83d\\ude00", "\u{1f600}"],
    ["\\\\ud83d \\\\u0000", "\\ud83d \\u0000"],
    ["\\u005cud83d", "\\ud83d"],
  ])("the name %s of a body is kept as what it says", (written, name) => {
    const body = `{"endpoint":{"branch_id":"br-preview-1","type":"read_write","name":"${written}"}}`;
    const { endpoint } = EndpointAnswer.parse(new Shop().ana(`POST /projects/${project}/endpoints`, body).body);
    expect(endpoint.name).toBe(name);
  });

  it("carries the request id that the client gave", () => {
    const own = new Shop();
    const idOf = (id: string) =>
      own.core.call({ method: "GET", path: "/api/v2/nowhere", headers: { ...headers, "x-request-id": id } }).headers[
        "x-request-id"
      ];
    expect(idOf("x".repeat(128))).toBe("x".repeat(128));
    for (const odd of ["x".repeat(129), "", "a b", "é"]) expect(idOf(odd)).toMatch(/^[\da-f-]{36}$/);
    const call = { method: "GET", path: "/api/v2/nowhere", headers: { ...headers, "x-request-id": "mine-1" } };
    const reply = new Shop().core.call(call);
    expect(reply.headers["x-request-id"]).toBe("mine-1");
    expect(reply.body).toContain('"request_id":"mine-1"');
  });

  it("carries that id as the answer to a mistake of ours does too, in its header and its body", () => {
    const shop = new Shop();
    vi.spyOn(shop.core.context.store.projects, "get").mockImplementation(() => {
      throw new Error("a mistake");
    });
    const path = `/api/v2/projects/${project}`;
    const reply = shop.core.call({ method: "GET", path, headers: { ...headers, "x-request-id": "mine-1" } });
    expect([reply.status, reply.headers["x-request-id"], reply.body]).toEqual([
      500,
      "mine-1",
      expect.stringContaining('"request_id":"mine-1"'),
    ]);
  });

  it.each(["/projects", `/projects/${project}/endpoints`, `/projects/${project}/endpoints/none`])(
    "the answer to GET %s carries the request id that the client gave",
    (path) => {
      const call = { method: "GET", path: `/api/v2${path}`, headers: { ...headers, "x-request-id": "mine-1" } };
      expect(new Shop().core.call(call).headers["x-request-id"]).toBe("mine-1");
    },
  );

  it("a refused change leaves everything as it was", () => {
    const shop = new Shop();
    const before = [shop.list(), shop.operations()];
    shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, {
      endpoint: { name: "new", autoscaling_limit_max_cu: 4, branch_id: "br-none" },
    });
    shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { name: "new", branch_id: "br-eve" } });
    expect([shop.list(), shop.operations()]).toEqual(before);
  });
});

it.each([
  [
    "an unknown field",
    `POST /projects/${project}/endpoints`,
    "endpoint",
    `"branch_id": "br-1", "type": "read_only", "x"`,
  ],
  ["a known one", `PATCH /projects/${project}`, "project", `"settings": { "quota": { "a": 0 } }, "name"`],
])("a body with %s nested beyond all measure is refused, and no mistake of ours", (_, line, section, fields) => {
  const shop = new Shop();
  const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  expect(shop.ana(line, `{"${section}": { ${fields}: ${nested} } }`).status).toBe(400);
  expect(shop.errors).toEqual([]);
});

describe("a mistake of our own", () => {
  it("answers 500, is reported, and leaves nothing half done", () => {
    const shop = new Shop();
    const { ids } = shop.core.context;
    shop.core.context.ids = { ...ids, uuid: () => "00000000-0000-4000-8000-000000000000" };
    shop.create({ branch_id: preview, type: "read_write" });
    shop.finishOperations();
    const answer = shop.ana(`POST /projects/${project}/endpoints/${primary}/start`);
    expect(answer.status).toBe(500);
    expect(answer.body["message"]).toBe("internal error");
    expect(shop.errors).toHaveLength(1);
    shop.core.context.ids = ids;
    expect(shop.get(primary)).toMatchObject({ current_state: "idle" });
    expect(shop.get(primary).pending_state).toBeUndefined();
  });
});

describe("the authorization header", () => {
  test.each([`Bearer ${keys.ana}`, `bearer ${keys.ana}`, `Bearer  ${keys.ana}`])("%j is taken", (authorization) => {
    expect(new Shop().core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization } }).status).toBe(200);
  });

  test.each(["", "Bearer", "Bearer ", keys.ana, `Basic ${keys.ana}`, `Bearer ${keys.ana} x`, `Bearer ${keys.ana}x`])(
    "%j is refused",
    (authorization) => {
      const reply = new Shop().core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization } });
      expect(reply.status).toBe(401);
      expect(reply.headers["www-authenticate"]).toBe("Bearer");
    },
  );
});

describe("administration", () => {
  it("leaves an organization its last administrator", () => {
    const shop = new Shop();
    const statuses = [
      shop.send(undefined, "DELETE /_admin/organizations/org-shop/members/acc-ana"),
      shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-ana", { role: "member" }),
      shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role: "admin" }),
      shop.send(undefined, "DELETE /_admin/organizations/org-shop/members/acc-ana"),
    ].map(({ status }) => status);
    expect(statuses).toEqual([409, 409, 200, 204]);
  });
});
