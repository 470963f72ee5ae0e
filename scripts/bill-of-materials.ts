import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const packageJson = z.object({ name: z.string(), version: z.string(), license: z.string().optional() });
const lockfile = z.object({
  packages: z.record(z.string(), z.object({ integrity: z.string().optional() })),
});

/** A package of which the bundle holds something. */
export interface BundledPackage extends z.output<typeof packageJson> {
  /** Where it lies, e.g. `node_modules/zod`. */
  readonly directory: string;
  /** The SHA-512 of its archive in hexadecimal, from the lockfile. */
  readonly sha512?: string | undefined;
}

/** The packages that `modules`, files in the bundle, come from; sorted by name. */
export function bundledPackages(modules: readonly string[]): BundledPackage[] {
  const lock = lockfile.parse(JSON.parse(readFileSync("package-lock.json", "utf8")));
  const directories = new Set(modules.flatMap((module) => packageDirectory(module) ?? []));
  return [...directories]
    .map((directory) => ({
      ...packageJson.parse(JSON.parse(readFileSync(join(directory, "package.json"), "utf8"))),
      directory,
      sha512: hexOf(lock.packages[directory]?.integrity),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A software bill of materials in CycloneDX 1.6. It tells no time and no place: the same bundle has the same bill. */
export function billOfMaterials(packages: readonly BundledPackage[]) {
  const self = packageJson.parse(JSON.parse(readFileSync("package.json", "utf8")));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: component({ ...self, directory: "." }, "application") },
    components: packages.map((bundled) => component(bundled, "library")),
  };
}

/** The licence of each package in its own words, or its name where a package ships no text. */
export function licences(packages: readonly BundledPackage[]): string {
  const texts = packages.map(({ name, version, license, directory }) => {
    const [file] = globSync("{LICENSE,LICENCE,license,licence,License}{,.md,.txt,-MIT}", { cwd: directory }).toSorted();
    const text =
      file === undefined ? `Licence: ${license ?? "none"}` : readFileSync(join(directory, file), "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

function packageDirectory(module: string): string | undefined {
  return /(?:^|\/)(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
}

function hexOf(integrity: string | undefined): string | undefined {
  const base64 = /^sha512-(\S+)/.exec(integrity ?? "")?.[1];
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("hex");
}

function component({ name, version, license, sha512 }: BundledPackage, type: string) {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    type,
    name,
    version,
    purl,
    "bom-ref": purl,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    ...(sha512 === undefined ? {} : { hashes: [{ alg: "SHA-512", content: sha512 }] }),
  };
}
