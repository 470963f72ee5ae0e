import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { findBinaries } from "../control-plane/binaries.ts";
import { OciRegistry } from "../deploy/oci-registry.ts";
import { chart, deploymentsOf, installNamespace, objectsOf } from "../deploy/render.ts";
import { commandsOf } from "../docs/blocks.ts";
import { cachedPackages } from "../support/cached-npm.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { type ProgramResult, runProgram } from "../support/run-program.ts";
import { needsTools, pathOf, runTool } from "../tools/tools.ts";

needsTools("actionlint", "helm", "krew");

const { version } = manifest;
const registry = "registry.example.com/databases";
const directory = temporaryDirectory("release");
const first = join(directory.path, "first");
const second = join(directory.path, "deeper", "second");

/** What a release holds on a machine without a builder of images. */
const files = [
  `compute-operator-${version}.sbom.cdx.json`,
  `compute-operator-${version}.tgz`,
  `compute-operator-chart-${version}.oci.tar`,
  `compute-operator-chart-${version}.tgz`,
  "compute-operator.krew.yaml",
  "install.yaml",
  "provenance.json",
];

/** Node, git and nothing else that this machine may have: no builder of images, no kubectl. */
const programs = join(directory.path, "programs");

/** Runs the script of `npm run release`. The tests are run before a change is committed, too. */
function release(...flags: readonly string[]): Promise<ProgramResult> {
  const env = { ...process.env, PATH: programs };
  return runProgram(process.execPath, ["scripts/release/main.ts", "--uncommitted", ...flags], { env });
}

let made: ProgramResult;
beforeAll(async () => {
  mkdirSync(programs);
  const git = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  execFileSync("ln", ["-s", git, process.execPath, programs]);
  await findBinaries();
  made = await release("--registry", registry, "--output", first);
});
afterAll(() => directory.remove());

describe("a release", () => {
  it("holds the manifests, the chart, the package, what they are made of, and the sums of all", () => {
    expect(made).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(first).toSorted()).toEqual(["SHA256SUMS", ...files].toSorted());
    for (const file of files) expect(made.stdout).toContain(`  ${file}\n`);
  });

  it("without a builder says which could make the image, and which base images it could not resolve", () => {
    expect(made.stdout).toContain("docker buildx: not on the PATH; buildctl: not on the PATH; podman: not on the PATH");
    expect(made.stdout).toMatch(/^Not resolved to a digest: node:24\S+, gcr\.io\/distroless\/\S+\. crane, skopeo or/m);
  });

  it("fails without a builder where the image is required, and makes the rest", async () => {
    const other = join(directory.path, "required");
    expect((await release("--registry", registry, "--output", other, "--require-image")).status).toBe(1);
    expect(readdirSync(other)).toContain("install.yaml");
  });

  it("a release has the same bytes in a second run in another directory", async () => {
    expect((await release("--registry", registry, "--output", second)).status).toBe(0);
    const sums = (at: string) => readFileSync(join(at, "SHA256SUMS"), "utf8");
    expect(sums(second)).toBe(sums(first));
    for (const file of files)
      expect(readFileSync(join(second, file)).equals(readFileSync(join(first, file)))).toBe(true);
  });

  it("leaves nothing of an earlier one in its directory", async () => {
    const sums = join(second, "SHA256SUMS");
    writeFileSync(join(second, "older.tgz"), "older");
    appendFileSync(sums, `${"0".repeat(64)}  older.tgz\n`);
    await release("--registry", registry, "--output", second);
    expect(readdirSync(second)).not.toContain("older.tgz");
  });

  it.each([
    [[], "--registry is missing: the chart and install.yaml name the image by it."],
    [["--registry", "https://registry.example.com"], '--registry "https://registry.example.com" is no registry'],
    [["--unknown"], "Unknown option '--unknown'"],
  ])("a release is refused with the flags %j", async (flags, message) => {
    const { status, stderr } = await release(...flags, "--output", join(directory.path, "refused"));
    expect(status).toBe(1);
    expect(stderr).toContain(message);
    expect(readdirSync(directory.path)).not.toContain("refused");
  });
});

