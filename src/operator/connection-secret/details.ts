import type { Endpoint } from "../../api/endpoint.ts";
import { poolerHost } from "../../api/pooler-host.ts";
import type { Compute } from "../resources/compute.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import type { RolePassword } from "../service-client/role-password.ts";
import { unreadableURI } from "./messages.ts";

const defaultPort = "5432";

/** The longest URI that is written, in characters; the cache keeps no longer one. */
export const longestURI = 16_384;

/**
 * The service's answer: the data of a Secret, or that the URI which the Secret holds is still the right one.
 * `isStored`: false where the service stores no passwords, so that its URI has none.
 */
export type Details =
  | { kind: "read"; data: Record<string, string>; isStored: boolean }
  | { kind: "same"; isStored: boolean }
  | { kind: "failed"; failure: Failure };

/** The login of an application. */
export interface Login {
  role: string | undefined;
  /** The URI of a Secret that stands and is as it was written. */
  held?: string | undefined;
  /** A URI with the last password that is known of the role, for a service that stores none. */
  known?: string | undefined;
  /** The password that a reset was answered with. */
  password?: RolePassword | undefined;
}

/** Reads what an application connects with. */
export async function connectionDetails(
  { spec }: Compute,
  endpoint: Endpoint,
  { role, held, known, password }: Login,
  client: Pick<ServiceClient, "connectionURI">,
  signal: AbortSignal,
): Promise<Details> {
  const { database } = spec.connectionSecret ?? {};
  const pooledHost = poolerHost(endpoint);
  const data: Record<string, string> = {
    type: "postgresql",
    host: endpoint.host ?? "",
    ...(pooledHost === undefined ? {} : { "pooled-host": pooledHost }),
    port: defaultPort,
    "endpoint-id": endpoint.id,
  };
  if (database === undefined || role === undefined) return { kind: "read", isStored: true, data };
  const query = { database_name: database, role_name: role, endpoint_id: endpoint.id };
  const direct = await client.connectionURI(spec.projectID, { ...query, pooled: "false" }, signal);
  if (direct.kind !== "ok") return { kind: "failed", failure: direct };
  const isStored = passwordIn(direct.value) !== "";
  const complete = (uri: string) => withPassword(uri, password, isStored ? undefined : known);
  const uri = complete(direct.value);
  // The pooled one has the same role and password.
  if (uri === held) return { kind: "same", isStored };
  const pooled = await client.connectionURI(spec.projectID, { ...query, pooled: "true" }, signal);
  if (pooled.kind !== "ok") return { kind: "failed", failure: pooled };
  if (!URL.canParse(uri) || Math.max(uri.length, pooled.value.length) > longestURI) {
    const failure: Failure = { kind: "unavailable", message: unreadableURI };
    return { kind: "failed", failure };
  }
  const { username, hostname, port, searchParams } = new URL(uri);
  const credentials = { username: decoded(username), password: decoded(passwordIn(uri)) };
  const uris = { database, uri, "pooled-uri": complete(pooled.value) };
  const options = searchParams.get("options");
  if (options === null) {
    return { kind: "read", isStored, data: { ...data, ...credentials, ...uris, port: port || defaultPort } };
  }
  // One address serves all endpoints of such a service: the options name the endpoint.
  const pooledOptions = URL.canParse(pooled.value) ? new URL(pooled.value).searchParams.get("options") : null;
  const host = hostname.replaceAll(/^\[|\]$/g, "");
  const address = { host, "pooled-host": host, port: port || defaultPort };
  const routing = { options, "pooled-options": pooledOptions ?? options };
  return { kind: "read", isStored, data: { ...data, ...credentials, ...uris, ...address, ...routing } };
}

/** The password in a URI, as it is written there; empty where it has none. */
export function passwordIn(uri: string | undefined): string {
  return uri !== undefined && URL.canParse(uri) ? new URL(uri).password : "";
}

/** A URI with the password of a reset, or else with the known one where the service shows none. */
function withPassword(uri: string, answered: RolePassword | undefined, known: string | undefined): string {
  if (!URL.canParse(uri)) return uri;
  if (answered !== undefined) return answered.within(uri);
  const password = passwordIn(known);
  if (password === "") return uri;
  const url = new URL(uri);
  url.password = password;
  return url.toString();
}

/** A part of a URI as a client reads it: what is no percent-encoding stands for itself. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The data of a Secret as Kubernetes stores it. */
export function encoded(data: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
}
