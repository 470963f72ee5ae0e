import { z } from "zod";
import { idPattern } from "../../api/ids.ts";
import { type Declared, declared, readerOf } from "../objects/object.ts";
import { namespaceSelector } from "./namespace.ts";
import { ownKind } from "./own-kind.ts";
import {
  apiKeySecretRefIn,
  type ServiceConnection,
  type ServiceConnectionStatus,
  serviceConnectionKind,
  serviceConnectionSpec,
  serviceConnectionStatus,
  theApiKeySecret,
} from "./service-connection.ts";

/** Says in `allowedProjects` of a ClusterServiceConnection that Computes may name every project. */
const everyProject = "*";

const { apiKeySecretRef: _, allowedProjects: __, ...shared } = serviceConnectionSpec.shape;

export const clusterServiceConnectionSpec = z.object({
  ...shared,
  apiKeySecretRef: apiKeySecretRefIn("in the operator's --cluster-resource-namespace").describe(theApiKeySecret),
  namespaceSelector: namespaceSelector.describe(
    "The namespaces whose Computes may use this connection, by their labels; {} says all. Prefer kubernetes.io/metadata.name, which nobody can change.",
  ),
  allowedProjects: z
    .array(
      z
        .string()
        .max(60)
        .regex(new RegExp(`${idPattern.source}|^\\*$`), 'must be 1 to 60 of a-z, 0-9 and -, or "*"'),
    )
    .max(1000)
    .meta({ "x-kubernetes-list-type": "set" })
    .describe(
      'Ids of the projects that Computes may name through this connection, for example [shiny-wind-028834]; ["*"] allows all. Anyone who may use a project gets its passwords.',
    ),
});

/** A key for many namespaces. Where that makes no difference it passes for a ServiceConnection without a namespace. */
export type ClusterServiceConnection = Declared<z.output<typeof clusterServiceConnectionSpec>, ServiceConnectionStatus>;

/** Connections of either kind. */
export type Connection = ServiceConnection | ClusterServiceConnection;

export const clusterServiceConnectionKind = ownKind<ClusterServiceConnection>(
  "ClusterServiceConnection",
  "clusterserviceconnections",
  false,
);

export const parseClusterServiceConnection = readerOf(declared(clusterServiceConnectionSpec, serviceConnectionStatus));

export function isOfCluster(connection: Connection): connection is ClusterServiceConnection {
  return "namespaceSelector" in connection.spec;
}

export function kindOf(connection: Connection) {
  return isOfCluster(connection) ? clusterServiceConnectionKind : serviceConnectionKind;
}

/** The name of a connection in messages, for example `ServiceConnection "default"`. */
export function labelOf(connection: Connection): string {
  return `${kindOf(connection).kind} "${connection.metadata.name}"`;
}

export function allowsProject({ spec: { allowedProjects } }: Connection, projectID: string): boolean {
  if (allowedProjects === undefined || allowedProjects.includes(projectID)) return true;
  return allowedProjects.includes(everyProject);
}
