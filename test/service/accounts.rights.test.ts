import { describe, expect, it, test } from "vitest";
import { nothing } from "../../src/service/http/check.ts";
import { callers, requestLine, table, tryCell } from "./keys/cells.ts";
import { rights } from "./keys/rights.ts";
import { keys, project, Shop } from "./support/shop.ts";

const cells = table(new Shop().core.routes);

describe("the table of keys and routes", () => {
  it("the table has every route, key and target", () => {
    expect(new Set(cells.map(({ route }) => route)).size).toBe(new Shop().core.routes.length);
    expect(cells.length).toBeGreaterThan(250);
    const routes = new Shop().core.routes.map(({ method, path }) => `${method} ${path}`);
    expect([...rights.keys()]).toEqual(routes);
  });

  test.each(cells.map((cell) => ({ ...cell, name: `${cell.route.method} ${cell.route.path}` })))(
    "$caller key, $name, $target: $expected",
    (cell) => {
      expect(tryCell(new Shop({ branchRecovery: true }), cell)).toBe(cell.expected);
    },
  );
});

describe("every route", () => {
  it.each([
    ["without a key", undefined],
    ["with a key nobody has", "nonsense"],
    ["with a malformed header", "two words"],
  ])("answers 401 %s", (_, key) => {
    const shop = new Shop();
    for (const route of shop.core.routes) {
      const line = requestLine(shop, route, "organization", "own");
      const answer = shop.send(key, line);
      expect([line, answer.status]).toEqual([line, 401]);
      expect(answer.body["message"]).toBe("supplied credentials do not pass authentication");
    }
  });

  it("judges the right before the body, so that nobody learns from a wrong body what is there", () => {
    const shop = new Shop();
    const guarded = shop.core.routes.filter(
      ({ access, body }) => ["project", "organization"].includes(access.kind) && body !== nothing,
    );
    expect(guarded.length).toBeGreaterThan(11);
    for (const route of guarded) {
      const line = requestLine(shop, route, "organization", "own");
      expect([line, shop.send(keys.other, line, "[]").status]).toEqual([line, 404]);
    }
  });

  it("refuses somebody else's things inside one's own project", () => {
    const shop = new Shop();
    shop.send(keys.eve, "POST /projects/eve-own/endpoints", { endpoint: { branch_id: "br-eve", type: "read_only" } });
    for (const key of Object.values(callers)) {
      const statuses = [
        shop.send(key, `GET /projects/${project}/branches/br-eve`),
        shop.send(key, `GET /projects/${project}/branches/br-eve/endpoints`),
        shop.send(key, `POST /projects/${project}/endpoints`, { endpoint: { branch_id: "br-eve", type: "read_only" } }),
        shop.send(key, `GET /projects/${project}/connection_uri?database_name=a&role_name=b&branch_id=br-eve`),
      ].map(({ status }) => status);
      expect(statuses).toEqual([404, 404, 404, 404]);
    }
  });

  it("gives no password of another project, although its branch or its compute is named", () => {
    const shop = new Shop();
    const [foreign] = shop.core.context.store.endpoints.ofBranch("br-eve");
    const uri = `GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`;
    const named = ["branch_id=br-eve", `endpoint_id=${foreign?.id}`].map((one) => shop.ana(`${uri}&${one}`));
    expect(named.map(({ status, body }) => [status, body["message"]])).toEqual([
      [404, "branch not found"],
      [404, "endpoint not found"],
    ]);
    expect(shop.send(keys.eve, `${uri.replace(project, "eve-own")}&endpoint_id=${foreign?.id}`).status).toBe(200);
  });
});
