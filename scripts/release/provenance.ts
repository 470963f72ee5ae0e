import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BaseImage } from "./base-images.ts";
import { sha256Of } from "./checksums.ts";
import type { Making } from "./making.ts";

export const provenanceFile = "provenance.json";

/**
 * Writes a statement of what the files were made of: in-toto's Statement 1 with SLSA's provenance 1. It names no time
 * and no machine, so that a second run gives the same bytes, and it is not signed: the workflow signs it.
 */
export function makeProvenance(making: Making, names: readonly string[], images: readonly BaseImage[]): void {
  const { output, commit, registry, downloadURL } = making;
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: names.toSorted().map((name) => ({ name, digest: { sha256: sha256Of(join(output, name)) } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://compute-operator.dev/release/v1",
        externalParameters: { registry, ...(downloadURL === undefined ? {} : { downloadURL }) },
        internalParameters: { node: process.version, changedFiles: commit.changed },
        resolvedDependencies: [
          { uri: "git+.", digest: { gitCommit: commit.id } },
          { uri: "package-lock.json", digest: { sha256: sha256Of("package-lock.json") } },
          ...images.map(({ name, digest }) => ({
            uri: `docker://${name}`,
            ...(digest === undefined
              ? { annotations: { digest: "not resolved" } }
              : { digest: { sha256: digest.replace("sha256:", "") } }),
          })),
        ],
      },
      runDetails: { builder: { id: "https://compute-operator.dev/release/npm-run-release" } },
    },
  };
  writeFileSync(join(output, provenanceFile), `${JSON.stringify(statement, null, 2)}\n`);
}
