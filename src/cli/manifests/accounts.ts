import { normalisedBaseURL, publicServicePattern, resolve } from "../../operator/connection/read-account.ts";
import { nameOf } from "../../operator/kube/objects.ts";
import { placeOf } from "../../operator/objects/object.ts";
import {
  type ClusterServiceConnection,
  type Connection,
  isOfCluster,
  kindOf,
  labelOf,
} from "../../operator/resources/cluster-service-connection.ts";
import { type ConnectionUser, connectionKeyOf } from "../../operator/resources/connection-user.ts";
import { INSTALL_NAMESPACE } from "../../operator/resources/names.ts";
import { selectsLabels } from "../../operator/resources/namespace.ts";
import type { Secret } from "../../operator/resources/secret.ts";
import { type Account, ApiKey } from "../../operator/service-client/account.ts";
import { CommandProblem } from "../commands/ports.ts";
import type { Declared, Manifests } from "./manifests.ts";
import { inCluster, runningBaseURL } from "./running.ts";

export const keyVariable = "COMPUTE_OPERATOR_API_KEY";

/** The flags and environment variables for the service. */
export interface ServiceInput {
  baseURL: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** The account of a Compute or Branch, or why it has none. */
export type AccountResult = { account: Account; connection: Connection | undefined } | { problem: string };

/** The account of flags and environment. Throws `CommandProblem` if they name none. */
export function givenAccount(given: ServiceInput): Account {
  const key = givenKey(given);
  if (key === undefined) throw new CommandProblem([`no API key: set the environment variable ${keyVariable}`]);
  return { baseURL: givenBaseURL(given), key };
}

/**
 * Base URL and key of a Compute or Branch.
 *
 * Expected flow: the connection that the object names, from the manifests, else from the cluster; its Secret likewise;
 * without a Secret the key of the environment. Without a connection, flag and environment together.
 * Guarantees: the key of the environment is sent to `--base-url` alone (the public service if that is not given), and a
 * key of the cluster to the address alone that the connection has there: who may edit a manifest cannot have a key sent
 * to an address of their own. A problem begins with the place of the field to correct.
 */
export function accountFor(
  { object: user, where }: Declared<ConnectionUser>,
  manifests: Manifests,
  given: ServiceInput,
): AccountResult {
  const { connections, namespaces, running } = manifests;
  const { kind = "Compute", metadata, spec } = user;
  const label = `${where}: ${kind} ${placeOf(metadata)}`;
  const key = givenKey(given);
  const named = connectionKeyOf(user);
  const connection = find(connections, named.namespace, named.name);
  if (connection === undefined) {
    const places = running === undefined ? "in these manifests" : "in these manifests and in the cluster";
    const missing = `${label}: spec.connectionRef.name: there is no ${spec.connectionRef.kind} "${named.name}" ${places}`;
    // The manifest is for a service that is not named; a default might be another service.
    if (key === undefined || given.baseURL === undefined) {
      const instead = `set --base-url (the public service is ${publicServicePattern}) and ${keyVariable}`;
      return { problem: `${missing}. Add it and its Secret, or ${instead}` };
    }
    return { account: { baseURL: givenBaseURL(given), key }, connection: undefined };
  }
  const { object } = connection;
  if (isOfCluster(object) && !mayBeSelected(object, metadata.namespace ?? "", namespaces)) {
    return {
      problem: `${label}: spec.connectionRef: ${labelOf(object)} does not select namespace "${metadata.namespace}"`,
    };
  }
  const baseURL = normalisedBaseURL(object.spec.baseURL) ?? object.spec.baseURL;
  const secret = secretFor(object, manifests);
  const declared = `${connection.where}: ${kindOf(object).kind} ${nameOf(object.metadata)}`;
  if (secret?.where === inCluster && baseURL !== (running && runningBaseURL(running, placeOf(object.metadata)))) {
    return {
      problem: `${declared}: spec.baseURL: the key in the cluster is sent only to the service that this connection names there, not to ${baseURL}. Apply the connection to the cluster first, or set --base-url and ${keyVariable}`,
    };
  }
  if (secret === undefined && key !== undefined) {
    const allowed = givenBaseURL(given);
    const ca = object.spec.caBundle === undefined ? {} : { caBundle: object.spec.caBundle };
    if (baseURL === allowed) return { account: { baseURL: allowed, key, ...ca }, connection: object };
    return {
      problem: `${declared}: spec.baseURL: the key in ${keyVariable} is sent only to ${allowed}, not to ${baseURL}. If you mean that service, set --base-url ${baseURL}`,
    };
  }
  const resolved = resolve(object, secret?.object, [baseURL], INSTALL_NAMESPACE);
  if (resolved.kind === "account") return { account: resolved.account, connection: object };
  const instead = resolved.reason === "SecretNotFound" ? ` Or set ${keyVariable}.` : "";
  const place = (resolved.reason === "InvalidSecret" ? secret?.where : undefined) ?? connection.where;
  return {
    problem: `${place}: ${kindOf(object).kind} ${nameOf(object.metadata)}: ${resolved.message}${instead}`,
  };
}

/** The Secret that a connection names, and where it stands; one in the manifests comes first. */
function secretFor(connection: Connection, { secrets, running }: Manifests): Declared<Secret> | undefined {
  const { metadata, spec } = connection;
  const { name } = spec.apiKeySecretRef;
  // No manifest says in which namespace the operator reads the Secrets of ClusterServiceConnections.
  const declared = isOfCluster(connection)
    ? secrets.find((one) => one.object.metadata.name === name)
    : find(secrets, metadata.namespace ?? "", name);
  const stored = running?.secrets.get(placeOf(metadata));
  return declared ?? (stored && { object: stored, where: inCluster });
}

/** True if the connection selects a namespace, as far as the manifests tell its labels; its name is one of them. */
function mayBeSelected(
  { spec: { namespaceSelector } }: ClusterServiceConnection,
  namespace: string,
  namespaces: Manifests["namespaces"],
): boolean {
  const name = { "kubernetes.io/metadata.name": namespace };
  const { matchLabels = {}, matchExpressions = [] } = namespaceSelector;
  const keys = [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
  const labels = namespaces.get(namespace);
  if (labels === undefined && keys.some((key) => !Object.hasOwn(name, key))) return true;
  return selectsLabels(namespaceSelector, { ...labels, ...name });
}

/** The key of the environment variable, if it is set. Throws `CommandProblem` if that holds no key. */
function givenKey({ env }: ServiceInput): ApiKey | undefined {
  const text = env[keyVariable]?.trim() ?? "";
  if (text === "") return undefined;
  if (/^[\x21-\x7e]{1,1024}$/.test(text)) return new ApiKey(text);
  throw new CommandProblem([`${keyVariable} holds no API key: it must be the key alone, no spaces, ASCII only`]);
}

/** `--base-url`, normalised. Throws `CommandProblem` if it is no base URL of the service. */
function givenBaseURL({ baseURL = publicServicePattern }: ServiceInput): string {
  const normalised = normalisedBaseURL(baseURL);
  if (normalised?.endsWith("/api/v2") === true) return normalised;
  throw new CommandProblem([
    `--base-url must be an http or https URL that ends in /api/v2, without user, query and fragment, for example ${publicServicePattern}, not ${JSON.stringify(baseURL)}`,
  ]);
}

function find<T extends { metadata: { name: string; namespace?: string | undefined } }>(
  list: readonly Declared<T>[],
  namespace: string,
  name: string,
): Declared<T> | undefined {
  return list.find(({ object: { metadata } }) => metadata.name === name && (metadata.namespace ?? "") === namespace);
}
