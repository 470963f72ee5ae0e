import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { customResourceDefinitions } from "../../src/operator/resources/crd.ts";
import { commandsOf } from "../docs/blocks.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { needsTools, runTool } from "../tools/tools.ts";
import { OciRegistry } from "./oci-registry.ts";
import { chart, installNamespace } from "./render.ts";

needsTools("helm");

const metadata = z
  .object({
    name: z.string(),
    version: z.string(),
    appVersion: z.string(),
    annotations: z.record(z.string(), z.string()),
  })
  .parse(parse(readFileSync(join(chart, "Chart.yaml"), "utf8")));

const directory = temporaryDirectory("chart");
let registry: OciRegistry;
beforeAll(async () => {
  registry = await OciRegistry.start();
});
afterAll(async () => {
  directory.remove();
  await registry?.[Symbol.asyncDispose]();
});

async function helm(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runTool("helm", args);
  if (status !== 0) throw new Error(stderr);
  return `${stdout}${stderr}`;
}

describe("the chart's metadata", () => {
  it("names the version of the package", () => {
    const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync("package.json", "utf8")));
    expect(metadata).toMatchObject({ version, appVersion: version });
  });

  it("lists every definition that it installs", () => {
    const listed: unknown = parse(metadata.annotations["artifacthub.io/crds"] ?? "");
    const defined = customResourceDefinitions().map(({ metadata: { name }, spec: { names, versions } }) => {
      return { kind: names.kind, version: versions[0].name, name };
    });
    expect(listed).toMatchObject(defined);
  });
});

it("the chart is packaged, pushed to a registry and rendered from there as its README says, the same as from the clone", async () => {
  const own = (word: string) => word.replace("registry.example.com/charts", `${registry.host}/charts`);
  const [, ...commands] = commandsOf(join(chart, "README.md"));
  expect(commands.map((line) => line.split(" ", 2).join(" "))).toEqual(["helm package", "helm push", "helm install"]);
  const [pack = "", push = "", install = ""] = commands;

  const words = (line: string) => line.split(" ").slice(1).map(own);
  expect(await helm(...words(pack), "--destination", directory.path)).toContain(`${metadata.version}.tgz`);
  const archive = push.split(" ")[2] ?? "";
  const pushing = words(push).map((word) => (word === archive ? join(directory.path, archive) : word));
  expect(await helm(...pushing, "--plain-http")).toContain("Pushed");
  expect(registry.tags(`charts/${metadata.name}`)).toEqual([metadata.version]);

  const [, release = "", from = "", ...options] = words(install);
  expect(from).toBe(`oci://${registry.host}/charts/${metadata.name}`);
  const rendering = options.filter((option) => option !== "--create-namespace");
  const { stdout, stderr } = await runTool("helm", ["template", release, from, ...rendering, "--plain-http"]);
  const same = rendering.filter((option) => option !== "--version" && option !== metadata.version);
  const { stdout: fromClone } = await runTool("helm", ["template", release, chart, ...same]);
  expect(stderr).not.toContain("Error");
  expect(fromClone).toContain(`namespace: ${installNamespace}`);
  expect(stdout).toBe(fromClone);
});
