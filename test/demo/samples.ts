import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../support/guardian.ts";

/** The samples as they are applied, and what the service starts with. */
export interface Samples {
  /** For `kubectl apply -k`. */
  directory: string;
  /** YAML for `--seed`. */
  seed: string;
}

/** Where the samples expect the service. */
export const sampleBaseURL = "http://127.0.0.1:8090/api/v2";

const shipped = "deploy/samples";
const root = join(import.meta.dirname, "..", "..");

/** The samples as they are shipped, or a copy where the service had to take another address than they name. */
export function samplesFor(baseURL: string): Samples {
  const seed = readFileSync(join(root, shipped, "service-seed.yaml"), "utf8");
  if (baseURL === sampleBaseURL) return { directory: shipped, seed };
  const { path } = temporaryDirectory("samples");
  cpSync(join(root, shipped), path, { recursive: true });
  const file = join(path, "connection.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace(sampleBaseURL, baseURL));
  return { directory: path, seed };
}
