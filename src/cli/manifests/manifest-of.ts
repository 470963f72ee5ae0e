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

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: object;
  spec: object;
}

/** A manifest, and the fields of the endpoint that it cannot declare. */
export interface Exported {
  manifest: Manifest;
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
  const bare = computeManifest(endpoint, names, {});
  const read = parseCompute(bare);
  if (!read.ok) return { problem: read.problem };
  for (const [field, value] of Object.entries(declaredBy(endpoint))) {
    if (isDeprecated({ field })) continue;
    const fits = parseCompute(computeManifest(endpoint, names, { [field]: value }));
    if (fits.ok) kept[field] = value;
    else leftOut.push(fits.problem);
  }
  return { manifest: computeManifest(endpoint, names, kept), leftOut };
}

/** The Branch that adopts a branch as it is: it is never given an end, reset, renamed or deleted. */
export function branchManifestOf(id: string, projectID: string, names: ExportNames): Manifest {
  return manifest("Branch", id, projectID, names, { adopt: { branchID: id }, expiry: { never: true } });
}

function computeManifest(endpoint: Endpoint, names: ExportNames, fields: object): Manifest {
  const { id, project_id, branch_id: branchID, type } = endpoint;
  return manifest("Compute", id, project_id, names, { branchID, type, ...fields, adopt: { endpointID: id } });
}

/**
 * The manifest of an object that adopts what has this id. By its policies that stays when the manifest goes, and with
 * `--observe` it is not written to either.
 */
function manifest(
  kind: "Branch" | "Compute",
  id: string,
  projectID: string | undefined,
  { namespace, connection, observe = false }: ExportNames,
  fields: object,
): Manifest {
  // An id is a valid name of a Kubernetes object, except for hyphens at its end.
  const name = id.endsWith("-") ? `${id}0` : id;
  return {
    apiVersion: API_VERSION,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      connectionRef: { name: connection },
      projectID,
      ...fields,
      deletionPolicy: "Retain",
      ...(observe ? { managementPolicy: "Observe" } : {}),
    },
  };
}
