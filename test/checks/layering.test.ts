import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");

/** What the files of each layer may import, besides files of their own. Nothing else points anywhere. */
const layers: Readonly<Record<string, readonly string[]>> = {
  main: ["cli", "operator", "service", "api"],
  cli: ["operator", "api"],
  operator: ["api"],
  service: ["api"],
  api: [],
};

/** The same inside the operator. Files directly below src/operator join the layers and may import all of them. */
const operatorLayers: Readonly<Record<string, readonly string[]>> = {
  compute: ["connection", "client", "cluster", "runtime", "resources"],
  pool: ["connection", "client", "cluster", "runtime", "resources"],
  connection: ["client", "cluster", "runtime", "resources"],
  client: ["runtime", "resources"],
  cluster: ["runtime", "resources"],
  runtime: ["resources"],
  resources: [],
};

/** Packages that only one place may know, so that the rest can be run without it. */
const owners: Readonly<Record<string, RegExp>> = {
  "@kubernetes/client-node": /^src\/operator\/cluster\//,
  "p-retry": /^src\/operator\/client\//,
  undici: /^src\/(operator\/(cluster|client)\/|main\.ts$)/,
  hono: /^src\/service\//,
  "node:sqlite": /^src\/service\//,
};

interface Import {
  from: string;
  to: string;
  /** Erased before it runs. */
  typeOnly: boolean;
}

const files = globSync("src/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
const imports = files.flatMap((file) => importsOf(file));

describe("imports point one way", () => {
  it("finds the sources and their imports", () => {
    expect(files).toContain("src/main.ts");
    expect(imports.length).toBeGreaterThan(10);
  });

  it("between main, cli, operator, service and api", () => {
    expect(violations(imports, layers, topLayer)).toEqual([]);
  });

  it("inside the operator", () => {
    expect(violations(imports, operatorLayers, operatorLayer)).toEqual([]);
  });

  it("from the one place that may know a package", () => {
    const strangers = imports.filter(({ from, to }) => {
      const owner = Object.entries(owners).find(([name]) => to === name || to.startsWith(`${name}/`))?.[1];
      return owner !== undefined && !owner.test(from);
    });
    expect(strangers.map(arrow)).toEqual([]);
  });

  it("from plan and status to nothing that acts", () => {
    const acts = /^src\/operator\/(client|cluster|connection)\//;
    const pure = files.filter((file) => /^src\/operator\/compute\/(plan|status)(\.ts|\/|-)/.test(file));
    expect(
      pure.flatMap((file) =>
        reachable(file)
          .filter((to) => acts.test(to))
          .map((to) => `${file} → ${to}`),
      ),
    ).toEqual([]);
  });
});

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const statement =
    /^\s*(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']|import\(\s*["']([^"']+)["']\s*\)/gm;
  return [...text.matchAll(statement)].map(([, type, static_, dynamic]) => {
    const target = static_ ?? dynamic ?? "";
    const to = target.startsWith(".")
      ? relative(root, resolve(root, dirname(file), target)).replaceAll("\\", "/")
      : target;
    return { from: file, to, typeOnly: type !== undefined };
  });
}

function violations(
  all: readonly Import[],
  table: Readonly<Record<string, readonly string[]>>,
  layerOf: (file: string) => string | undefined,
): string[] {
  return all
    .filter(({ from, to }) => {
      const [source, target] = [layerOf(from), layerOf(to)];
      if (source === undefined || target === undefined || source === target) return false;
      return table[source]?.includes(target) !== true;
    })
    .map(arrow);
}

function topLayer(file: string): string | undefined {
  if (file === "src/main.ts") return "main";
  return /^src\/([^/]+)\//.exec(file)?.[1];
}

function operatorLayer(file: string): string | undefined {
  return /^src\/operator\/([^/]+)\//.exec(file)?.[1];
}

/** Every file that is loaded when this one is. */
function reachable(start: string, seen = new Set<string>()): string[] {
  for (const { from, to, typeOnly } of imports) {
    if (from !== start || typeOnly || seen.has(to)) continue;
    seen.add(to);
    reachable(to, seen);
  }
  return [...seen];
}

function arrow({ from, to }: Import): string {
  return `${from} → ${to}`;
}
