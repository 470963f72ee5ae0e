import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { freePort } from "../support/ports.ts";
import { Image, imageUser } from "./image.ts";

let image: Image;
beforeAll(() => {
  image = new Image();
});
afterAll(() => image[Symbol.dispose]());

const { devDependencies } = z
  .object({ devDependencies: z.object({ node: z.string() }) })
  .parse(JSON.parse(readFileSync("package.json", "utf8")));

describe("the image", () => {
  test("is built with the Node that the tests run on", () => {
    expect(readFileSync("Dockerfile", "utf8")).toContain(`FROM node:${devDependencies.node}-`);
  });

  test("takes from its build what the Dockerfile takes", () => {
    const dockerfile = readFileSync("Dockerfile", "utf8");
    const last = dockerfile.slice(dockerfile.lastIndexOf("FROM "));
    expect([...last.matchAll(/^(?:COPY|RUN|ADD) .+$/gm)].map(([line]) => line)).toEqual([
      "COPY --from=build /usr/local/bin/node /usr/local/bin/node",
      "COPY --from=build /src/dist/ /app/",
      "COPY LICENSE /app/LICENSE",
    ]);
  });

  test("holds one bundle with its source map, and what it is made of; no node_modules", () => {
    expect(image.files().toSorted()).toEqual([
      "app/LICENSE",
      "app/LICENSES.txt",
      "app/compute-operator.js",
      "app/compute-operator.js.map",
      "app/package.json",
      "app/sbom.cdx.json",
    ]);
  });

  test("names every package of which the bundle holds something, with version, licence and hash", () => {
    const component = z.object({
      purl: z.string().regex(/^pkg:npm\/.+@\d/),
      licenses: z.array(z.object({ expression: z.string() })).min(1),
      hashes: z.array(z.object({ alg: z.literal("SHA-512"), content: z.string().length(128) })).min(1),
    });
    const bill = z.object({ components: z.array(component) }).parse(JSON.parse(image.readFile("/app/sbom.cdx.json")));
    const sources = z
      .object({ sources: z.array(z.string()) })
      .parse(JSON.parse(image.readFile("/app/compute-operator.js.map")));
    const bundled = new Set(
      sources.sources.flatMap((file) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []),
    );
    const named = bill.components.map(({ purl }) => /npm\/(.+)@/.exec(purl)?.[1]?.replace("%40", "@") ?? purl);
    expect(named.toSorted()).toEqual([...bundled].toSorted());
    for (const name of named) expect(image.readFile("/app/LICENSES.txt")).toContain(`${name} `);
  });

  test("runs as a user with a number, who can write nothing", async () => {
    const look = `
      const fs = require("node:fs");
      const tried = ["/", "/app", "/tmp"].map((at) => {
        try { fs.writeFileSync(at + "/x", ""); return "written"; } catch (error) { return error.code; }
      });
      console.log(JSON.stringify({ tried, shell: fs.existsSync("/bin/sh"), uid: process.getuid() }));`;
    const child = await image.evaluate(look);
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

  test("starts, serves and stops in order on SIGTERM", async () => {
    const child = await image.start(["service", "--port", String(await freePort())]);
    const [, url = ""] = await child.waitForLine(/^Listening on (http\S+)$/, 20_000);
    expect((await fetch(`${url}/projects`)).status).toBe(401);
    process.kill(child.pid, "SIGTERM");
    expect(await child.end).toEqual({ status: 0, signal: null });
  });

  test("says what went wrong in lines of the source, not of the bundle", async () => {
    expect(image.readFile("/app/compute-operator.js")).toMatch(/\/\/# sourceMappingURL=compute-operator\.js\.map\s*$/);
    // Node keeps all of the map in memory: the lines do, the sources' text is ten times as much.
    expect(JSON.parse(image.readFile("/app/compute-operator.js.map"))).not.toHaveProperty("sourcesContent");
    const child = await image.start(["no-such-command"]);
    expect(await child.end).toEqual({ status: 1, signal: null });
    expect(child.tail()).toContain('there is no command "no-such-command"');
  });
});
