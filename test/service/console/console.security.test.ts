import { beforeEach, describe, expect, it } from "vitest";
import { Html, html } from "../../../src/service/console/html.ts";
import { script } from "../../../src/service/console/script.ts";
import { sessionLength } from "../../../src/service/console/sessions.ts";
import { stylesheet } from "../../../src/service/console/stylesheet.ts";
import { keys, main, primary, project, Shop } from "../support/shop.ts";
import { problemIn, textOf, Visitor } from "./visitor.ts";

const attack = `"><script>alert('x')</script>&amp;`;
const change = `/app/projects/${project}/branches/${main}`;
const larger = { compute: primary, shown: "1/1/0", min: "1", max: "2", suspend: "0" };

/** The one script that a page has. */
const ownScript = /<script src="\/app\/console-[0-9a-f]{8}\.js" defer><\/script>/;

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const signedIn = (account = "acc-ana") => new Visitor(shop.core).signIn(account);
const largest = () => shop.get(primary).autoscaling_limit_max_cu;

it("a mistake of our own is shown on a page without its cause, and logged", () => {
  const ana = signedIn();
  const broken = (): never => {
    throw new Error("the inner workings");
  };
  shop.core.context.ids = { ...shop.core.context.ids, secret: broken };
  const seen = ana.post("/app/keys", { name: "desk" });
  expect([seen.status, seen.headers["content-type"]]).toEqual([500, "text/html; charset=utf-8"]);
  expect(textOf(seen)).toContain("Something went wrong here");
  expect(seen.html).not.toContain("inner workings");
  expect(shop.errors).toHaveLength(1);
});

it("signing in offers every account to a browser on this machine", () => {
  const seen = new Visitor(shop.core).get("/");
  expect([seen.status, textOf(seen)]).toEqual([200, expect.stringContaining("bob@example.com")]);
  expect(textOf(signedIn("acc-bob").get("/"))).toContain("bob@example.com");
});

it.each([
  ["from another machine", { remote: "10.0.0.7" }],
  ["under a foreign name that was made to point here", { headers: { host: "evil.example:8090" } }],
  ["through a proxy", { headers: { "x-forwarded-for": "10.0.0.7" } }],
  ["through nginx that is told nothing of headers", { httpVersion: "1.0" }],
])("signing in offers no account %s, and takes none", (_, from) => {
  const visitor = new Visitor(shop.core, from);
  expect(textOf(visitor.get("/"))).not.toContain("example.com");
  const seen = visitor.post("/app/sign-in", { account: "acc-ana" });
  expect([seen.status, problemIn(seen)]).toEqual([403, expect.stringContaining("sign in with a personal API key")]);
  expect(visitor.get("/app/keys").status).toBe(401);
});

it("signing in ends the oldest of 20 sessions of its account, so that memory has a bound, and none of another's", () => {
  const signsIn = (seen: Visitor) => textOf(seen.get("/")).includes("Projects");
  const ana = signedIn();
  const bobs = Array.from({ length: 21 }, () => signedIn("acc-bob"));
  expect(signsIn(ana)).toBe(true);
  expect(bobs.map(signsIn)).toEqual([false, ...Array.from({ length: 20 }, () => true)]);
});

it("signing in takes a personal key from anywhere, until it is revoked", () => {
  const visitor = new Visitor(shop.core, { remote: "10.0.0.7", headers: { host: "computes.example" } });
  visitor.get("/");
  expect(textOf(visitor.post("/app/sign-in", { key: ` ${keys.bob} ` }))).toContain("Projects");
  expect(textOf(visitor.get("/app/keys"))).toContain("laptop");
  const [key] = shop.core.context.store.keys.ofAccount("acc-bob");
  shop.send(keys.bob, `DELETE /api_keys/${key?.id}`);
  expect(visitor.get("/app/keys").status).toBe(401);
});

it.each([
  ["wrong", 401, "This API key is not known"],
  ["", 401, "This API key is not known"],
  [keys.shop, 403, "This key speaks for no person"],
  [keys.scoped, 403, "This key speaks for no person"],
])("signing in refuses the key %j with %i and in words", (key, status, words) => {
  const visitor = new Visitor(shop.core);
  visitor.get("/");
  const seen = visitor.post("/app/sign-in", { key });
  expect([seen.status, problemIn(seen)]).toEqual([status, expect.stringContaining(words)]);
});

it("signing in goes on to the page that was asked for, and never to another site", () => {
  const visitor = new Visitor(shop.core);
  expect(visitor.get("/app/keys").html).toContain('name="next" value="/app/keys"');
  const to = (next: string) => visitor.postOnly("/app/sign-in", { account: "acc-ana", next }).headers["location"];
  expect(to("/app/keys")).toBe("/app/keys");
  visitor.cookie = undefined;
  const evil = ["https://evil.example/", "//evil.example", "/\\evil.example", "/app/../x\r\nSet-Cookie: a=b"];
  // The last two are forms without a page.
  for (const next of [...evil, "/app/sign-in", "/app/sign-out"]) {
    visitor.get("/");
    expect(to(next)).toBe("/");
  }
});

