import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Entry, writeArchive } from "./archive.ts";
import type { Making } from "./making.ts";

const manifestOf = z.looseObject({
  name: z.string(),
  version: z.string(),
  bin: z.record(z.string(), z.string()),
  files: z.array(z.string()),
});

/** What a package without its sources has no use for: the bundle holds what it depends on. */
const ofTheClone = new Set(["private", "scripts", "allowScripts", "dependencies", "devDependencies"]);

/** Packs the CLI as an npm package that depends on no other. `bundle` is the directory of the built bundle. */
export function makePackage({ output, staging, commit, version }: Making, bundle: string): string {
  const manifest = manifestOf.parse(JSON.parse(readFileSync("package.json", "utf8")));
  const kept = Object.fromEntries(Object.entries(manifest).filter(([field]) => !ofTheClone.has(field)));
  const files = new Map<string, Entry>();
  files.set("package/package.json", { content: `${JSON.stringify(kept, null, 2)}\n` });
  for (const pattern of [...manifest.files, "README.md", "LICENSE"]) {
    // The bundle of a release lies elsewhere than in dist.
    const [cwd, at] = pattern.startsWith("dist/") ? [bundle, "dist"] : [".", ""];
    for (const path of globSync(pattern.replace(/^dist\//, ""), { cwd })) {
      files.set(join("package", at, path), { file: join(cwd, path) });
    }
  }
  const name = `compute-operator-${version}.tgz`;
  const executable = [...new Set(Object.values(manifest.bin))].map((path) => `package/${path}`);
  writeArchive({ files, executable }, { staging, output: join(output, name), time: commit.time, compressed: true });
  return name;
}
