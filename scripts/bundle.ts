// Builds what is shipped into dist/: a bundle of the operator and the CLI, one of what only tracing needs, and one of
// the service, beside them their source maps for scripts/stack.ts, what they are made of, and the licences of that.
// The image of the operator has no service. The Dockerfile runs it, and so do tests:
// node scripts/bundle.ts [--without-service] [DIRECTORY]
import { writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { rolldown } from "rolldown";
import { billOfMaterials, bundledPackages, licences } from "./bill-of-materials.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "without-service": { type: "boolean" } },
});
const [directory = "dist"] = positionals;

const builtin = "\0builtin:";

/** Modules that load much more than is used, and what takes their place. */
const parts: Readonly<Record<string, string>> = {
  undici: join(import.meta.dirname, "undici.mjs"),
  "./client-h2.js": join(import.meta.dirname, "no-http2.cjs"),
  // Only client-node has a file of this name.
  "./gen/index.js": join(import.meta.dirname, "client-node.mjs"),
};

/** Bundles of their own, by how the source imports them: each is loaded only where it is asked for. */
const loadedOnDemand: Readonly<Record<string, string>> = {
  "./tracing/open-telemetry.ts": "tracing.js",
  "./service/command.ts": "service.js",
};

const modules = [
  ...(await bundled("src/main.ts", "compute-operator.js")),
  ...(await bundled("src/operator/tracing/open-telemetry.ts", "tracing.js")),
];
if (values["without-service"] !== true) {
  modules.push(...(await bundled("src/service/command.ts", "service.js")));
  // The thread that compares schemas, which its starter names by its address.
  modules.push(...(await bundled("src/service/postgres/schema/comparing.ts", "comparing.js")));
}
const packages = bundledPackages(modules);
// The nearest package.json says that the bundle is an ES module.
writeFileSync(join(directory, "package.json"), `${JSON.stringify({ type: "module" })}\n`);
writeFileSync(join(directory, "sbom.cdx.json"), `${JSON.stringify(billOfMaterials(packages), null, 2)}\n`);
writeFileSync(join(directory, "LICENSES.txt"), licences(packages));

/** Bundles `input` into one file, and resolves with the modules in it. */
async function bundled(input: string, file: string): Promise<string[]> {
  const bundle = await rolldown({
    input,
    platform: "node",
    plugins: [
      {
        name: "parts",
        resolveId: (source) => {
          const own = loadedOnDemand[source];
          return own === undefined ? parts[source] : { id: `./${own}`, external: true };
        },
      },
      {
        // An import of a builtin reads all that it exports at once: of node:http alone that loads Node's own undici.
        name: "builtins",
        // The bundler's own runtime imports node:module.
        resolveId: (source) => (isBuiltin(source) && source !== "node:module" ? `${builtin}${source}` : undefined),
        load: (id) => {
          if (!id.startsWith(builtin)) return undefined;
          return `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(builtin.length))});`;
        },
      },
      { name: "ascii", renderChunk: (code) => ({ code: asciiOf(code), map: null }) },
    ],
    // A warning is a mistake nobody looks at.
    onLog: (level, log) => {
      if (level === "warn") throw new Error(`rolldown: ${log.message}`);
    },
  });
  const { output } = await bundle.write({
    file: join(directory, file),
    format: "esm",
    sourcemap: true,
    // scripts/stack.ts needs only the lines: not 20 MB of sources.
    sourcemapExcludeSources: true,
    sourcemapPathTransform: fromDist,
    codeSplitting: false,
    minify: false,
    // Node keeps the text in memory; licences are in a file of their own.
    comments: false,
  });
  return output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
}

/** The path of a source as seen from dist, wherever the bundle is written: the same sources give the same map. */
function fromDist(source: string, map: string): string {
  const file = resolve(dirname(map), source);
  return `../${/node_modules\/.*$/.exec(file)?.[0] ?? relative(".", file)}`;
}

/** One character beyond ASCII makes Node keep the whole bundle in memory with two bytes for each. */
function asciiOf(code: string): string {
  return code.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