it("signing in gives another cookie, which neither scripts nor other sites can use", () => {
  const visitor = new Visitor(shop.core);
  visitor.get("/");
  const before = visitor.cookie;
  const { headers } = visitor.postOnly("/app/sign-in", { account: "acc-ana" });
  expect(headers["set-cookie"]).toMatch(/^compute_console=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/);
  expect(visitor.cookie).not.toBe(before);
});

it("signing in at another port of the host, where browsers send all cookies of both, leaves the session as it is", () => {
  const [one, other] = [8090, 8091].map((port) =>
    new Visitor(shop.core, { headers: { host: `localhost:${port}` } }).signIn("acc-ana"),
  );
  const cookie = `${one?.cookie}; ${other?.cookie}`;
  expect(other?.postOnly("/app/sign-out", {}, { cookie }).headers["set-cookie"]).toMatch(/^compute_console_8091=;/);
  expect([one, other].map((visitor) => visitor?.get("/app/keys", { cookie }).status)).toEqual([200, 401]);
});

it("signing in over TLS gives a cookie that never travels in clear, and takes none that another host could have set", () => {
  const visitor = new Visitor(shop.core, { encrypted: true }).signIn("acc-ana");
  const own = /^__Host-compute_console=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax; Secure/;
  expect(visitor.cookie).toMatch(/^__Host-compute_console=/);
  const tossed = new Visitor(shop.core, { encrypted: true });
  const inClear = signedIn();
  tossed.cookie = inClear.cookie;
  expect([inClear.get("/app/keys").status, tossed.get("/app/keys").status]).toEqual([200, 401]);
  const { headers } = new Visitor(shop.core, { encrypted: true }).get("/");
  expect(headers["set-cookie"]).toMatch(own);
  expect(visitor.postOnly("/app/sign-out").headers["set-cookie"]).toBe(
    "__Host-compute_console=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0",
  );
});

it("signing in through a proxy that ends TLS gives a cookie that never travels in clear", () => {
  expect(cookieThroughProxy("https")).toMatch(
    /^compute_console=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  );
});

it("signing in through a proxy without TLS gives a cookie that a browser sends back", () => {
  expect(cookieThroughProxy("http")).toMatch(/^compute_console=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax$/);
});

function cookieThroughProxy(scheme: string): string | undefined {
  const host = "computes.example";
  const visitor = new Visitor(shop.core, { headers: { host, "x-forwarded-for": "10.0.0.7" } });
  visitor.get("/");
  return visitor.postOnly("/app/sign-in", { key: keys.bob }, { origin: `${scheme}://${host}` }).headers["set-cookie"];
}

it.each([
  ["a form of another site", "POST", { "sec-fetch-site": "cross-site", "sec-fetch-dest": "document" }],
  ["a form of another origin in an old browser", "POST", { origin: "http://evil.example" }],
  ["a frame of another site", "GET", { "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe" }],
  ["a picture of another site", "GET", { "sec-fetch-site": "cross-site", "sec-fetch-dest": "image" }],
])("signing in is not undone by %s, which comes without the cookie and is given none", (_, method, headers) => {
  const visitor = new Visitor(shop.core);
  const seen = method === "POST" ? visitor.postOnly("/app/sign-out", {}, headers) : visitor.get("/", headers);
  expect([seen.headers["set-cookie"], seen.html.includes("Sign out")]).toEqual([undefined, false]);
});

it("signing in begins with a cookie also where a link of another site leads here", () => {
  const visitor = new Visitor(shop.core);
  visitor.get("/app/keys", { "sec-fetch-site": "cross-site", "sec-fetch-dest": "document" });
  expect(visitor.post("/app/sign-in", { account: "acc-ana", next: "/app/keys" }).status).toBe(200);
});

it("signing in lasts for twelve hours, or until the person signs out", () => {
  const [ana, bob] = [signedIn("acc-ana"), signedIn("acc-bob")];
  const stolen = bob.cookie;
  bob.post("/app/sign-out");
  bob.cookie = stolen;
  expect(bob.get("/app/keys").status).toBe(401);
  shop.time.pass(sessionLength - 1);
  expect(ana.get("/app/keys").status).toBe(200);
  shop.time.pass(1);
  expect(ana.get("/app/keys").status).toBe(401);
});

it("a form that comes after the end of the session changes nothing", () => {
  const ana = signedIn();
  shop.time.pass(sessionLength);
  const seen = ana.post(change, larger);
  expect([seen.status, problemIn(seen)]).toEqual([401, expect.stringContaining("Your session has ended")]);
  expect(largest()).toBe(1);
});

