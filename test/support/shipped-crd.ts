import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** The kinds that are shipped, by the names of the files of their CRDs. */
export const shippedKinds = [
  "computes",
  "serviceconnections",
  "clusterserviceconnections",
  "computepools",
  "branches",
] as const;

/** A CRD as it is shipped, by the name of its file. */
export function shippedCRD(name: string) {
  return parse(readFileSync(new URL(`../../crds/${name}.yaml`, import.meta.url), "utf8"));
}

/** Installs CRDs as they are shipped in an API server in memory, by the names of their files. */
export function installCRDs(
  server: { handle(request: { method: "POST"; path: string; body: unknown }): { status: number; body?: unknown } },
  names: readonly string[] = shippedKinds,
): void {
  for (const name of names) {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const { status, body } = server.handle({ method: "POST", path, body: shippedCRD(name) });
    if (status !== 201) throw new Error(`the CRD ${name} is refused with ${status}: ${JSON.stringify(body)}`);
  }
}