describe("a release is checked", () => {
  const page = commandsOf("docs/install.md").filter((line) => /--verify|^sha256sum/.test(line));

  it("by the commands of docs/install.md: the sums alone, and by a second run", async () => {
    expect(page).toEqual(["sha256sum --check SHA256SUMS", "npm run release -- --verify dist"]);
    const { stdout } = await runProgram("sh", ["-c", `cd ${first} && ${page[0]}`]);
    expect(stdout).toBe(files.map((file) => `${file}: OK\n`).join(""));
    const [, flags = ""] = (page[1] ?? "").split(" -- ");
    const verified = await release(...flags.replace("dist", first).split(" "));
    expect(verified.stdout).toMatch(/^.* is what commit [0-9a-f]{40} makes\.$/m);
    expect(verified.stdout.match(/^same bytes {2}/gm)).toHaveLength(files.length);
    expect(verified.status).toBe(0);
  });

  it("and refused where bytes, a sum or the provenance are not those of the commit", async () => {
    const other = join(directory.path, "changed");
    execFileSync("cp", ["-r", first, other]);
    const manifests = join(other, "install.yaml");
    appendFileSync(manifests, "# changed\n");
    const changed = await release("--verify", other);
    expect(changed.stdout).toContain("install.yaml: its bytes are not those that SHA256SUMS names");
    expect(changed.status).toBe(1);
    const sums = readFileSync(join(other, "SHA256SUMS"), "utf8");
    const [sum = ""] = execFileSync("sha256sum", [manifests], { encoding: "utf8" }).split(" ");
    writeFileSync(join(other, "SHA256SUMS"), sums.replace(/^\w+(?= {2}install\.yaml)/m, sum));
    const forged = await release("--verify", other);
    expect(forged.stdout).toContain("install.yaml: SHA256SUMS and provenance.json name different sums");
    expect(forged.stdout).toContain("install.yaml: a second run from commit");
    expect(forged.status).toBe(1);
  });
});

describe("of a release", () => {
  it("the manifests are those of deploy, with the image of the registry", async () => {
    const { kubectl } = await findBinaries();
    const { stdout } = await runProgram(kubectl, ["kustomize", "deploy"]);
    const released = objectsOf(readFileSync(join(first, "install.yaml"), "utf8"));
    const image = `${registry}/compute-operator:${version}`;
    expect(deploymentsOf(released).map(({ spec }) => spec.template.spec.containers[0].image)).toEqual([image]);
    const own: unknown = JSON.parse(
      JSON.stringify(objectsOf(stdout)).replace(`"compute-operator:${version}"`, `"${image}"`),
    );
    // Only their order is kustomize's own.
    expect(released).toEqual(expect.arrayContaining(z.array(z.unknown()).parse(own)));
    expect(released).toHaveLength(objectsOf(stdout).length);
  });

  it("the chart is installed from its archive and from a registry as from the clone with the registry set", async () => {
    const layout = join(directory.path, "layout");
    mkdirSync(layout);
    execFileSync("tar", ["-xf", join(first, `compute-operator-chart-${version}.oci.tar`), "-C", layout]);
    await using pulled = await OciRegistry.start();
    pulled.load("charts/compute-operator", layout);
    const template = async (...from: readonly string[]) => {
      const args = ["template", "compute-operator", ...from, "--namespace", installNamespace];
      const { status, stdout, stderr } = await runTool("helm", args);
      expect({ status, stderr }).toMatchObject({ status: 0 });
      return stdout;
    };
    const fromClone = await template(chart, "--set", `image.registry=${registry}`);
    expect(fromClone).toContain(`image: ${registry}/compute-operator:${version}`);
    expect(await template(join(first, `compute-operator-chart-${version}.tgz`))).toBe(fromClone);
    const address = `oci://${pulled.host}/charts/compute-operator`;
    expect(await template(address, "--version", version, "--plain-http")).toBe(fromClone);
  });

  it("the package has the command, and depends on no other package", () => {
    const prefix = join(directory.path, "npm");
    const archive = join(first, `compute-operator-${version}.tgz`);
    execFileSync("npm", ["install", "--offline", "--global", "--prefix", prefix, archive], { stdio: "pipe" });
    const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter) };
    for (const command of ["compute-operator", "kubectl-compute_operator"]) {
      const said = execFileSync(join(prefix, "bin", command), ["--version"], { encoding: "utf8", env });
      expect(said).toBe(`compute-operator ${version}\n`);
    }
    expect(readdirSync(join(prefix, "lib", "node_modules"))).toEqual(["compute-operator"]);
  });

  it("the krew manifest installs the plugin of kubectl", async () => {
    const root = join(directory.path, "krew");
    const path = [join(root, "bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const env = { ...process.env, KREW_ROOT: root, PATH: path };
    const [plugin, archive] = ["compute-operator.krew.yaml", `compute-operator-${version}.tgz`];
    const install = ["install", `--manifest=${join(first, plugin)}`, `--archive=${join(first, archive)}`];
    expect(await runProgram(pathOf("krew"), install, { env })).toMatchObject({ status: 0 });
    const { kubectl } = await findBinaries();
    const said = await runProgram(kubectl, ["compute-operator", "--version"], { env });
    expect(said).toMatchObject({ status: 0, stdout: `compute-operator ${version}\n` });
  });

  it("the krew manifest names the address to download from where one is given", async () => {
    const other = join(directory.path, "downloads");
    const downloads = "https://downloads.example.com/v0/";
    await release("--registry", registry, "--output", other, "--download-url", downloads);
    const [plugin] = parseAllDocuments(readFileSync(join(other, "compute-operator.krew.yaml"), "utf8"));
    const { spec } = z
      .object({ spec: z.object({ platforms: z.array(z.object({ uri: z.string() })) }) })
      .parse(plugin?.toJS());
    expect(new Set(spec.platforms.map(({ uri }) => uri))).toEqual(
      new Set([`https://downloads.example.com/v0/compute-operator-${version}.tgz`]),
    );
  });

  it("the bill of materials is CycloneDX 1.6, and names the images that the operator's is based on", () => {
    const bill: unknown = JSON.parse(readFileSync(join(first, `compute-operator-${version}.sbom.cdx.json`), "utf8"));
    const { components } = z
      .object({ components: z.array(z.object({ type: z.string(), name: z.string() })) })
      .parse(bill);
    const images = components.filter(({ type }) => type === "container");
    expect(images.map(({ name }) => name)).toEqual(["node", "gcr.io/distroless/cc-debian12"]);
    // The service's, which that image does not have.
    expect(components.map(({ name }) => name)).not.toContain("pg-protocol");
    expect(problemsOfBill(bill)).toEqual([]);
    expect(problemsOfBill({ ...z.looseObject({}).parse(bill), components: [{ type: "container" }] })).not.toEqual([]);
  });

  it("the provenance names every file but the sums and itself, the commit and the lockfile", () => {
    const statement = z
      .object({
        subject: z.array(z.object({ name: z.string() })),
        predicate: z.object({
          buildDefinition: z.object({ resolvedDependencies: z.array(z.object({ uri: z.string() })) }),
        }),
      })
      .parse(JSON.parse(readFileSync(join(first, "provenance.json"), "utf8")));
    expect(statement.subject.map(({ name }) => name)).toEqual(files.filter((file) => file !== "provenance.json"));
    const uris = statement.predicate.buildDefinition.resolvedDependencies.map(({ uri }) => uri);
    expect(uris.slice(0, 2)).toEqual(["git+.", "package-lock.json"]);
    expect(uris[2]).toMatch(/^docker:\/\/node:24/);
  });
});

