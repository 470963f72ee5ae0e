import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Making } from "./making.ts";

const systems = ["linux", "darwin"].flatMap((os) => ["amd64", "arm64"].map((arch) => ({ os, arch })));

/**
 * Writes the manifest by which krew installs the CLI as a plugin of kubectl, from the archive of the npm package. The
 * archive's address is `downloadURL`; without one its name stands there, and krew needs `--archive`.
 */
export function makeKrewManifest(making: Making, archive: { name: string; sha256: string }): string {
  const { output, version, downloadURL } = making;
  const uri = downloadURL === undefined ? archive.name : `${downloadURL.replace(/\/$/, "")}/${archive.name}`;
  const manifest = {
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "compute-operator" },
    spec: {
      version: `v${version}`,
      shortDescription: "Work with Computes, Branches and their connections",
      description: "Shows, restarts, pauses and plans what compute-operator keeps at a Postgres-hosting service.\n",
      caveats: "Needs Node 24.16 or newer on the PATH.\n",
      platforms: systems.map((system) => ({
        selector: { matchLabels: system },
        uri,
        sha256: archive.sha256,
        bin: "scripts/compute-operator.mjs",
        files: [
          { from: "package/dist/*", to: "dist" },
          { from: "package/scripts/*", to: "scripts" },
          { from: "package/package.json", to: "." },
          { from: "package/LICENSE", to: "." },
        ],
      })),
    },
  };
  writeFileSync(join(output, "compute-operator.krew.yaml"), stringify(manifest, { lineWidth: 0 }));
  return "compute-operator.krew.yaml";
}
