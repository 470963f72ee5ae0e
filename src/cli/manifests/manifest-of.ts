import type { Endpoint } from "../../api/endpoint.ts";
import { isDeprecated } from "../../operator/fields/compare.ts";
import { declaredBy } from "../../operator/fields/declared.ts";
import { parseCompute } from "../../operator/resources/compute.ts";
import { API_VERSION } from "../../operator/resources/names.ts";

/** Names that `export` writes into each manifest. */
export interface ExportNames {
  /** `undefined`: the manifest names no namespace. */
  namespace: string | undefined;
  /** Name of a ServiceConnection. */
  connection: string;
  /** The operator is to show what exists, and to send nothing for it. */
  observe?: boolean;
}

/** A manifest, and the fields of the endpoint that it cannot declare. */
export interface Exported {
  manifest: { apiVersion: string; kind: string; metadata: object; spec: object };
  leftOut: readonly string[];
}

/** Reason why an endpoint cannot be declared at all. */
export interface Undeclarable {
  problem: string;
}

/**
 * The Compute that adopts an endpoint as it is. Fields with values that the CRD does not allow (a service may know more
 * than we do) are omitted, so the service keeps them; so are fields whose end the public service has announced.
 */
export function manifestOf(endpoint: Endpoint, names: ExportNames): Exported | Undeclarable {
  const kept: Record<string, unknown> = {};
  const leftOut: string[] = [];
  const bare = manifest(endpoint, names, {});
  const read = parseCompute(bare);
  if (!read.ok) return { problem: read.problem };
  for (const [field, value] of Object.entries(declaredBy(endpoint))) {
    if (isDeprecated({ field })) continue;
    const fits = parseCompute(manifest(endpoint, names, { [field]: value }));
    if (fits.ok) kept[field] = value;
    else leftOut.push(fits.problem);
  }
  return { manifest: manifest(endpoint, names, kept), leftOut };
}

/** The Branch that adopts a branch as it is: it is never given an end, reset, renamed or deleted. */
export function branchManifestOf(id: string, projectID: string, names: ExportNames): object {
  const { namespace, connection } = names;
  return {
    apiVersion: API_VERSION,
    kind: "Branch",
    metadata: { name: nameOf(id), ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      connectionRef: { name: connection },
      projectID,
      adopt: { branchID: id },
      expiry: { never: true },
      ...policies(names),
    },
  };
}

function manifest(endpoint: Endpoint, names: ExportNames, fields: object): Exported["manifest"] {
  const { namespace, connection } = names;
  const { id, project_id, branch_id, type } = endpoint;
  return {
    apiVersion: API_VERSION,
    kind: "Compute",
    metadata: { name: nameOf(id), ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      connectionRef: { name: connection },
      projectID: project_id,
      branchID: branch_id,
      type,
      ...fields,
      adopt: { endpointID: id },
      ...policies(names),
    },
  };
}

/** Policies by which what exists stays when its manifest goes; with `--observe` it is not written to either. */
function policies({ observe = false }: ExportNames): object {
  return { deletionPolicy: "Retain", ...(observe ? { managementPolicy: "Observe" } : {}) };
}

/** An endpoint's id is a valid name of a Kubernetes object, except for hyphens at its end. */
function nameOf(id: string): string {
  return id.endsWith("-") ? `${id}0` : id;
}