describe("the workflow that makes a release", () => {
  const workflow = ".github/workflows/release.yaml";

  it("the release workflow has no finding of actionlint", async () => {
    const all = [workflow, ".github/workflows/ci.yaml"];
    expect(await runTool("actionlint", ["-no-color", ...all])).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("uses only flags that the script knows, and pushes only files that a release has", async () => {
    const steps = z
      .object({ jobs: z.object({ release: z.object({ steps: z.array(z.object({ run: z.string().optional() })) }) }) })
      .parse(parse(readFileSync(workflow, "utf8")))
      .jobs.release.steps.flatMap(({ run }) => run ?? [])
      .join("\n");
    const { stdout: usage } = await release("--help");
    const flags = [...steps.matchAll(/npm run release -- (.*)/g)].flatMap(([, line = ""]) => line.match(/--[a-z-]+/g));
    expect(flags).toEqual(["--registry", "--require-image", "--download-url", "--verify"]);
    for (const flag of flags) expect(usage).toContain(`${flag} `);
    const pushed = [...steps.matchAll(/oci-archive:dist\/(\S+?)"/g)].map(([, name = ""]) =>
      name.replace("$version", version),
    );
    expect(pushed).toEqual([`compute-operator-image-${version}.oci.tar`, `compute-operator-chart-${version}.oci.tar`]);
    expect(files).toContain(pushed[1]);
  });
});

/** What the published schema of CycloneDX finds wrong. */
function problemsOfBill(bill: unknown): unknown[] {
  const require = cachedPackages("@cyclonedx/cyclonedx-library@10.3.0", "ajv@8.20.0", "ajv-formats@3.0.1");
  const root = join(dirname(require.resolve("@cyclonedx/cyclonedx-library/package.json")), "res", "schema");
  const schema = (name: string): object => JSON.parse(readFileSync(join(root, name), "utf8"));
  const Ajv: new (options: object) => { addSchema(schema: object, key: string): void; compile(schema: object): Check } =
    require("ajv").default;
  type Check = { (value: unknown): boolean; errors?: unknown[] | null };
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const [main, ...others] = [
    "bom-1.6.SNAPSHOT.schema.json",
    "spdx.SNAPSHOT.schema.json",
    "jsf-0.82.SNAPSHOT.schema.json",
  ];
  for (const name of others) ajv.addSchema(schema(name), `http://cyclonedx.org/schema/${name}`);
  const check = ajv.compile(schema(main ?? ""));
  return check(bill) ? [] : (check.errors ?? []);
}
