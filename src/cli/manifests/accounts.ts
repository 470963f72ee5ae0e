import { z } from "zod";
import { normalisedBaseURL, publicServicePattern } from "../../operator/connection/base-url.ts";
import { resolve, type Secret } from "../../operator/connection/resolve.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { objectMeta, type Parsed, parseWith } from "../../operator/resources/object.ts";
import type { ServiceConnection } from "../../operator/resources/service-connection.ts";
import type { Account } from "../../operator/service-client/account.ts";
import { ApiKey } from "../../operator/service-client/api-key.ts";
import { CommandProblem } from "../commands/ports.ts";
import type { Declared, Manifests } from "./manifests.ts";

export const keyVariable = "COMPUTE_OPERATOR_API_KEY";

/** The flags and environment variables for the service. */
export interface Given {
  baseURL: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
}

/** The account of a Compute, or why it has none. */
export type Reached = { account: Account; connection: ServiceConnection | undefined } | { problem: string };

/** The account of flags and environment. Throws `CommandProblem` if they name none. */
export function givenAccount(given: Given): Account {
  const key = givenKey(given);
  if (key === undefined) throw new CommandProblem([`no API key: set the environment variable ${keyVariable}`]);
  return { baseURL: givenBaseURL(given), key };
}

/** Base URL and key of a Compute: from the manifests, then from flags and environment. */
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
    // The manifest is for a service that is not named; a default might be another service.
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
    // Otherwise anyone who may edit a manifest could have the key sent to an address of their own.
    return {
      problem: `${connection.where}: ServiceConnection ${object.metadata.namespace ?? ""}/${object.metadata.name}: spec.baseURL: the key in ${keyVariable} is sent only to ${allowed}, not to ${named}. If you mean that service, set --base-url ${named}`,
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

const text = z.record(z.string(), z.string());

const manifest = z.object({
  kind: z.string().optional(),
  metadata: objectMeta,
  type: z.string().optional(),
  data: text.optional(),
  stringData: text.optional(),
});

/** A Secret as the API server would store it: `stringData` replaces values of `data`. */
export function secretOf(raw: unknown): Parsed<Secret> {
  const parsed = parseWith(manifest, raw);
  if (!parsed.ok) return parsed;
  const { metadata, type, data, stringData = {} } = parsed.value;
  const written = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(value, "utf8").toString("base64"),
  ]);
  const merged: Record<string, string> = { ...data, ...Object.fromEntries(written) };
  return { ok: true, value: { kind: "Secret", metadata, ...(type === undefined ? {} : { type }), data: merged } };
}
