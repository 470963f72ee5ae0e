import type { Endpoint } from "../../api/endpoint.ts";
import { poolerHost } from "../../api/pooler-host.ts";
import type { Compute } from "../resources/compute.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import { unreadableURI } from "./messages.ts";

const defaultPort = "5432";

/** The longest URI that is written, in characters; the cache keeps no longer one. */
export const longestURI = 16_384;

/** The service's answer: the data of a Secret, or that the URI which the Secret holds is still the right one. */
export type Details =
  | { kind: "read"; data: Record<string, string> }
  | { kind: "same" }
  | { kind: "failed"; failure: Failure };

/** Reads what an application connects with. `held` is the URI of a Secret that stands and is as it was written. */
export async function connectionDetails(
  { spec }: Compute,
  endpoint: Endpoint,
  held: string | undefined,
  client: Pick<ServiceClient, "connectionURI">,
  signal: AbortSignal,
): Promise<Details> {
  const { database, role } = spec.connectionSecret ?? {};
  const pooledHost = poolerHost(endpoint);
  const data: Record<string, string> = {
    type: "postgresql",
    host: endpoint.host ?? "",
    ...(pooledHost === undefined ? {} : { "pooled-host": pooledHost }),
    port: defaultPort,
    "endpoint-id": endpoint.id,
  };
  if (database === undefined || role === undefined) return { kind: "read", data };
  const query = { database_name: database, role_name: role, endpoint_id: endpoint.id };
  const direct = await client.connectionURI(spec.projectID, { ...query, pooled: "false" }, signal);
  if (direct.kind !== "ok") return { kind: "failed", failure: direct };
  // The pooled one has the same role and password.
  if (direct.value === held) return { kind: "same" };
  const pooled = await client.connectionURI(spec.projectID, { ...query, pooled: "true" }, signal);
  if (pooled.kind !== "ok") return { kind: "failed", failure: pooled };
  if (!URL.canParse(direct.value) || Math.max(direct.value.length, pooled.value.length) > longestURI) {
    const failure: Failure = { kind: "unavailable", message: unreadableURI };
    return { kind: "failed", failure };
  }
  const { username, password, hostname, port, searchParams } = new URL(direct.value);
  const credentials = { username: decoded(username), password: decoded(password) };
  const uris = { database, uri: direct.value, "pooled-uri": pooled.value };
  const options = searchParams.get("options");
  if (options === null) {
    return { kind: "read", data: { ...data, ...credentials, ...uris, port: port || defaultPort } };
  }
  // One address serves all endpoints of such a service: the options name the endpoint.
  const pooledOptions = URL.canParse(pooled.value) ? new URL(pooled.value).searchParams.get("options") : null;
  const host = hostname.replaceAll(/^\[|\]$/g, "");
  const address = { host, "pooled-host": host, port: port || defaultPort };
  const routing = { options, "pooled-options": pooledOptions ?? options };
  return { kind: "read", data: { ...data, ...credentials, ...uris, ...address, ...routing } };
}

/** As a client would read it: what is no percent-encoding stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
