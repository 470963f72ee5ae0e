import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cycles, forbiddenImports, impureReaches, runnersLoaded, ungivenEffects, upwardImports } from "./layers.ts";
import { importsOfTests, parseSource, productSources } from "./sources.ts";

const sources = productSources();
const root = join(import.meta.dirname, "..", "..");

describe("the product", () => {
  it("the product is read, with its imports", () => {
    expect(sources.map(({ file }) => file)).toContain("src/main.ts");
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(100);
  });

  it("the product imports in the direction of its layers, and each package where it belongs", () => {
    expect(forbiddenImports(sources)).toEqual([]);
  });

  it("the product reconciles a Compute, and keeps real servers, in rooms that import only from the floors below", () => {
    expect(upwardImports(sources)).toEqual([]);
  });

  it("the product plans and reports without a way to act", () => {
    expect(impureReaches(sources)).toEqual([]);
  });

  it("the product parses annotations in one place, before it plans", () => {
    const files = globSync("src/operator/compute/{words,plan,status,execute}/**/*.ts", { cwd: root });
    const parses =
      /metadata\.annotations|JSON\.parse|\b(annotation|annotationsOf|pendingCreateOf|pendingRestartOf|recordedID)\(/;
    expect(files.length).toBeGreaterThan(15);
    expect(files.filter((file) => parses.test(readFileSync(join(root, file), "utf8")))).toEqual([]);
  });

  it("the product has no circles", () => {
    expect(cycles(sources)).toEqual([]);
  });

  it("the product's tests and scripts have no circles", () => {
    const others = importsOfTests();
    expect(others.flatMap(({ imports }) => imports).length).toBeGreaterThan(2000);
    expect(cycles(others)).toEqual([]);
  });

  it("the product completes commands from their flags alone, and loads neither operator nor service", () => {
    const main = readFileSync(join(root, "src/main.ts"), "utf8");
    const body = /function loadCompletion[\s\S]*?\n}\n/.exec(main)?.[0] ?? "";
    const loaded = [...body.matchAll(/import\("\.\/(.+?)"\)/g)].map(([, file]) => `src/${file}`);
    expect(loaded).toContain("src/service/flags.ts");
    expect(runnersLoaded(loaded, sources)).toEqual([]);
  });

  it("the product is given time, chance, network and environment", () => {
    expect(ungivenEffects(sources)).toEqual([]);
  });
});

describe("an import is found out", () => {
  it.each([
    ["src/service/app.ts", `import { plan } from "../operator/compute/plan.ts";`],
    ["src/operator/compute/plan/plan.ts", `import type { App } from "../../service/app.ts";`],
    ["src/api/ids.ts", `export * from "../service/app.ts";`],
    ["src/cli/plan.ts", `export { main } from "../main.ts";`],
    ["src/operator/kube/client.ts", `import { resolve } from "../connection/resolve.ts";`],
    ["src/operator/kube/client.ts", `import { computeKind } from "../resources/compute.ts";`],
    ["src/operator/kube/client.ts", `import type { Endpoint } from "../../api/endpoint.ts";`],
    ["src/operator/fields/compare.ts", `import type { Action } from "../compute/plan/action.ts";`],
    ["src/operator/claims/claims.ts", `import { rowOf } from "../compute/words/reasons.ts";`],
    ["src/operator/claims/claim-index.ts", `import type { SessionRegistry } from "../connection/registry.ts";`],
    ["src/operator/connection-secret/details.ts", `import { meaningOf } from "../compute/words/failures.ts";`],
    ["src/operator/connection-secret/readings.ts", `import type { Gate } from "../project/gate.ts";`],
    ["src/operator/objects/object.ts", `import { GROUP } from "../resources/names.ts";`],
    ["src/operator/runtime/workqueue.ts", `type T = import("../kube/client.ts").ClusterClient;`],
    ["src/operator/service-client/client.ts", `const late = await import("../kube/client.ts");`],
    ["src/service/store/keys.ts", `import type { Owner } from "../accounts/owner.ts";`],
    ["src/service/computes/create.ts", `import { refuseTaken } from "../domain/branches.ts";`],
    ["src/service/http/server.ts", `import { Gate } from "../postgres/gate.ts";`],
    ["src/service/sharing/shares.ts", `import type { Owner } from "../store/projects.ts";`],
    ["src/operator/connection/read-account.ts", `import { KubeConfig } from "@kubernetes/client-node";`],
    ["src/operator/service-client/client.ts", `import pRetry from "p-retry";`],
    ["src/operator/kube/reflector.ts", `import { Agent } from "undici";`],
    ["src/operator/runtime/clock.ts", `import { setTimeout as wait } from "node:timers/promises";`],
  ])("an import in %s is found out: %s", (file, text) => {
    expect(forbiddenImports([parseSource(file, text)])).toHaveLength(1);
  });

  it("an import that points the right way is allowed", () => {
    const text = `import { sleep } from "../runtime/clock.ts"; import { zod } from "zod"; import "./errors.ts";`;
    expect(forbiddenImports([parseSource("src/operator/kube/client.ts", text)])).toEqual([]);
  });
});

