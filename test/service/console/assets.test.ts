import { expect, it } from "vitest";
import { assetOf } from "../../../src/service/console/assets.ts";

it.each([
  ["css", "text/css; charset=utf-8"],
  ["js", "text/javascript; charset=utf-8"],
] as const)(
  "a file of type %s is served as %s under a path of its own content, which browsers keep for a year",
  (type, contentType) => {
    const { path, reply } = assetOf(type, "one {}");
    expect(path).toMatch(new RegExp(`^/app/console-[0-9a-f]{8}\\.${type}$`));
    expect(assetOf(type, "other {}").path).not.toBe(path);
    expect(reply).toEqual({
      status: 200,
      headers: {
        "content-type": contentType,
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
      },
      body: "one {}",
    });
  },
);
