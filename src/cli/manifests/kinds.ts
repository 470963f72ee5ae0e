import { namesOf } from "../../api/table.ts";
import { branchKind, branchSpec, parseBranch } from "../../operator/resources/branch.ts";
import {
  clusterServiceConnectionKind,
  clusterServiceConnectionSpec,
  parseClusterServiceConnection,
} from "../../operator/resources/cluster-service-connection.ts";
import { computeKind, parseCompute } from "../../operator/resources/compute.ts";
import { computePoolKind, computePoolSpec, parseComputePool } from "../../operator/resources/compute-pool.ts";
import { computeSpec } from "../../operator/resources/compute-spec.ts";
import {
  parseServiceConnection,
  serviceConnectionKind,
  serviceConnectionSpec,
} from "../../operator/resources/service-connection.ts";

/** Our kinds: the resource of the API server, the reader of its objects, and the schema of their spec. */
export const kinds = {
  Compute: { resource: computeKind, parse: parseCompute, spec: computeSpec },
  ComputePool: { resource: computePoolKind, parse: parseComputePool, spec: computePoolSpec },
  Branch: { resource: branchKind, parse: parseBranch, spec: branchSpec },
  ServiceConnection: {
    resource: serviceConnectionKind,
    parse: parseServiceConnection,
    spec: serviceConnectionSpec,
  },
  ClusterServiceConnection: {
    resource: clusterServiceConnectionKind,
    parse: parseClusterServiceConnection,
    spec: clusterServiceConnectionSpec,
  },
};

export type OurKind = keyof typeof kinds;

export const ourKinds: readonly OurKind[] = namesOf(kinds);
