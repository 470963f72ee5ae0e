// Builds what is shipped into dist/: one bundle with its source map, what it is made of, and the licences of that.
// The Dockerfile runs it, and so does a test: node scripts/bundle.ts [DIRECTORY]
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { billOfMaterials, bundledPackages, licences } from "./bill-of-materials.ts";

const [directory = "dist"] = process.argv.slice(2);

const bundle = await rolldown({
  input: "src/main.ts",
  platform: "node",
  // A warning is a mistake nobody looks at.
  onLog: (level, log) => {
    if (level === "warn") throw new Error(`rolldown: ${log.message}`);
  },
});
const { output } = await bundle.write({
  file: join(directory, "compute-operator.js"),
  format: "esm",
  sourcemap: true,
  // Node keeps the whole map in memory for as long as it runs, and needs only the lines: not 20 MB of sources.
  sourcemapExcludeSources: true,
  codeSplitting: false,
  minify: false,
});
const packages = bundledPackages(output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : [])));
// The nearest package.json says that the bundle is an ES module.
writeFileSync(join(directory, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
writeFileSync(join(directory, "sbom.cdx.json"), `${JSON.stringify(billOfMaterials(packages), null, 2)}\n`);
writeFileSync(join(directory, "LICENSES.txt"), licences(packages));
