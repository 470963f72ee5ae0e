import type { Raw } from "./cluster.ts";
import { main, project } from "./seeded-service.ts";

/** A Compute on the branch `main`, with `spec` laid over that. */
export function manifest(
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Partial<Raw["metadata"]> = {},
): Raw {
  return {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Compute",
    metadata: { ...metadata, name },
    spec: { projectID: project, branchID: main, ...spec },
  };
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
