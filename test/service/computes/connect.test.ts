import { describe, expect, it, test } from "vitest";
import { ConnectionUriAnswer } from "../../../src/api/connection-uri.ts";
import { inShort, keys, main, primary, project, Shop } from "../support/shop.ts";

test.each([
  { pooled: false, limit: 112 },
  { pooled: true, limit: 10_000 },
])("a client finds room for $limit connections to a quarter CU (pooled: $pooled), and no more", ({ pooled, limit }) => {
  const shop = new Shop();
  shop.active({ autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 });
  const closesAt = shop.time.now() + 60_000;
  shop.core.change(({ store }) => {
    for (let open = 0; open < limit - 2; open++) store.connections.open({ endpointId: primary, pooled, closesAt });
  });
  expect(shop.connect(primary, 60, pooled).status).toBe(200);
  expect(shop.connect(primary, 60, pooled).status).toBe(200);
  expect(shop.connect(primary, 60, pooled).status).toBe(429);
  shop.time.pass(61_000);
  expect(shop.connect(primary, 60, pooled).status).toBe(200);
});

it("a client finds the connections counted by both ends of an autoscaling range", () => {
  const shop = new Shop();
  shop.active({ autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 8 });
  expect(shop.connect(primary).body["max_connections"]).toBe(901);
});

it("a client learns when the compute will be up, and holds the connection from then on", () => {
  const shop = new Shop();
  const { body } = shop.connect(primary, 10);
  const connected = Date.parse(String(body["connected_at"])) - shop.time.now();
  expect(connected).toBeGreaterThan(100);
  expect(connected).toBeLessThan(500);
  expect(Date.parse(String(body["closes_at"])) - shop.time.now()).toBe(connected + 10_000);
});

it("a client that comes during a restart learns when the compute will be up again", () => {
  const shop = new Shop();
  shop.active();
  shop.write(`POST /projects/${project}/endpoints/${primary}/restart`);
  const { body } = shop.connect(primary, 10);
  expect(shop.finishOperations().get(primary).started_at).toBe(body["connected_at"]);
});

it("a client with many others neither restarts an autoscaling compute nor loses its connection", () => {
  const shop = new Shop();
  const before = shop.active({ autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 4 });
  const operations = shop.operations();
  for (let open = 0; open < 500; open++) shop.connect(primary, 3600);
  shop.time.pass(600_000);
  expect(shop.get(primary)).toMatchObject({ current_state: "active", started_at: before.started_at });
  expect(shop.operations()).toEqual(operations);
  expect(shop.connect(primary).body["connections"]).toBe(501);
});

it("a client reads its connection in the answer, and is the compute's last activity from then on", () => {
  const shop = new Shop();
  shop.active();
  shop.time.pass(60_000);
  const now = new Date(shop.time.now()).toISOString();
  const closes = new Date(shop.time.now() + 1500).toISOString();
  expect(shop.connect(primary, 1.5, true)).toMatchObject({
    status: 200,
    body: { endpoint_id: primary, pooled: true, connections: 1, connected_at: now, closes_at: closes },
  });
  expect(shop.connect(primary, 1.5).body).toMatchObject({ pooled: false, connections: 1, max_connections: 450 });
  expect(shop.get(primary).last_active).toBe(now);
});

it("a client is refused by a compute that is disabled, also while that one still suspends", () => {
  const shop = new Shop();
  shop.active();
  shop.patch(primary, { disabled: true });
  const refused = [409, `endpoint ${primary} is disabled: it takes no connections`];
  const said = () => {
    const { status, body } = shop.connect(primary, 60);
    return [status, body["message"]];
  };
  expect([shop.get(primary).current_state, said()]).toEqual(["active", refused]);
  expect([shop.finishOperations().get(primary).current_state, said()]).toEqual(["idle", refused]);
});

it("a client that comes while the compute suspends wakes it when that has ended, and not beside it", () => {
  const shop = new Shop();
  shop.active();
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  expect(shop.connect(primary, 60).status).toBe(200);
  expect(inShort(shop.operations()).slice(0, 2)).toEqual(["start_compute scheduling", "suspend_compute running"]);
  expect(shop.finishOperations().get(primary).current_state).toBe("active");
});

