import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { temporaryDirectory } from "../support/guardian.ts";
import { freePort } from "../support/ports.ts";
import { Image, imageUser } from "./image.ts";

let image: Image;
beforeAll(() => {
  image = new Image();
  const cluster = { name: "none", cluster: { server: "https://127.0.0.1:1" } };
  const context = { name: "none", context: { cluster: "none", user: "none" } };
  const users = [{ name: "none", user: {} }];
  const config = { clusters: [cluster], users, contexts: [context], "current-context": "none" };
  image.mount("/etc/kubeconfig", JSON.stringify(config));
});
afterAll(() => image[Symbol.dispose]());

const { devDependencies } = z
  .object({ devDependencies: z.object({ node: z.string() }) })
  .parse(JSON.parse(readFileSync("package.json", "utf8")));

/** The packages of which a bundle holds something, by its source map. */
function packagesIn(map: string): string[] {
  const { sources } = z.object({ sources: z.array(z.string()) }).parse(JSON.parse(image.readFile(map)));
  return sources.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []);
}

describe("the image", () => {
  test("the image is built with the Node that the tests run on", () => {
    const images = [...readFileSync("Dockerfile", "utf8").matchAll(/^FROM (?:--\S+ )?(node:\S+)/gm)].map(
      ([, name]) => name,
    );
    expect(new Set(images)).toEqual(new Set([`node:${devDependencies.node}-bookworm-slim`]));
  });

  test("takes from its build what the Dockerfile takes", () => {
    const dockerfile = readFileSync("Dockerfile", "utf8");
    const last = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
    expect([...last.matchAll(/^(?:COPY|RUN|ADD) .+$/gm)].map(([line]) => line)).toEqual([
      "COPY --from=node /usr/local/bin/node /usr/local/bin/node",
      "COPY --from=build /src/dist/ /app/",
      "COPY LICENSE /app/LICENSE",
    ]);
  });

  test("holds one bundle, what only tracing needs, their source maps, and what they are made of: no service, no node_modules", () => {
    expect(image.files().toSorted()).toEqual([
      "app/LICENSE",
      "app/LICENSES.txt",
      "app/compute-operator.js",
      "app/compute-operator.js.map",
      "app/package.json",
      "app/sbom.cdx.json",
      "app/tracing.js",
      "app/tracing.js.map",
    ]);
  });

  test("names every package of which the bundle holds something, with version, licence and hash", () => {
    const component = z.object({
      purl: z.string().regex(/^pkg:npm\/.+@\d/),
      licenses: z.array(z.object({ expression: z.string() })).min(1),
      hashes: z.array(z.object({ alg: z.literal("SHA-512"), content: z.string().length(128) })).min(1),
    });
    const bill = z.object({ components: z.array(component) }).parse(JSON.parse(image.readFile("/app/sbom.cdx.json")));
    const scripts = ["compute-operator", "tracing"];
    const bundled = new Set(scripts.flatMap((name) => packagesIn(`/app/${name}.js.map`)));
    const named = bill.components.map(({ purl }) => /npm\/(.+)@/.exec(purl)?.[1]?.replace("%40", "@") ?? purl);
    expect(named.toSorted()).toEqual([...bundled].toSorted());
    for (const name of named) expect(image.readFile("/app/LICENSES.txt")).toContain(`${name} `);
  });

  test("runs as a user with a number, who can write nothing", async () => {
    const script = `
      const fs = require("node:fs");
      const tried = ["/", "/app", "/tmp"].map((at) => {
        try { fs.writeFileSync(at + "/x", ""); return "written"; } catch (error) { return error.code; }
      });
      console.log(JSON.stringify({ tried, shell: fs.existsSync("/bin/sh"), uid: process.getuid() }));`;
    const child = await image.evaluate(script);
    await child.end;
    const { tried, shell, uid } = JSON.parse(child.tail(1));
    expect(tried.filter((answer: string) => !/^E(ACCES|ROFS|NOENT|PERM)$/.test(answer))).toEqual([]);
    expect(shell).toBe(false);
    expect(imageUser).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(uid).not.toBe(0);
  });

  test("says which version it is", async () => {
    const child = await image.start(["--version"]);
    expect(await child.end).toEqual({ status: 0, signal: null });
    expect(child.lines).toEqual([`compute-operator ${manifest.version}`]);
  });

  test.each([
    ["its own user", imageUser],
    ["a user that it does not know, as OpenShift assigns one", "1000680000:0"],
  ])("starts, serves and stops in order on SIGTERM as %s", async (_, user) => {
    const port = await freePort();
    const flags = ["--kubeconfig", "/etc/kubeconfig", "--http-port", String(port)];
    const child = await image.start(["run", ...flags], {}, user);
    await child.waitForLine(/Started/, 20_000);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    process.kill(child.pid, "SIGTERM");
    expect(await child.end).toEqual({ status: 0, signal: null });
  });

  test("says that it has no service, and which image has", async () => {
    for (const args of [["service"], ["service", "--postgres"], ["help", "service"]]) {
      const child = await image.start(args);
      expect(await child.end).toEqual({ status: 1, signal: null });
      expect(child.lines).toEqual([expect.stringContaining("the service is not part of the operator's image")]);
      expect(child.lines.join()).toContain("the target `service` of the Dockerfile");
    }
    const dockerfile = readFileSync("Dockerfile", "utf8");
    const [, from] = /^FROM \S+ AS service$.*?^COPY --from=(\S+) \/src\/dist\/ \/app\/$/ms.exec(dockerfile) ?? [];
    expect(dockerfile).toContain(`FROM build AS ${from}\nRUN node scripts/bundle.ts\n`);
  });

  test("loads no source map, and a script names the lines of the source in a stack of the bundle", () => {
    // Node would keep all of the map in memory for as long as it runs: some 70 MB.
    expect(readFileSync("Dockerfile", "utf8")).not.toContain("--enable-source-maps");
    expect(JSON.parse(image.readFile("/app/compute-operator.js.map"))).not.toHaveProperty("sourcesContent");
    const known = "there is no command ";
    const at = (lines: readonly string[]) => lines.findIndex((line) => line.includes(known));
    const bundle = image.readFile("/app/compute-operator.js").split("\n");
    const line = at(bundle);
    const stack = `Error: wrong\n    at main (file:///app/compute-operator.js:${line + 1}:${(bundle[line]?.indexOf("name") ?? 0) + 1})`;
    const directory = temporaryDirectory("map");
    writeFileSync(join(directory.path, "compute-operator.js.map"), image.readFile("/app/compute-operator.js.map"));
    const named = execFileSync(process.execPath, ["scripts/stack.ts", directory.path], {
      input: stack,
      encoding: "utf8",
    });
    directory.remove();
    const source = readFileSync("src/main.ts", "utf8").split("\n");
    // The map knows where the statement begins, which may be the line before.
    const nearby = [-1, 0].map((by) => `at main (src/main.ts:${at(source) + 1 + by}:`);
    expect(nearby).toContain(/at main \([^:]*:\d+:/.exec(named)?.[0]);
  });

  test("holds a bundle of ASCII alone, of which Node keeps one byte a character in memory, and no generated models", () => {
    const bundle = image.readFile("/app/compute-operator.js");
    expect(bundle.search(/[^\0-\x7f]/)).toBe(-1);
    expect(bundle.length).toBeLessThan(2_900_000);
    expect(image.readFile("/app/compute-operator.js.map")).not.toContain("/gen/models/");
  });

  test("holds nothing of the service in what every process loads but its flags, which shells complete", () => {
    const { sources } = z
      .object({ sources: z.array(z.string()) })
      .parse(JSON.parse(image.readFile("/app/compute-operator.js.map")));
    const own = sources.flatMap((file) => /src\/service\/.*/.exec(file) ?? []);
    expect(own.toSorted()).toEqual(["src/service/flags.ts", "src/service/http/loopback.ts", "src/service/rules.ts"]);
  });

  test("holds nothing of OpenTelemetry's SDK in what every process loads, only the interface that prom-client needs", () => {
    const ofOpenTelemetry = (map: string) =>
      [...new Set(packagesIn(map))].filter((name) => name.startsWith("@opentelemetry/"));
    expect(ofOpenTelemetry("/app/compute-operator.js.map")).toEqual(["@opentelemetry/api"]);
    expect(ofOpenTelemetry("/app/tracing.js.map")).toContain("@opentelemetry/sdk-trace");
  });
});
