import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestIn, digestOf, pictures, sizeOf, stage, width, withDigest } from "./pictures.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const pages = ["README.md", "docs/service.md"].map((page) => readFileSync(join(root, page), "utf8")).join("\n");

describe("the pictures of the console in the documentation", () => {
  const service = stage();

  it.each(pictures)("$file is as new as the page that it shows; if not: npm run generate -- console", (picture) => {
    const png = readFileSync(join(root, "docs", "images", picture.file));
    expect(digestIn(png)).toBe(digestOf(picture, service));
    expect(sizeOf(png)).toEqual({ width, height: picture.height });
    expect(pages).toContain(`images/${picture.file})`);
  });

  it("the pictures show the same service each time", () => {
    expect(pictures.map((picture) => digestOf(picture, stage()))).toEqual(
      pictures.map((picture) => digestOf(picture, service)),
    );
  });

  it("differ in what they show when the service does", () => {
    const other = stage();
    other.time.pass(3_600_000);
    for (const picture of pictures) expect(digestOf(picture, other)).not.toBe(digestOf(picture, service));
  });
});

it("a picture has the digest that it was given, and one of another origin none", () => {
  const header = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(25), Buffer.from("rest")]);
  expect(digestIn(header)).toBeUndefined();
  const digest = "0f".repeat(32);
  expect(digestIn(withDigest(header, digest))).toBe(digest);
});