it("a client that comes while the compute wakes for another one starts it no second time", () => {
  const shop = new Shop({ projectLock: false });
  const [first, second] = [shop.connect(primary, 60), shop.connect(primary, 60)];
  expect(second.body["connected_at"]).toBe(first.body["connected_at"]);
  expect(inShort(shop.operations())).toEqual(["start_compute running"]);
  expect(shop.finishOperations().get(primary).started_at).toBe(first.body["connected_at"]);
});

it("a client is refused with the address where real servers run behind the computes, and no compute wakes", () => {
  const shop = new Shop();
  Object.assign(shop.core.context.backend, { address: { host: "127.0.0.1", port: 5433 } });
  const { status, body } = shop.connect(primary, 60);
  expect([status, body["message"]]).toEqual([
    409,
    "real Postgres servers run behind the computes: connect to 127.0.0.1, port 5433, with the URI of connection_uri",
  ]);
  expect(shop.operations()).toEqual([]);
});

it("a client of a compute that is deleted ends without it", () => {
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 60);
  shop.write(`DELETE /projects/${project}/endpoints/${primary}`);
  shop.time.pass(61_000);
  expect([shop.list(), shop.errors, shop.core.nextDue()]).toEqual([[], [], undefined]);
});

it("a client does not find a compute that does not exist", () => {
  expect(new Shop().connect("ep-none").status).toBe(404);
});

it("a client who stays keeps the compute active; last_active follows", () => {
  const shop = new Shop();
  shop.active();
  shop.connect(primary, 3600);
  shop.time.pass(3_599_000);
  expect(shop.get(primary).current_state).toBe("active");
  shop.time.pass(2000);
  expect(Date.parse(String(shop.get(primary).last_active))).toBe(shop.time.now() - 1000);
});

describe("GET connection_uri", () => {
  const uri = (shop: Shop, query: string) =>
    ConnectionUriAnswer.parse(
      shop.ana(`GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner${query}`).body,
    ).uri;

  it("names the primary of the default branch, with a password that stays the same", () => {
    const shop = new Shop();
    const first = uri(shop, "");
    expect(first).toMatch(
      /^postgresql:\/\/neondb_owner:npg_[\w-]+@ep-shop-primary\.us-east-2\.aws\.neon\.tech\/neondb\?sslmode=require$/,
    );
    shop.time.pass(86_400_000);
    expect(uri(shop, `&endpoint_id=${primary}`)).toBe(first);
  });

  it("names the pooler where that is asked for, with the same password", () => {
    const shop = new Shop();
    expect(uri(shop, "&pooled=true")).toBe(uri(shop, "").replace(primary, `${primary}-pooler`));
  });

  it("another role has another password", () => {
    const shop = new Shop();
    shop.ana(`POST /projects/${project}/branches/${main}/roles`, { role: { name: "other" } });
    const other = shop.ana(`GET /projects/${project}/connection_uri?database_name=neondb&role_name=other`);
    expect(String(other.body["uri"])).toMatch(/^postgresql:\/\/other:npg_/);
    const expected = uri(shop, "").split("@")[0]?.replace("neondb_owner", "other");
    expect(String(other.body["uri"]).split("@")[0]).not.toBe(expected);
  });

  it.each([
    ["database_name=stock&role_name=neondb_owner", "database not found"],
    ["database_name=neondb&role_name=nobody", "role not found"],
  ])("names nothing that the branch does not have: %s", (query, message) => {
    const answer = new Shop().ana(`GET /projects/${project}/connection_uri?${query}`);
    expect([answer.status, answer.body["message"]]).toEqual([404, message]);
  });

  it("needs database and role", () => {
    const answer = new Shop().send(keys.ana, `GET /projects/${project}/connection_uri?database_name=shop`);
    expect(answer.status).toBe(400);
    expect(answer.body["message"]).toContain("role_name");
  });
});
