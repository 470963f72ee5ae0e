import { expect, it } from "vitest";
import { Router } from "../../../src/service/http/router.ts";

const paths = ["/a/{x}", "/{y}/b", "/a/b", "/{y}/{x}", "/a/b/{z}"];
const routes = paths.map((path) => ({ method: "GET", path }));

it.each([routes, routes.toReversed()])(
  "a literal part comes before a parameter, in whatever order routes are listed",
  (...listed) => {
    const router = new Router(listed);
    const found = ["/a/b", "/a/c", "/c/b", "/c/d", "/a/b/c"].map((path) => router.match("GET", path)?.route.path);
    expect(found).toEqual(["/a/b", "/a/{x}", "/{y}/b", "/{y}/{x}", "/a/b/{z}"]);
  },
);

it.each(["/a", "/", "", "/a/", "/a/b/", "/a/b/c/d", "//b", "/a//c", "/a/%", "/a/%zz"])("%j is no route", (path) => {
  expect(new Router(routes).match("GET", path)).toBeUndefined();
});

it("a parameter may be percent-encoded, a literal part may not, and a method is one of the route", () => {
  const router = new Router(routes);
  expect(router.match("GET", "/a/c%2fd%20e")?.params).toEqual({ x: "c/d e" });
  expect(router.match("GET", "/%61/c")).toMatchObject({ route: { path: "/{y}/{x}" }, params: { y: "a", x: "c" } });
  expect(router.match("POST", "/a/b")).toBeUndefined();
});
