import { beforeEach, describe, expect, it } from "vitest";
import { sessionLength } from "../../../src/service/console/sessions.ts";
import { main, primary, project, Shop } from "../support/shop.ts";
import { problemIn, Visitor } from "./visitor.ts";

const projectPath = `/app/projects/${project}`;
const branchPath = `${projectPath}/branches/${main}`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  date: expect.any(String),
};

it.each([
  ["a page", () => ana.get("/"), 200],
  ["the sign-in page", () => new Visitor(shop.core, { remote: "10.0.0.7" }).get("/app/keys"), 401],
  ["a page that does not exist", () => ana.get("/app/nowhere"), 404],
  ["a refused form", () => ana.post(`${branchPath}/reset`), 422],
  ["a form of another site", () => ana.post(branchPath, {}, { origin: "http://evil.example" }), 403],
])("%s has every header that keeps other sites out and the page out of caches", (_, seenNow, status) => {
  const seen = seenNow();
  const { "set-cookie": _cookie, ...headers } = seen.headers;
  expect([seen.status, headers]).toEqual([status, pageHeaders]);
});

it("a redirect is kept by no cache", () => {
  const { status, headers } = ana.postOnly(`${branchPath}/computes`, { type: "read_only", size: "1" });
  expect([status, headers]).toEqual([
    303,
    { location: branchPath, "cache-control": "no-store", date: expect.any(String) },
  ]);
});

describe("a refusal says what to do", () => {
  it("to a form of another site", () => {
    expect(problemIn(ana.post(branchPath, {}, { origin: "null" }))).toBe(
      "Refused This form was sent from another site. Nothing was changed.",
    );
  });

  it("to a form without the session's token", () => {
    expect(problemIn(ana.post(branchPath, { token: "" }))).toBe(
      "Refused This form is not from a page of your session: that may have ended, or the browser keeps no cookies. Nothing was changed. Open the page again, and repeat it there.",
    );
  });

  it("to a form after the end of the session", () => {
    shop.time.pass(sessionLength);
    expect(problemIn(ana.post(branchPath))).toBe("Your session has ended Nothing was changed.");
  });

  it("where the service fails", () => {
    shop.core.context.ids = {
      ...shop.core.context.ids,
      secret: () => {
        throw new Error("the inner workings");
      },
    };
    expect(problemIn(ana.post("/app/keys", { name: "desk" }))).toMatch(
      /^Something went wrong here The service could not do this, through no fault of yours\. Its log says why \(request [0-9a-f-]+\)\. Nothing was changed\. Try again\.$/,
    );
  });
});

describe("the body of a form", () => {
  const roomOf = (call: { method?: string; headers?: Readonly<Record<string, string>>; remote?: string }) =>
    shop.core.bodyRoom({ method: "POST", path: "/app/keys", ...call });

  it("a form of somebody who is signed in has the room of the account", () => {
    expect(roomOf({ headers: { cookie: ana.cookie ?? "" }, remote: "10.0.0.7" })).toEqual({
      holder: "acc-ana",
      longest: 262_144,
    });
  });

  it.each([
    ["without a cookie", {}],
    ["with a cookie without a session", { cookie: `compute_console=${"a".repeat(64)}` }],
  ])("a form %s has the room of a stranger's address", (_, headers) => {
    expect(roomOf({ headers, remote: "10.0.0.7" })).toEqual({ holder: "10.0.0.7", longest: 10_000 });
    expect(roomOf({ headers })).toEqual({ holder: "127.0.0.1", longest: 10_000 });
  });

  it("a form after the end of the session has the room of a stranger's address", () => {
    shop.time.pass(sessionLength);
    expect(roomOf({ headers: { cookie: ana.cookie ?? "" }, remote: "10.0.0.7" })).toEqual({
      holder: "10.0.0.7",
      longest: 10_000,
    });
  });

  it.each([
    ["of a GET", "GET", {}],
    ["of a page of another site", "POST", { origin: "http://evil.example", host: "localhost:8090" }],
    ["that the browser says is from elsewhere", "POST", { "sec-fetch-site": "cross-site" }],
  ])("a body %s has no room, signed in or not", (_, method, headers) => {
    expect(roomOf({ method, headers })).toBeUndefined();
    expect(roomOf({ method, headers: { ...headers, cookie: ana.cookie ?? "" } })).toBeUndefined();
  });
});

it.each([
  ["/", true],
  ["/app/computes", true],
  ["/app/projects", true],
  [projectPath, true],
  [`${projectPath}/operations`, true],
  [branchPath, true],
  [`${branchPath}/roles`, true],
  [`${branchPath}/computes/${primary}`, true],
  ["/app/keys", false],
])("the page %s follows the service's changes: %s", (path, follows) => {
  expect(/<main [^>]*data-changes="\d+"/.test(ana.get(path).html)).toBe(follows);
});

it.each([
  ["/", "/"],
  [branchPath, "/app/projects"],
  ["/app/projects", "/app/projects"],
  ["/app/computes", "/app/computes"],
  ["/app/computes/none", "/app/computes"],
  ["/app/keys", "/app/keys"],
  ["/app/keys/none", "/app/keys"],
])("the menu of the page %s marks %s alone as its place", (path, place) => {
  const marked = [...ana.get(path).html.matchAll(/<a href="([^"]+)" aria-current="page"/g)].map(([, to]) => to);
  expect(marked).toEqual([place]);
});
