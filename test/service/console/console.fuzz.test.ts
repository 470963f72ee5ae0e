import * as fc from "fast-check";
import { expect, it } from "vitest";
import { main, primary, project, Shop } from "../support/shop.ts";
import { Visitor } from "./visitor.ts";

const marker = `"'><i>`;
const text = fc.oneof(fc.string({ unit: "binary", maxLength: 80 }), fc.constant(marker), fc.constant("-1"));
const part = fc.oneof(text, fc.constantFrom(project, main, primary, "org-shop", "acc-ana", "1", "2"));
const path = fc.oneof(
  fc.constantFrom("/", "/app/keys", "/app/sign-in", `/app/projects/${project}/branches/${main}`),
  fc
    .tuple(
      fc.constantFrom("projects/@", "projects/@/branches/@", "keys/@/revoke", "organizations/@/keys/@/revoke", "@"),
      fc.infiniteStream(part),
    )
    .map(([template, parts]) => `/app/${template.replaceAll("@", () => encodeURIComponent(parts.next().value))}`),
);
const names = [
  "compute",
  "shown",
  "min",
  "max",
  "suspend",
  "name",
  "project",
  "next",
  "key",
  "account",
  "page",
  "search",
  "seconds",
];
const fields = fc.dictionary(fc.oneof(fc.constantFrom(...names), text), part, { maxKeys: 6 });

it("whatever is asked for or sent, the console answers with a page of its own, with what was written as text", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), path, fields), { minLength: 1, maxLength: 10 }), (requests) => {
      const shop = new Shop();
      const ana = new Visitor(shop.core).signIn("acc-ana");
      for (const [sends, target, given] of requests) {
        const query = new URLSearchParams(given).toString();
        const seen = sends ? ana.postOnly(target, given) : ana.get(`${target}?${query}`);
        expect(seen.status).toBeLessThan(500);
        expect(seen.headers["content-type"] ?? "redirect").toMatch(/^(text\/html; charset=utf-8|redirect)$/);
        expect(seen.html).not.toContain(marker);
        expect(seen.headers["location"] ?? "/").toMatch(/^\/(?![/\\])[\x21-\x7e]*$/);
      }
      expect(shop.errors).toEqual([]);
      shop.core.close();
    }),
    { numRuns: 150 },
  );
});
