/** Group, version and every name that the operator writes into objects. Changing one breaks clusters in use. */

export const GROUP = "compute-operator.dev";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Also the field manager of every write and the reporting controller of every event. */
export const OPERATOR_NAME = "compute-operator";

/**
 * The namespace in which `deploy/` installs the operator, and that of ClusterServiceConnections' Secrets outside of any
 * pod.
 */
export const INSTALL_NAMESPACE = "compute-operator-system";

export const finalizers = {
  /** On a Compute: its endpoint is deleted, or let go, before the object may go. */
  endpoint: `${GROUP}/endpoint`,
  /** On a Branch: its branch is deleted, or let go, before the object may go. */
  branch: `${GROUP}/branch`,
  /** On a ServiceConnection and its Secret: a Compute or Branch still needs them. */
  inUse: `${GROUP}/in-use`,
} as const;

export const annotations = {
  /** The endpoint's id, written as soon as it is known: a link that survives backup and restore. */
  endpointID: `${GROUP}/endpoint-id`,
  /** Any new value asks for one restart. */
  restartedAt: `${GROUP}/restartedAt`,
  /** Any new value asks for one change of the password that the connection Secret holds. */
  passwordRotationAt: `${GROUP}/passwordRotationAt`,
  /** On a Branch: any new value asks for one reset to the parent's head. */
  resetAt: `${GROUP}/resetAt`,
  /** Any value but "false": nothing is sent to the service. */
  paused: `${GROUP}/paused`,
  /** A time in RFC 3339: until then changes may cut connections, whatever the windows say. */
  disruptionUntil: `${GROUP}/disruptionUntil`,
  /** Any new value requests a refresh at once; it never confirms anything. */
  reconcileRequestedAt: `${GROUP}/reconcileRequestedAt`,
  /** Any new value confirms the MassLoss that the conditions show. */
  confirmLoss: `${GROUP}/confirmLoss`,
} as const;

/** The keys of the note that a branch gets with its create, and that no call of the service rewrites. */
export const noteKeys = {
  /** The uid of the Branch. */
  uid: `${GROUP}/uid`,
  /** The operator's `--fleet`, where it has one. */
  fleet: `${GROUP}/fleet`,
  /** The Branch, as `namespace/name`. */
  object: `${GROUP}/object`,
} as const;

export const labels = {
  /** On a Compute that a ComputePool made: the pool's name. */
  pool: `${GROUP}/pool`,
  /** On a connection Secret: the Compute's uid. With the owner reference, or `SECRET_OF`, it proves the Secret ours. */
  compute: `${GROUP}/compute`,
} as const;

/**
 * Names the Compute of a connection Secret in another namespace than its own, as `namespace/name/uid`. With label and
 * type it proves the Secret ours.
 */
export const SECRET_OF = `${GROUP}/secret-of`;

/** Prefix of a namespace's labels that name others: connection Secrets of their Computes may be written here. */
export const SECRETS_FROM = `secrets-from.${GROUP}`;

/** The only type of Secret that a key is read from, so that no other Secret can be sent anywhere. */
export const API_KEY_SECRET_TYPE = `${GROUP}/api-key`;

/** The type of the connection Secrets that the operator writes (Service Binding specification). */
export const CONNECTION_SECRET_TYPE = "servicebinding.io/postgresql";
