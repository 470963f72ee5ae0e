import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { rules, rulesNames } from "../../../src/service/rules.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, preview, project } from "../support/shop.ts";

const modules = dirname(dirname(createRequire(import.meta.url).resolve("neon/package.json")));

const policy = `import { defineConfig } from "@neon/config/v1";
const computeSettings = { autoscalingLimitMinCu: 0.25, autoscalingLimitMaxCu: 2, suspendTimeout: "5m" };
export default defineConfig({ branch: () => ({ ttl: "7d", postgres: { computeSettings } }) });
`;

it.each(rulesNames)(
  "under the rules %s the vendor's policy of a branch is planned, applied, and then leaves nothing of the compute to do",
  async (name) => {
    const rateLimits = { perMinute: 1e6, perSecondAndRoute: 1e6 };
    await using shop = await ListeningShop.start({ rules: rules[name], timeScale: 1000, rateLimits });
    const directory = temporaryDirectory("config");
    writeFileSync(join(directory.path, "neon.ts"), policy);
    symlinkSync(modules, join(directory.path, "node_modules"));
    const body = JSON.stringify({ endpoint: { branch_id: preview, type: "read_write" } });
    const headers = { authorization: `Bearer ${keys.ana}`, "content-type": "application/json" };
    const made = await fetch(`${shop.baseURL}/projects/${project}/endpoints`, { method: "POST", headers, body });
    expect(made.status).toBe(201);
    const config = (...args: string[]) => {
      const place = ["--project-id", project, "--branch", "preview", "--api-host", shop.baseURL];
      const quiet = ["--no-analytics", "--no-color", "--config-dir", directory.path];
      const env = { PATH: process.env["PATH"], HOME: directory.path, NEON_API_KEY: keys.ana, CI: "1" };
      return new Promise<string>((resolve, reject) => {
        const options = { cwd: directory.path, env };
        execFile(join(modules, ".bin", "neon"), ["config", ...args, ...place, ...quiet], options, (error, out, err) => {
          if (error) reject(new Error(`neon config ${args.join(" ")}: ${err || out}`));
          else resolve(out + err);
        });
      });
    };
    while (shop.core.context.store.operations.anyUnfinished(project)) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      shop.core.settle();
    }
    expect(await config("plan")).toMatch(/autoscalingLimitMaxCu +→ 2/);
    await config("apply", "--update-existing");
    const { store } = shop.core.context;
    expect(store.endpoints.primaryOf(preview)).toMatchObject({ minCu: 0.25, maxCu: 2 });
    // The policy's end has milliseconds.
    expect(store.branches.get(project, preview)?.expiresAt).toSatisfy((ms: number) => ms > 0 && ms % 1000 === 0);
    expect(await config("plan")).not.toContain("autoscalingLimit");
    directory.remove();
  },
);
