import { beforeEach, expect, it, vi } from "vitest";
import { sessionLength } from "../../../src/service/console/sessions.ts";
import { keys, Shop } from "../support/shop.ts";
import { problemIn, type Seen, textOf, Visitor } from "./visitor.ts";

let shop: Shop;
let visitor: Visitor;
beforeEach(() => {
  shop = new Shop();
  visitor = new Visitor(shop.core);
});

const nextIn = ({ html }: Seen) => [...html.matchAll(/name="next" value="([^"]+)"/g)].map(([, next]) => next);

it("the sign-in page sets a cookie for a browser without one, and leaves one that is there", () => {
  expect(visitor.get("/").headers["set-cookie"]).toMatch(/^compute_console=[0-9a-f]{64};/);
  expect(visitor.get("/").headers).not.toHaveProperty("set-cookie");
  expect(visitor.get("/app/keys").headers).not.toHaveProperty("set-cookie");
});

it("signing in as an account that does not exist is refused, and opens no session", () => {
  visitor.get("/");
  const seen = visitor.post("/app/sign-in", { account: "acc-none" });
  expect([seen.status, problemIn(seen)]).toEqual([404, "Not signed in There is no account acc-none."]);
  expect(visitor.get("/app/keys").status).toBe(401);
});

it("signing in that is refused still goes on to the page that was asked for afterwards", () => {
  visitor.get("/app/computes");
  const seen = visitor.post("/app/sign-in", { key: "wrong", next: "/app/computes" });
  expect([seen.status, nextIn(seen)]).toEqual([401, ["/app/computes", "/app/computes"]]);
  const evil = visitor.post("/app/sign-in", { key: "wrong", next: "https://evil.example/" });
  expect(nextIn(evil)).toEqual(["/", "/"]);
});

it("signing in says that the service failed where it did, and not that the key is unknown", () => {
  visitor.get("/");
  vi.spyOn(shop.core.context.store.keys, "bySecret").mockImplementation(() => {
    throw new Error("the inner workings");
  });
  const seen = visitor.post("/app/sign-in", { key: keys.ana });
  expect([seen.status, problemIn(seen)]).toEqual([500, expect.stringContaining("through no fault of yours")]);
  expect(shop.errors).toHaveLength(1);
});

it("signing in offers each account, the oldest first, with its plan, and with its address where its name is another", () => {
  shop.time.pass(1000);
  shop.applySeed({ accounts: [{ id: "a-later-one", email: "zoe@example.com", name: "Zoe", plan: "scale" }] });
  const seen = visitor.get("/");
  const offered = [...seen.html.matchAll(/<button name="account" value="([^"]+)">(.*?)<\/button>/gs)].map(
    ([, id, html = ""]) => [id, textOf({ ...seen, html })],
  );
  expect(offered).toEqual([
    ["acc-ana", "ana@example.com scale plan"],
    ["acc-bob", "bob@example.com free plan"],
    ["acc-eve", "eve@example.com scale plan"],
    ["a-later-one", "Zoe zoe@example.com, scale plan"],
  ]);
});

it("signing in speaks of no accounts of this machine to a browser elsewhere", () => {
  expect(textOf(visitor.get("/"))).toContain("As an account of this machine");
  const stranger = textOf(new Visitor(shop.core, { remote: "10.0.0.7" }).get("/"));
  expect(stranger).not.toContain("As an account of this machine");
  expect(stranger).toContain("With an API key");
});

it.each([
  ["somebody has asked for a page with it", (ana: Visitor) => ana.get("/app/keys")],
  ["somebody else has signed in", () => new Visitor(shop.core).signIn("acc-bob")],
])("a session that has ended stays so when the clock is set back, once %s", (_, between) => {
  visitor.signIn("acc-ana");
  shop.time.pass(sessionLength);
  between(visitor);
  shop.time.pass(-1);
  expect(visitor.get("/app/keys").status).toBe(401);
});

it("signing in offers the first 100 accounts", () => {
  shop.applySeed({
    accounts: Array.from({ length: 120 }, (_, index) => ({ id: `acc-${index}`, email: `n${index}@example.com` })),
  });
  expect([...visitor.get("/").html.matchAll(/<button name="account"/g)]).toHaveLength(100);
});
