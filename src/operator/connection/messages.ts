import { API_KEY_SECRET_TYPE } from "../resources/names.ts";

// Messages of the conditions and events of a ServiceConnection, and of a Compute about the connection that it names.
// `said` is the service's own text.

/** Until the service has answered this process. */
export const unanswered = "The service has not answered yet.";

export const authenticated = {
  accepted: "The service accepts the API key.",
  /** Added where the key is accepted and its projects are not listed all the same. */
  unlisted: (said: string, remedy: string | undefined) =>
    `The projects of the key cannot be listed: ${said}.${remedy === undefined ? "" : ` ${remedy}`}`,
  checkOrganization: "Check spec.organizationID, and whether the key belongs to that organization.",
  nameOrganization: "Name the organization in spec.organizationID.",
  /** Added where the budget has no room for the refresh interval. */
  stretched: "Projects are listed less often than spec.refreshInterval says, because spec.requestBudget is too small.",
};

export const unauthorized = {
  connection: (said: string) =>
    `The service refused the API key: ${said}. Put a valid key into the Secret; until then only an occasional probe is sent.`,
  /** `connection` is kind and name, here and below. */
  compute: (connection: string, secret: string, said: string) =>
    `The service refused the API key of ${connection} (${said}). Put a valid key into Secret "${secret}".`,
};

export const unreachable = {
  noUsableAnswer: (said: string) =>
    `The service gave no usable answer: ${said}. Retried automatically; check spec.baseURL and the network.`,
  paused:
    "The service asked for a pause, and nothing is sent until it is over, at most five minutes. If it asks often, lower spec.requestBudget.",
  /** `which` names a certificate. */
  caBundle: (which: string) =>
    `${which} in spec.caBundle cannot be read. Put complete certificates there, each from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----.`,
};

export const notAllowed = {
  secrets:
    "The operator may not read Secrets in this namespace. Use a ClusterServiceConnection, or have an administrator bind the operator's ClusterRole for Secrets.",
  baseURL: (baseURL: string, allowed: readonly string[]) =>
    `This operator does not allow spec.baseURL ${baseURL}. Use one of ${allowed.join(", ")}, or have an administrator allow it with --allowed-base-url.`,
  finalizer: (said: string) =>
    `The Kubernetes API server refused the operator's finalizer on this connection or its Secret: ${said}. Nothing is sent to the service without it: change the policy that refuses the patch; retried automatically.`,
};

/** `place`: of a ClusterServiceConnection the namespace that its Secret must be in. */
export const secretNotFound = (name: string, key: string, place?: string): string =>
  `There is no Secret "${name}" of type ${API_KEY_SECRET_TYPE} in ${place === undefined ? "this namespace" : `namespace "${place}"`}. Create it with that type and the API key under "${key}"; delete one of another type first, because its type cannot be changed.`;

const putKey = "Put the API key alone there: no spaces, ASCII only.";

export const invalidSecret = {
  noKey: (name: string, key: string) => `Secret "${name}" has no key "${key}". ${putKey}`,
  empty: (name: string, key: string) => `Secret "${name}" is empty under "${key}". ${putKey}`,
  /** `what` is wrong with it. */
  unusable: (name: string, key: string, what: string) =>
    `Secret "${name}" holds no API key under "${key}", but a text ${what}. ${putKey}`,
};

/** Of a Compute. */
export const connectionNotFound = {
  inNamespace: (name: string, namespace: string) =>
    `There is no ServiceConnection "${name}" in namespace "${namespace}". Create it, or name another in spec.connectionRef.`,
  inCluster: (name: string) =>
    `There is no ClusterServiceConnection "${name}". Have an administrator create it, or name another in spec.connectionRef.`,
};

/** Of a Compute. */
export const connectionNotReady = {
  refused: (connection: string, why: string) => `${connection}: ${why}`,
  projectNotAllowed: (connection: string, projectID: string) =>
    `${connection} does not allow project ${projectID}. Add it to spec.allowedProjects of the connection, or name another connection.`,
  notSelected: (connection: string, namespace: string) =>
    `${connection} does not select namespace "${namespace}". Nothing is sent, deletion included, until an administrator lets spec.namespaceSelector match it, or spec.deletionPolicy is Retain on deletion.`,
  namespacesUnread: (connection: string) =>
    `${connection} selects namespaces by label, and the operator may not read namespaces. Have an administrator bind the ClusterRole of the operator for ClusterServiceConnections.`,
  ofCluster: {
    notWatched:
      "This operator watches some namespaces only (--namespace), and no ClusterServiceConnection can be used then. Name a ServiceConnection in spec.connectionRef.",
    unserved:
      "The operator cannot read ClusterServiceConnections. Have an administrator install their CRD, and bind the ClusterRole of the operator for them.",
  },
};

/** Of a connection that is being deleted, or of its Secret, which is then named, while Computes still use it. */
export const deleting = {
  /** All that uses the connection is being deleted too. */
  endsAutomatically: (secret: string | undefined) =>
    `${deletionOf(secret)} waits for the objects that use this connection: they are being deleted, and need it for that.`,
  inUse: (secret: string | undefined, withPools: boolean, names: string) => {
    const reference = withPools
      ? "spec.connectionRef (of a ComputePool: spec.template.connectionRef)"
      : "spec.connectionRef";
    const start = secret === undefined ? "Delete" : "Name another Secret in spec.apiKeySecretRef, delete";
    return `${deletionOf(secret)} waits until nothing uses this connection. ${start} its users (${names}), or name another connection in their ${reference}.`;
  },
};

function deletionOf(secret: string | undefined): string {
  return secret === undefined ? "Deletion" : `Deletion of Secret "${secret}"`;
}
