import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { findBinaries } from "../control-plane/binaries.ts";
import { temporaryDirectory } from "../support/guardian.ts";

const root = join(import.meta.dirname, "..", "..");

it("npm run pack makes a package whose command serves, also as a plugin of kubectl, and on an older Node says which it needs", async () => {
  const directory = temporaryDirectory("package");
  try {
    execFileSync("npm", ["run", "--silent", "pack", "--", "--pack-destination", directory.path], {
      cwd: root,
      stdio: "pipe",
    });
    execFileSync("tar", ["xzf", join(directory.path, "compute-operator-0.1.0.tgz")], { cwd: directory.path });
    const unpacked = join(directory.path, "package");
    const { bin } = z
      .object({ bin: z.object({ "compute-operator": z.string(), "kubectl-compute_operator": z.string() }) })
      .parse(JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")));
    const command = join(unpacked, bin["compute-operator"]);
    const page = readFileSync(join(unpacked, "docs", "service.md"), "utf8");
    const pages = [...page.matchAll(/\]\(([\w/-]+\.md)/g)].map(([, link = ""]) => join(unpacked, "docs", link));
    expect(pages.length).toBeGreaterThan(3);
    expect(pages.filter((file) => !existsSync(file))).toEqual([]);
    const usage = execFileSync(process.execPath, [command, "service", "--help"], { encoding: "utf8" });
    expect(usage).toContain("--ready-file");
    const installed = join(directory.path, "bin");
    mkdirSync(installed);
    symlinkSync(join(unpacked, bin["kubectl-compute_operator"]), join(installed, "kubectl-compute_operator"));
    const { kubectl } = await findBinaries();
    const path = [installed, dirname(process.execPath), process.env.PATH].join(delimiter);
    const plugin = ["compute-operator", "plan", "--help"];
    const asPlugin = execFileSync(kubectl, plugin, { encoding: "utf8", env: { ...process.env, PATH: path } });
    expect(asPlugin).toContain("--kubeconfig");
    // Before 24.16 its SQLite copies no database in memory.
    for (const version of ["20.20.2", "24.15.0"]) {
      const older = `Object.defineProperty(process.versions, "node", { value: "${version}" }); await import(${JSON.stringify(command)})`;
      const refused = spawnSync(process.execPath, ["--input-type=module", "--eval", older], { encoding: "utf8" });
      expect(refused).toMatchObject({
        status: 1,
        stderr: `compute-operator needs Node 24.16 or newer. This is Node ${version}.\n`,
      });
    }
  } finally {
    directory.remove();
  }
});
