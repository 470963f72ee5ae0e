import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { baseImagesOf, pinned, resolved } from "../../scripts/release/base-images.ts";
import type { Run } from "../../scripts/release/programs.ts";
import { withoutService } from "../../scripts/release/release.ts";

const digest = `sha256:${"a".repeat(64)}`;
const ended = (stdout: string, status = 0) => Promise.resolve({ status, stdout, stderr: "" });
const none: Run = () => Promise.resolve(undefined);

describe("the images that a Dockerfile is based on", () => {
  it("the base images of a Dockerfile are those of its stages, each once, without its own stages", () => {
    const dockerfile =
      "FROM node:24 AS node\nFROM --platform=$BUILDPLATFORM node:24 AS build\nFROM node AS data\nFROM base:1\n";
    expect(baseImagesOf(dockerfile)).toEqual(["node:24", "base:1"]);
  });

  it("the base images of this repository's operator are two", () => {
    const names = baseImagesOf(withoutService(readFileSync("Dockerfile", "utf8")));
    expect(names).toEqual([expect.stringMatching(/^node:24/), "gcr.io/distroless/cc-debian12:nonroot"]);
  });

  it("stay as they are named where no program can ask their registries", async () => {
    expect(await resolved(["base:1"], none)).toEqual([{ name: "base:1", digest: undefined }]);
    expect(pinned("FROM base:1\n", [{ name: "base:1", digest: undefined }])).toBe("FROM base:1\n");
  });

  it("the base images are pinned by the digest in every stage that names them, and nothing else is", () => {
    const dockerfile = "FROM base:1 AS a\nFROM --platform=$BUILDPLATFORM base:1 AS b\nFROM other:1\nCOPY base:1 .\n";
    expect(pinned(dockerfile, [{ name: "base:1", digest }])).toBe(
      `FROM base:1@${digest} AS a\nFROM --platform=$BUILDPLATFORM base:1@${digest} AS b\nFROM other:1\nCOPY base:1 .\n`,
    );
  });
});

describe("the digest of an image is asked", () => {
  it("the digest of an image is asked of crane first", async () => {
    const run: Run = (program, args) => (program === "crane" ? ended(`${digest}\n`) : none(program, args));
    expect(await resolved(["base:1"], run)).toEqual([{ name: "base:1", digest }]);
  });

  it("the digest of an image is asked of skopeo as the sum of the manifest's own bytes", async () => {
    const raw = '{"schemaVersion":2}\n';
    const run: Run = (program, args) => (program === "skopeo" ? ended(raw) : none(program, args));
    const sum = createHash("sha256").update(raw).digest("hex");
    expect(await resolved(["base:1"], run)).toEqual([{ name: "base:1", digest: `sha256:${sum}` }]);
  });

  it("the digest of an image is asked of the next program where one fails or answers something else", async () => {
    const run: Run = (program) => {
      if (program === "crane") return ended("an error page");
      return program === "skopeo" ? ended("", 1) : ended(digest);
    };
    expect(await resolved(["base:1"], run)).toEqual([{ name: "base:1", digest }]);
  });
});
