import { spawn } from "node:child_process";

export interface GoBuild {
  /** The directory of the module that pins the versions. */
  module: string;
  /** The package of the command, e.g. `k8s.io/kubernetes/cmd/kubectl`. */
  package: string;
  /** Where the binary goes. */
  output: string;
  /** Variables set at link time, e.g. `{"main.version": "v1"}`. */
  stamps?: Readonly<Record<string, string>>;
}

/**
 * Builds a command with the Go toolchain from published, pinned modules. Resolves with what went wrong, or `undefined`.
 */
export function goBuild(wanted: GoBuild): Promise<string | undefined> {
  const stamps = Object.entries(wanted.stamps ?? {}).map(([variable, value]) => `-X ${variable}=${value}`);
  const args = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", ["-s -w", ...stamps].join(" ")];
  const go = spawn("go", [...args, "-o", wanted.output, wanted.package], {
    cwd: wanted.module,
    env: { ...process.env, CGO_ENABLED: "0", GOWORK: "off" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  go.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4000);
  });
  return new Promise((resolve) => {
    go.once("error", (error) => resolve(`\`go\` cannot be run (${error.message})`));
    go.once("close", (status) => {
      const last = said.trim().split("\n").slice(-3).join("; ");
      resolve(status === 0 ? undefined : `\`go build ${wanted.package}\` failed: ${last}`);
    });
  });
}
