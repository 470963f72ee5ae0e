import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandsOf } from "./blocks.ts";

/** Every page of the documentation. */
export const pages: readonly string[] = [
  "README.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name))
    .toSorted(),
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
];

/** A command as a page shows it. */
export interface Documented {
  page: string;
  /** As it stands, without a prompt or a comment. */
  text: string;
  /** A line of an `sh` block, what stands behind a `$ ` with its output below, or inline code. */
  place: "block" | "prompt" | "inline";
}

/** What a line must begin with to be a command, and not only a name or a part of one. */
const programs = [
  "kubectl",
  "helm",
  "npm",
  "npx",
  "docker",
  "kind create",
  "kind load",
  "minikube",
  "curl",
  "promtool",
  "git",
  "compute-operator",
  "node_modules/.bin/node",
];

/** All commands of a page, in their order, each once. */
export function commandsIn(page: string): Documented[] {
  const text = readFileSync(page, "utf8");
  const prompts = [...text.matchAll(/^```(?:console)?\n(.*?)^```$/gms)].flatMap(([, body = ""]) =>
    body.split("\n").flatMap((line) => /^\$ (.*)/.exec(line)?.[1] ?? []),
  );
  const prose = text.replaceAll(/^```.*?^```$/gms, "");
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code.replaceAll(String.raw`\|`, "|"));
  const commands = inline.filter((code) =>
    programs.some((program) => code === program || code.startsWith(`${program} `)),
  );
  const all = [
    ...commandsOf(page).map((line) => ({ page, text: line, place: "block" }) as const),
    ...prompts.map((line) => ({ page, text: line, place: "prompt" }) as const),
    ...commands.map((line) => ({ page, text: line, place: "inline" }) as const),
  ];
  return [...new Map(all.map((command) => [`${command.place} ${command.text}`, command])).values()];
}

/** Pages whose prompts are played, and compared with the output below them, by a test of their own. */
const played: Readonly<Record<string, string>> = {
  "docs/cli.md": "test/cli/commands.page.test.ts",
  "docs/kubectl.md": "test/integration/kubectl.cluster.test.ts",
  // Put together from docs/kubectl.md.
  "README.md": "test/integration/kubectl.cluster.test.ts",
};

/**
 * The npm scripts that a page may name, and what runs the same. Of those that take an hour, or write into the clone, a
 * test runs the parts; that they exist and know the flags that a page gives them is looked at besides.
 */
const scripts: Readonly<Record<string, string>> = {
  test: ".ci/run",
  setup: ".ci/run",
  verify: ".ci/run",
  "verify:long": "test/checks/test-runs.test.ts",
  check: "package.json",
  format: "package.json",
  generate: "test/checks/crds.test.ts",
  "generate gitops": "test/long/page.test.ts",
  "generate health": "test/gitops/health/tools.verify.test.ts",
  "generate dashboard": "test/deploy/dashboard.test.ts",
  "generate console": "test/service/console/console.pictures.browser.verify.test.ts",
  demo: "test/e2e/demo.cluster.test.ts",
  chaos: "test/e2e/storm.cluster.verify.test.ts",
  simulate: "test/simulation/seeds.test.ts",
  "simulate model": "test/model/model.test.ts",
  "simulate pairs": "test/simulation/crash-points.verify.test.ts",
  soak: "test/soak/figures.test.ts",
  bench: "test/bench/figures.test.ts",
  bundle: "test/deploy/image.test.ts",
  release: "test/release/release.verify.test.ts",
  pack: "test/release/package.verify.test.ts",
  mutants: "test/mutants/mutants.test.ts",
};

/** What cannot be run in a test, and what is done instead. */
const cannotRun: Readonly<Record<string, { because: string; instead: string }>> = {
  "docker build": { because: "there is no container engine", instead: "test/deploy/image.test.ts" },
  "compute-operator export": { because: "it asks the public service", instead: "test/cli/commands.page.test.ts" },
  "compute-operator plan": {
    because: "it needs a running operator",
    instead: "test/docs/pull-request.cluster.verify.test.ts",
  },
  "compute-operator apply": {
    because: "it needs a running operator",
    instead: "test/docs/pull-request.cluster.verify.test.ts",
  },
  "kind create": { because: "there is no container engine", instead: "test/deploy/service.test.ts" },
  "kind load": { because: "there is no container engine", instead: "test/deploy/service.test.ts" },
  "minikube start": { because: "there is no container engine", instead: "test/deploy/service.test.ts" },
  "minikube image": { because: "there is no container engine", instead: "test/deploy/service.test.ts" },
  "kubectl logs": { because: "no pod runs", instead: "test/e2e/postgres.cluster.verify.test.ts" },
  "npx --yes": { because: "it installs the package", instead: "test/release/package.verify.test.ts" },
  "npx vitest": { because: "it would write the page again", instead: "test/integration/kubectl.cluster.test.ts" },
};

/** The test that runs a command; undefined where none does. */
export function testOf({ page, text, place }: Documented): string | undefined {
  if (text.startsWith("kubectl compute-operator")) return "test/docs/plugin.cluster.verify.test.ts";
  if (place === "prompt") return played[page];
  const [program = "", verb = ""] = text.split(" ");
  if (page === "docs/connect.md" && place === "block" && program !== "kubectl")
    return "test/docs/connect.verify.test.ts";
  const listed = cannotRun[`${program} ${verb}`];
  if (listed !== undefined) return listed.instead;
  switch (program) {
    case "npm":
      return scriptTest(text);
    case "kubectl":
      return page === "README.md" && place === "block"
        ? "test/docs/readme.cluster.verify.test.ts"
        : "test/docs/pages.cluster.verify.test.ts";
    case "helm":
      return "test/docs/pages.cluster.verify.test.ts";
    case "git":
      // In a fresh clone, by a workflow for every pull request.
      return ".ci/run";
    case "sha256sum":
      return "test/release/release.verify.test.ts";
    case "psql":
      return "test/service/postgres/postgres.life.verify.test.ts";
    case "compute-operator":
    case "node_modules/.bin/node":
    case "curl":
      return "test/docs/service.verify.test.ts";
    default:
      return undefined;
  }
}

/** What runs the same as an npm script, or as the part of one that the word after its `--` names. */
function scriptTest(text: string): string | undefined {
  const [, name = "", part = ""] = /^npm (?:run )?([\w:]+)(?: -- (\w+))?/.exec(text) ?? [];
  return scripts[`${name} ${part}`] ?? scripts[name];
}

/** The commands of all pages that this test is to run, each once, whichever pages show it. */
export function commandsFor(test: string): Documented[] {
  const all = pages.flatMap(commandsIn).filter((command) => testOf(command) === test);
  return all.filter(({ text }, at) => all.findIndex((other) => other.text === text) === at);
}

/** What a page leaves to its reader. */
const placeholders: Readonly<Record<string, string>> = {
  NAME: "shop-primary",
  NAMESPACE: "shop",
  FIELD: "branchID",
  COMMAND: "crds",
};

/** A command with something put in for each word that a page leaves open. */
export function filledIn(text: string): string {
  return text.replaceAll(/\b[A-Z]+\b/g, (word) => placeholders[word] ?? word);
}

/** Whether only a program or a subcommand is named: that it exists is all that can be tried. */
export function isMention(text: string): boolean {
  return (
    /^((kubectl|helm) [a-z]+|compute-operator [a-z]+ NAME( -f PATH)?)$/.test(text) ||
    /^(compute-operator|node_modules\/\.bin\/node src\/main\.ts)$/.test(text)
  );
}
