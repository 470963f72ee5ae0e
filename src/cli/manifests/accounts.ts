import { normalisedBaseURL, publicServicePattern } from "../../operator/connection/base-url.ts";
import { resolve } from "../../operator/connection/resolve.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ServiceConnection } from "../../operator/resources/service-connection.ts";
import type { Account } from "../../operator/service-client/account.ts";
import { ApiKey } from "../../operator/service-client/api-key.ts";
import { CommandProblem } from "../commands/problem.ts";
import type { Declared, Manifests } from "./manifests.ts";

export const keyVariable = "COMPUTE_OPERATOR_API_KEY";

/** What flags and environment say of the service. */
export interface Given {
  baseURL: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** Who a Compute is looked after for, or why nobody is. */
export type Reached = { account: Account; connection: ServiceConnection | undefined } | { problem: string };

/** The account that flags and environment give. Throws `CommandProblem` where they do not. */
export function givenAccount(given: Given): Account {
  const key = givenKey(given);
  if (key === undefined) throw new CommandProblem([`no API key: set the environment variable ${keyVariable}`]);
  return { baseURL: givenBaseURL(given), key };
}

/** Base URL and key for a Compute: from the manifests, and what those lack from flags and environment. */
export function accountFor(
  { object: { metadata, spec }, where }: Declared<Compute>,
  { connections, secrets }: Manifests,
  given: Given,
): Reached {
  const label = `${where}: Compute ${metadata.namespace ?? ""}/${metadata.name}`;
  const key = givenKey(given);
  const connection = find(connections, metadata.namespace, spec.connectionRef.name);
  if (connection === undefined) {
    const missing = `${label}: spec.connectionRef.name: there is no ServiceConnection "${spec.connectionRef.name}" in these manifests`;
    // The manifest is for a service that nobody has named: a default would be another one.
    if (key === undefined || given.baseURL === undefined) {
      const instead = `set --base-url (the public service is ${publicServicePattern}) and ${keyVariable}`;
      return { problem: `${missing}. Add it and its Secret, or ${instead}` };
    }
    return { account: { baseURL: givenBaseURL(given), key }, connection: undefined };
  }
  const { object } = connection;
  const named = normalisedBaseURL(object.spec.baseURL) ?? object.spec.baseURL;
  const secret = find(secrets, metadata.namespace, object.spec.apiKeySecretRef.name);
  if (secret === undefined && key !== undefined) {
    const allowed = givenBaseURL(given);
    const ca = object.spec.caBundle === undefined ? {} : { caBundle: object.spec.caBundle };
    if (named === allowed) return { account: { baseURL: allowed, key, ...ca }, connection: object };
    // Anyone who may edit a manifest could have the key sent to an address of their own.
    return {
      problem: `${connection.where}: ServiceConnection ${object.metadata.namespace ?? ""}/${object.metadata.name}: spec.baseURL: the key in ${keyVariable} is sent to ${allowed} alone, not to ${named}. Set --base-url ${named} if that is meant`,
    };
  }
  const resolved = resolve(object, secret?.object, [named]);
  if (resolved.kind === "account") return { account: resolved.account, connection: object };
  const instead = resolved.reason === "SecretNotFound" ? ` Or set ${keyVariable}.` : "";
  const place = (resolved.reason === "InvalidSecret" ? secret?.where : undefined) ?? connection.where;
  return {
    problem: `${place}: ServiceConnection ${object.metadata.namespace ?? ""}/${object.metadata.name}: ${resolved.message}${instead}`,
  };
}

function givenKey({ env }: Given): ApiKey | undefined {
  const text = env[keyVariable]?.trim() ?? "";
  if (text === "") return undefined;
  if (/^[\x21-\x7e]{1,1024}$/.test(text)) return new ApiKey(text);
  throw new CommandProblem([`${keyVariable} holds no API key: it must be one line of printable characters`]);
}

function givenBaseURL({ baseURL = publicServicePattern }: Given): string {
  const normalised = normalisedBaseURL(baseURL);
  if (normalised?.endsWith("/api/v2") === true) return normalised;
  throw new CommandProblem([
    `--base-url must be an http or https URL that ends in /api/v2, without user, query and fragment, for example ${publicServicePattern}, not ${JSON.stringify(baseURL)}`,
  ]);
}

function find<T extends { metadata: { name: string; namespace?: string | undefined } }>(
  list: readonly Declared<T>[],
  namespace: string | undefined,
  name: string,
): Declared<T> | undefined {
  return list.find(({ object: { metadata } }) => metadata.name === name && metadata.namespace === namespace);
}
