import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RulesName, rules, rulesNames } from "../../../src/service/rules.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, project } from "../support/shop.ts";
import { PublicApi } from "./public-api.ts";

const bin = join(dirname(createRequire(import.meta.url).resolve("neonctl/package.json")), "..", ".bin");

let shop: ListeningShop;
let directory: ReturnType<typeof temporaryDirectory>;
async function open(name: RulesName): Promise<void> {
  const rateLimits = { perMinute: 1e6, perSecondAndRoute: 1e6 };
  shop = await ListeningShop.start({ rules: rules[name], timeScale: 1000, rateLimits });
  directory = temporaryDirectory("neonctl");
  // Nobody can connect to the model of a compute: this psql prints what it would connect with.
  writeFileSync(join(directory.path, "psql"), '#!/bin/sh\necho "psql $*"\n', { mode: 0o755 });
}
async function close(): Promise<void> {
  directory.remove();
  await shop[Symbol.asyncDispose]();
}

/** The vendor's command line under both of its names, which are packages of different ages. */
let program: "neonctl" | "neon";

/** Runs the vendor's command line as a person would; answers what it printed, and rejects where it fails. */
function neonctl(...args: string[]): Promise<string> {
  const everywhere = ["--api-host", shop.baseURL, "--no-analytics", "--no-color", "--config-dir", directory.path];
  const options = {
    cwd: directory.path,
    env: { PATH: `${directory.path}:${process.env["PATH"]}`, HOME: directory.path, NEON_API_KEY: keys.ana, CI: "1" },
  };
  return new Promise((resolve, reject) => {
    execFile(join(bin, program), [...args, "--output", "json", ...everywhere], options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${program} ${args.join(" ")}: ${stderr || stdout}`));
      else resolve(stdout);
    });
  });
}

/** An end for a branch: in whole seconds, and at most 30 days ahead. */
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+Z$/, "Z");

/** One session, in order: each command, and what its output must hold. */
const session: readonly (readonly [command: string, output: string])[] = [
  ["me", "ana@example.com"],
  ["orgs list", "org-shop"],
  ["projects list", project],
  ["projects list --org-id org-shop", project],
  [`projects get ${project}`, '"name": "shop"'],
  ["projects create --name app --org-id org-shop --cu 0.5-2 --database stock --role app", "/stock?sslmode=require"],
  [`projects update ${project} --cu 1-2`, '"autoscaling_limit_max_cu": 2'],
  ["branches list", "br-aged-salad-637688"],
  ["branches create --name dev", '"name": "dev"'],
  [`branches create --name short --expires-at ${tomorrow}`, tomorrow],
  ["branches create --name bare --no-compute", '"name": "bare"'],
  ["branches create --name reading --type read_only --parent preview", "read_only"],
  ["branches create --name sized --cu 2 --suspend-timeout 600", '"suspend_timeout_seconds": 600'],
  ["branches create --name plan --schema-only", "schema-only"],
  ["branches get dev", '"name": "dev"'],
  ["branches rename dev devel", '"name": "devel"'],
  ["branches add-compute devel --type read_only --cu 0.25-1", '"autoscaling_limit_max_cu": 1'],
  [`branches set-expiration devel --expires-at ${tomorrow}`, tomorrow],
  ["branches set-expiration devel", '"name": "devel"'],
  ["branches set-default devel", '"default": true'],
  ["branches set-default main", '"default": true'],
  ["branches reset devel --parent", '"last_reset_at"'],
  ["branches restore devel main --preserve-under-name before", '"last_reset_at"'],
  ["branches delete bare", '"name": "bare"'],
  ["connection-string devel", "postgresql://neondb_owner:npg_"],
  ["connection-string main --pooled --prisma --role-name neondb_owner --database-name neondb", "-pooler."],
  ["psql devel --role-name neondb_owner", "psql postgresql://neondb_owner:npg_"],
  ["databases list", "neondb"],
  ["databases create --name stock", '"name": "stock"'],
  ["databases delete stock", '"name": "stock"'],
  ["roles list", "neondb_owner"],
  ["roles create --name app", '"password": "npg_'],
  ["roles create --name crowd --no-login", '"name": "crowd"'],
  ["roles delete app", '"name": "app"'],
  ["operations list", "start_compute"],
  ["ip-allow add 10.0.0.1", "10.0.0.1"],
  ["ip-allow list", "10.0.0.1"],
  ["ip-allow remove 10.0.0.1", project],
  ["api-keys create --name second", '"key"'],
  ["api-keys list", "second"],
  ["api-keys create --name shops --org-id org-shop", '"key"'],
  ["api-keys list --org-id org-shop", "shops"],
  ["projects delete shop-two", '"id": "shop-two"'],
  ["checkout devel", ""],
  ["api /regions", "aws-us-east-2"],
  [`api /projects/${project}/branches/count`, '"count"'],
];

const runs = rulesNames.flatMap((name) => [["neonctl", name] as const, ["neon", name] as const]);

describe.each(runs)("%s under the rules %s", (cli, name) => {
  beforeAll(() => {
    program = cli;
    return open(name);
  });
  afterAll(close);

  it.each(session)("%s", async (command, output) => {
    await finished();
    const own = /^(branches|databases|roles|operations|ip-allow|connection-string|psql|checkout)/.test(command);
    const args = [...command.split(" "), ...(own ? ["--project-id", project] : [])];
    const isRefused = name === "neon" && command === "projects list";
    const said = isRefused ? await neonctl(...args).catch(String) : await neonctl(...args);
    expect(said).toContain(isRefused ? "org_id is required" : output);
  });

  it("receives the name of a call that is not served", async () => {
    await expect(neonctl("snapshots", "list", "--project-id", project)).rejects.toThrow("listSnapshots");
  });

  it("got no answer that the public OpenAPI file does not allow", () => {
    const api = new PublicApi();
    expect(shop.sent.length).toBeGreaterThan(session.length);
    const problems = shop.sent.flatMap(({ method, path, status, body }) => {
      const parsed: unknown = body === "" ? undefined : JSON.parse(body);
      return api.problems(method, path.replace("/api/v2", ""), status, parsed);
    });
    expect(new Set(problems)).toEqual(new Set());
  });
});

/** Lets the operations of the command before end. */
async function finished(): Promise<void> {
  while (shop.core.context.store.operations.anyUnfinished(project)) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    shop.core.settle();
  }
}