describe("an import back up inside a Compute's reconcile or the rooms of real servers is found out", () => {
  it.each([
    ["operator/compute/words/reasons.ts", "../outcome.ts", "a room above"],
    ["operator/compute/plan/plan.ts", "../reconcile-state.ts", "the state that plans are made from"],
    ["operator/compute/bind.ts", "./status/status.ts", "the status, by another than its writer"],
    ["operator/compute/observe/observe.ts", "../helpers.ts", "a room without a floor"],
    ["service/postgres/session/unheld.ts", "../catalog/catalog-sync.ts", "a room above"],
    ["service/postgres/data/home.ts", "../helpers/helpers.ts", "a room without a floor"],
  ])("an import in %s from %s is found out: %s", (file, to) => {
    const planted = parseSource(`src/${file}`, `import type { T } from "${to}";`);
    expect(upwardImports([planted])).toHaveLength(1);
  });

  it("an import of a floor below is allowed", () => {
    const planted = parseSource(
      "src/operator/compute/plan/plan.ts",
      `import { who } from "../observe/observation.ts";`,
    );
    expect(upwardImports([planted])).toEqual([]);
  });
});

describe("a circle is found out", () => {
  const circle = (kind: string) => [
    parseSource("src/api/a.ts", `import { b } from "./b.ts";`),
    parseSource("src/api/b.ts", `export * from "./c.ts";`),
    parseSource("src/api/c.ts", `import ${kind} { a } from "./a.ts";`),
  ];

  it.each(["", "type"])("a circle over any number of modules is found out, also one that a %s closes", (kind) => {
    expect(cycles(circle(kind))).toEqual(["src/api/a.ts → src/api/b.ts → src/api/c.ts → src/api/a.ts"]);
  });
});

it("a way to act is found out behind any number of modules", () => {
  const planted = [
    parseSource("src/operator/compute/plan/plan.ts", `import { rule } from "../rules.ts";`),
    parseSource("src/operator/compute/rules.ts", `import { send } from "../service-client/client.ts";`),
  ];
  expect(impureReaches(planted)).toEqual(["src/operator/compute/plan/plan.ts → src/operator/service-client/client.ts"]);
});

describe("an effect is found out", () => {
  it.each([
    "const now = Date.now();",
    "const now = new Date();",
    "const now = Date();",
    "const odds = Math.random();",
    "const given = { random: Math.random };",
    "setTimeout(() => {}, 10);",
    "const timers = { setInterval };",
    "const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));",
    "await fetch(url);",
    "const answer = globalThis.fetch(url);",
    "const home = process.env.HOME;",
    "class A { #at = performance.now(); }",
    "const signal = AbortSignal.timeout(5000);",
    "function late(clock = Date.now) { return clock(); }",
    "const { now } = Date;",
    "const later = (Date as { now(): number }).now();",
  ])("the effect %s is found out", (text) => {
    expect(ungivenEffects([parseSource("src/operator/runtime/planted.ts", `\n${text}`)])).toEqual([
      expect.stringMatching(/^src\/operator\/runtime\/planted\.ts:2: /),
    ]);
  });

  it.each([
    "const shown = new Date(clock.now()).toISOString();",
    "const due = Date.parse(header) - Date.UTC(2026, 0, 1);",
    "const least = Math.min(a, b);",
    "const isDate = value instanceof Date;",
    "type Stop = AbortSignal; const both = AbortSignal.any([a, b]);",
    "const transport = { fetch: send, process: handle }; transport.fetch(); transport.process();",
    "interface Clock { setTimeout(task: () => void): void; process: string }",
    "function call(fetch: (url: string) => void) { fetch('x'); }",
    "// process.env, Date.now() and setTimeout in a comment",
    "const text = 'process.exit';",
  ])("the effect is allowed in: %s", (text) => {
    expect(ungivenEffects([parseSource("src/operator/runtime/planted.ts", text)])).toEqual([]);
  });

  it("the effect is allowed in main, which gives them to all others", () => {
    expect(ungivenEffects([parseSource("src/main.ts", "process.exit(Date.now());")])).toEqual([]);
  });
});
