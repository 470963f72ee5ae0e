import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { type ControlPlane, startControlPlane } from "../control-plane/control-plane.ts";
import { runKubectl } from "../control-plane/kubectl.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { chart } from "./render.ts";

needsTools("helm");

let cluster: ControlPlane;
const directory = temporaryDirectory("image-registry");
beforeAll(async () => {
  cluster = await startControlPlane();
});
afterAll(async () => {
  directory.remove();
  await cluster?.stop();
});

const run = (...args: readonly string[]) => runKubectl(args, cluster.admin);
const applied = (of: string) => run("apply", "-k", of);

describe("an image without a registry, which no node could pull", () => {
  const warning =
    "the image compute-operator:0.1.0 names no registry, so that nodes cannot pull it: push it to a registry";

  it("an image without a registry makes kubectl apply warn once the policy is in effect, with what to set, and is installed", async () => {
    // The API server reads policies once a second: an apply that takes less makes the Deployment before it.
    const said = await eventually("kubectl apply to warn", async () => {
      const { status, stderr, stdout } = await applied("deploy");
      expect(stdout).toContain("deployment.apps/compute-operator created");
      expect(status).toBe(0);
      if (stderr.includes(warning)) return stderr;
      await run("delete", "deployment", "compute-operator", "-n", "compute-operator-system");
      return undefined;
    });
    expect(said).toContain("under `images` of your kustomization (docs/install.md)");
  });

  it("an image with a registry in the kustomization makes no warning", async () => {
    const own = join(directory.path, "own");
    mkdirSync(own);
    const images = [{ name: "compute-operator", newName: "registry.example.com/compute-operator" }];
    const resources = [relative(own, "deploy")];
    writeFileSync(join(own, "kustomization.yaml"), stringify({ resources, images }));
    const { status, stderr, stdout } = await applied(own);
    rmSync(own, { recursive: true });
    expect(stdout).toContain("deployment.apps/compute-operator configured");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("an image without a registry is named by the notes of the chart with the value to set, and only there where it is not set", async () => {
    const notes = async (...values: readonly string[]) => {
      const args = ["install", "compute-operator", chart, "--dry-run=client", ...values];
      const { status, stdout } = await runTool("helm", args);
      expect(status).toBe(0);
      return stdout.slice(stdout.indexOf("NOTES:"));
    };
    expect(await notes()).toContain("The image compute-operator:0.1.0 names no registry");
    expect(await notes()).toContain("--set image.registry=registry.example.com");
    for (const value of ["image.registry=registry.example.com", "image.repository=ours/compute-operator"]) {
      expect(await notes("--set", value)).not.toContain("names no registry");
    }
  });
});