describe("a form that the person did not send from a page of theirs", () => {
  it.each([
    ["without a token", () => ""],
    ["with a made-up token", () => "A".repeat(43)],
    ["with the token of somebody else's session", () => signedIn("acc-eve").token],
    ["with the token of the same person's other session", () => signedIn().token],
  ])("%s changes nothing", (_, token) => {
    const ana = signedIn();
    const seen = ana.post(change, { ...larger, token: token() });
    expect([seen.status, problemIn(seen)]).toEqual([403, expect.stringContaining("not from a page of your session")]);
    expect(largest()).toBe(1);
  });

  it.each([
    [{ origin: "http://evil.example" }],
    [{ origin: "http://localhost:3000" }],
    [{ origin: "null" }],
    [{ "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-site" }],
  ])("a form with %o changes nothing, even with the right token", (headers) => {
    const ana = signedIn();
    const seen = ana.post(change, larger, headers);
    expect([seen.status, problemIn(seen)]).toEqual([403, expect.stringContaining("another site")]);
    expect(largest()).toBe(1);
  });

  it("cannot sign anybody in either", () => {
    const visitor = new Visitor(shop.core);
    visitor.get("/");
    expect(visitor.post("/app/sign-in", { account: "acc-eve", token: "" }).status).toBe(403);
    expect(visitor.get("/app/keys").status).toBe(401);
  });

  it("a form sent as text, as pages of other sites can send it, is no form", () => {
    const ana = signedIn();
    expect(ana.post(change, larger, { "content-type": "text/plain" }).status).toBe(403);
    expect(largest()).toBe(1);
  });

  it("a form from the page itself is let through", () => {
    signedIn().post(change, larger, { origin: "http://localhost", "sec-fetch-site": "same-origin" });
    expect(largest()).toBe(2);
  });
});

it("users' text stands on every page as text", () => {
  shop.applySeed({
    accounts: [{ id: "acc-mal", email: "mal@example.com", name: attack }],
    organizations: [{ id: "org-mal", name: attack, members: [{ account: "acc-mal", role: "admin" }] }],
    projects: [{ id: "mal", name: attack, owner: "org-mal", branches: [{ id: "br-mal", name: attack }] }],
  });
  const front = new Visitor(shop.core).get("/");
  const mal = signedIn("acc-mal");
  const made = mal.post("/app/keys", { name: attack });
  const pages = [
    front,
    made,
    mal.post("/app/organizations/org-mal/keys", { name: attack, project: "mal" }),
    ...["/", "/app/keys", "/app/projects/mal", "/app/projects/mal/branches/br-mal"].map((path) => mal.get(path)),
    mal.get(`/?search=${encodeURIComponent(attack + attack)}`),
    mal.post("/app/sign-in", { account: attack }),
  ];
  for (const page of pages) {
    expect(page.html.match(/<script/g)).toHaveLength(1);
    expect(page.html).toMatch(ownScript);
    expect(textOf(page)).toContain(attack);
  }
});

it("text is escaped wherever a template puts it", () => {
  expect(html`<a title="${attack}">${[attack, html`<b>${1}</b>`]}</a>${undefined}${false}`.toString()).toBe(
    '<a title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;">' +
      "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;<b>1</b></a>",
  );
  expect(html`x`).toBeInstanceOf(Html);
});

it("every page allows no script but its own file, no frame and no foreign form, and is not kept by the browser", () => {
  const ana = signedIn();
  const pages = ["/", "/app/keys", `/app/projects/${project}`, "/app/nowhere", "/app/projects/none", "/app/%zz"];
  for (const path of pages) {
    const { headers, html: page } = ana.get(path);
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect([headers["cache-control"], headers["x-content-type-options"]]).toEqual(["no-store", "nosniff"]);
    expect(page.replace(ownScript, "")).not.toMatch(/<script|style=|onclick/);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
  }
});

it("a page that does not exist is not found, in words", () => {
  const seen = signedIn().get("/app/nowhere");
  expect([seen.status, problemIn(seen)]).toEqual([404, expect.stringContaining("Page not found.")]);
});

it.each([
  ["stylesheet", /<link rel="stylesheet" href="([^"]+)">/, "text/css; charset=utf-8"],
  ["script", /<script src="([^"]+)" defer>/, "text/javascript; charset=utf-8"],
])("every page has one %s, which the browser keeps", (_, reference, type) => {
  const visitor = new Visitor(shop.core);
  const path = reference.exec(visitor.get("/").html)?.[1] ?? "";
  const { status, headers } = visitor.get(path);
  expect([status, headers["content-type"]]).toEqual([200, type]);
  expect(headers["cache-control"]).toContain("immutable");
});

it.each(["PUT", "DELETE", "PATCH", "TRACE"])("no page, form or file answers %s, signed in or not", (method) => {
  const paths = ["/", "/app/projects", "/app/sign-in", script.path, stylesheet.path];
  const { cookie = "" } = signedIn();
  const answers = paths.flatMap((path) => [{}, { cookie }].map((headers) => shop.core.call({ method, path, headers })));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  expect(answers.every(({ headers }) => !("set-cookie" in headers))).toBe(true);
});

it("the files of the pages take no form", () => {
  expect(new Visitor(shop.core).postOnly(script.path).status).toBe(403);
});

it("every page leaves the paths of the API alone", () => {
  expect(shop.core.call({ method: "GET", path: "/projects" }).headers["content-type"]).toContain("application/json");
});
