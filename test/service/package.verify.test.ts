import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { temporaryDirectory } from "../support/guardian.ts";

const root = join(import.meta.dirname, "..", "..");

it("npm run pack makes a package whose command serves, and on an older Node says which it needs", () => {
  const directory = temporaryDirectory("package");
  try {
    execFileSync("npm", ["run", "--silent", "pack", "--", "--pack-destination", directory.path], {
      cwd: root,
      stdio: "pipe",
    });
    execFileSync("tar", ["xzf", join(directory.path, "compute-operator-0.1.0.tgz")], { cwd: directory.path });
    const unpacked = join(directory.path, "package");
    const { bin } = z
      .object({ bin: z.object({ "compute-operator": z.string() }) })
      .parse(JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8")));
    const command = join(unpacked, bin["compute-operator"]);
    const usage = execFileSync(process.execPath, [command, "service", "--help"], { encoding: "utf8" });
    expect(usage).toContain("--ready-file");
    const older = `Object.defineProperty(process.versions, "node", { value: "20.20.2" }); await import(${JSON.stringify(command)})`;
    const refused = spawnSync(process.execPath, ["--input-type=module", "--eval", older], { encoding: "utf8" });
    expect(refused).toMatchObject({
      status: 1,
      stderr: "compute-operator needs Node 24 or newer. This is Node 20.20.2.\n",
    });
  } finally {
    directory.remove();
  }
});
