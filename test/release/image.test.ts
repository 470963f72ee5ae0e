import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeImage } from "../../scripts/release/image.ts";
import type { Making } from "../../scripts/release/making.ts";
import type { Run } from "../../scripts/release/programs.ts";
import { OciRegistry } from "../deploy/oci-registry.ts";
import { temporaryDirectory } from "../support/guardian.ts";

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("release-image");
});
afterEach(() => directory.remove());

const making = (): Making => ({
  registry: "registry.example.com",
  output: directory.path,
  staging: join(directory.path, ".staging"),
  version: "1.2.3",
  commit: { id: "c".repeat(40), time: new Date(1_700_000_000_000), changed: [] },
  uncommitted: false,
});

const indexType = "application/vnd.oci.image.index.v1+json";
const file = "compute-operator-image-1.2.3.oci.tar";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Writes the layout of an image as a builder does, with its platforms in this order. */
function built(layout: string, architectures: readonly string[]): void {
  const blobs = join(layout, "blobs", "sha256");
  mkdirSync(blobs, { recursive: true });
  const written = (text: string, mediaType: string) => {
    writeFileSync(join(blobs, sha256(text)), text);
    return { mediaType, digest: `sha256:${sha256(text)}`, size: text.length };
  };
  const manifests = architectures.map((architecture) => ({
    ...written(`{"of":"${architecture}"}`, "application/vnd.oci.image.manifest.v1+json"),
    platform: { architecture, os: "linux" },
  }));
  const index = { schemaVersion: 2, mediaType: indexType, manifests };
  const top = {
    ...written(JSON.stringify(index), indexType),
    annotations: { "example.com/built": architectures.join() },
  };
  writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests: [top] }));
}

/** A machine with these programs. Remembers the commands and the Dockerfile that they were given. */
function machine(programs: readonly string[], architectures: readonly string[] = ["amd64", "arm64"]) {
  const commands: string[] = [];
  const dockerfiles: string[] = [];
  const run: Run = (program, args) => {
    if (!programs.includes(program)) return Promise.resolve(undefined);
    commands.push([program, ...args].join(" "));
    const path = join(directory.path, ".staging", "Dockerfile");
    if (existsSync(path)) {
      dockerfiles.push(readFileSync(path, "utf8"));
      built(join(directory.path, ".staging", "layout"), architectures);
    }
    return Promise.resolve({ status: 0, stdout: "", stderr: "" });
  };
  return { run, commands, dockerfiles };
}

describe("the image of a release", () => {
  it("the image is not made without a builder, and each that could have made it is named with the reason", async () => {
    const run: Run = (program) =>
      Promise.resolve(program === "docker" ? { status: 1, stdout: "", stderr: "x\nno daemon answers\n" } : undefined);
    const missing =
      "no builder can be used (docker buildx: no daemon answers; buildctl: not on the PATH; podman: not on the PATH; buildah: not on the PATH). Install one of them and run this again";
    expect(await makeImage(making(), "FROM base\n", run)).toEqual({ missing });
  });

  it.each([
    ["docker", "docker buildx build"],
    ["buildctl", "buildctl build"],
    ["podman", "podman build"],
    ["buildah", "buildah build"],
  ])(
    "the image is built by %s for both platforms, with the time of the commit, into one archive",
    async (program, build) => {
      const { run, commands, dockerfiles } = machine([program]);
      expect(await makeImage(making(), "FROM base@sha256:1\n", run)).toEqual({ file });
      const [command = ""] = commands.filter((line) => line.startsWith(build));
      expect(command).toContain("platform=linux/amd64,linux/arm64");
      expect(command).toContain("1700000000");
      expect(commands.join("\n")).toContain("registry.example.com/compute-operator:1.2.3");
      expect(commands.join("\n")).toContain(join(directory.path, ".staging", "layout"));
      expect(readdirSync(directory.path)).toEqual([file]);
      expect(dockerfiles[0]).toBe("FROM base@sha256:1\n");
    },
  );

  it("the image has the same bytes whatever the order in which a builder lists the platforms, and is one image for both", async () => {
    const archives = [];
    for (const order of [
      ["arm64", "amd64"],
      ["amd64", "arm64"],
    ]) {
      await makeImage(making(), "FROM base\n", machine(["buildah"], order).run);
      archives.push(readFileSync(join(directory.path, file)));
    }
    expect(archives[1]?.equals(archives[0] ?? Buffer.alloc(0))).toBe(true);
    const layout = join(directory.path, "unpacked");
    mkdirSync(layout);
    execFileSync("tar", ["-xf", join(directory.path, file), "-C", layout]);
    await using registry = await OciRegistry.start();
    registry.load("compute-operator", layout);
    const answer = await fetch(`http://${registry.host}/v2/compute-operator/manifests/1.2.3`);
    expect(await answer.json()).toMatchObject({
      manifests: [{ platform: { architecture: "amd64" } }, { platform: { architecture: "arm64" } }],
    });
  });

  it("the image is refused where a builder wrote an image of one platform only", async () => {
    const manifest = { mediaType: "application/vnd.oci.image.manifest.v1+json", digest: "sha256:0" };
    const { run } = machine(["buildah"]);
    const single: Run = async (program, args) => {
      const ended = await run(program, args);
      const layout = join(directory.path, ".staging", "layout");
      if (existsSync(layout)) writeFileSync(join(layout, "index.json"), JSON.stringify({ manifests: [manifest] }));
      return ended;
    };
    await expect(makeImage(making(), "FROM base\n", single)).rejects.toThrow("and not one for all platforms");
  });

  it("the image is built by the first builder only", async () => {
    const { run, commands } = machine(["podman", "buildah"]);
    await makeImage(making(), "FROM base\n", run);
    expect(commands.filter((line) => line.startsWith("buildah"))).toEqual([]);
  });

  it("fails with the last line of a builder that is there and cannot build it", async () => {
    const run: Run = (program, args) => {
      if (program !== "buildah") return Promise.resolve(undefined);
      const status = args[0] === "build" ? 125 : 0;
      return Promise.resolve({ status, stdout: "", stderr: "pulling\nno such image\n" });
    };
    await expect(makeImage(making(), "FROM base\n", run)).rejects.toThrow(
      "buildah cannot build the image: no such image",
    );
  });
});
