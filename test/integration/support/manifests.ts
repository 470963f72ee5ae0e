import type { Raw } from "./cluster-admin.ts";
import { main, project } from "./seeded-service.ts";

/** A Compute on the branch `main` unless `spec` gives another, by id or name, with `spec` laid over that. */
export function manifest(
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Partial<Raw["metadata"]> = {},
): Raw {
  return {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Compute",
    metadata: { ...metadata, name },
    spec: { projectID: project, ...("branchName" in spec || "branchRef" in spec ? {} : { branchID: main }), ...spec },
  };
}

/** The same Secret as the API server stores it. */
export function storedKeySecret(key: string, name?: string): Omit<Raw, "stringData"> {
  const { stringData: _, ...secret } = keySecret(key, name);
  return { ...secret, data: { "api-key": Buffer.from(key).toString("base64") } };
}

/** The Secret that a scenario's connection names. */
export function keySecret(key: string, name = "service-api-key"): Raw {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    type: "compute-operator.dev/api-key",
    stringData: { "api-key": key },
  };
}
