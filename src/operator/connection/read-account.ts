import { X509Certificate } from "node:crypto";
import { isBeingDeleted } from "../objects/object.ts";
import { type Connection, isOfCluster, labelOf } from "../resources/cluster-service-connection.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { selectsAll, selectsLabels } from "../resources/namespace.ts";
import type { Secret } from "../resources/secret.ts";
import { memoize } from "../runtime/caches.ts";
import { type Account, ApiKey } from "../service-client/account.ts";
import { connectionNotReady, invalidSecret, notAllowed, secretNotFound, unreachable } from "./messages.ts";

/** The Secret that a connection names; that of a ClusterServiceConnection lies in an empty namespace of the cache. */
export function secretOf(
  { metadata: { namespace = "" }, spec }: Connection,
  cache: { secret(namespace: string, name: string): Secret | undefined },
): Secret | undefined {
  return cache.secret(namespace, spec.apiKeySecretRef.name);
}

/** Result of reading a connection and its Secret, before any request to the service. */
export type Resolved =
  | { kind: "account"; account: Account }
  | { kind: "refused"; reason: "NotAllowed" | "Unreachable" | "SecretNotFound" | "InvalidSecret"; message: string };

/** Reads base URL and key. `secret`: the Secret that the connection names, if it exists with the right type. */
export function resolve(
  connection: Connection,
  secret: Secret | undefined,
  allowedBaseURLs: readonly string[],
  clusterResourceNamespace?: string,
): Resolved {
  const { spec } = connection;
  const baseURL = normalisedBaseURL(spec.baseURL);
  if (baseURL === undefined || !isAllowedBaseURL(baseURL, allowedBaseURLs)) {
    return { kind: "refused", reason: "NotAllowed", message: notAllowed.baseURL(spec.baseURL, allowedBaseURLs) };
  }
  const untrusted = caBundleProblem(connection);
  if (untrusted !== undefined) return { kind: "refused", reason: "Unreachable", message: untrusted };
  const { name, key } = spec.apiKeySecretRef;
  if (secret === undefined) {
    const place = isOfCluster(connection) ? clusterResourceNamespace : undefined;
    return { kind: "refused", reason: "SecretNotFound", message: secretNotFound(name, key, place) };
  }
  const invalid = (message: string): Resolved => ({ kind: "refused", reason: "InvalidSecret", message });
  const encoded = secret.data !== undefined && Object.hasOwn(secret.data, key) ? secret.data[key] : undefined;
  if (encoded === undefined) return invalid(invalidSecret.noKey(name, key));
  const text = Buffer.from(encoded, "base64").toString("utf8").trim();
  if (text === "") return invalid(invalidSecret.empty(name, key));
  const unusable = whyUnusable(text);
  if (unusable !== undefined) return invalid(invalidSecret.unusable(name, key, unusable));
  const { caBundle, organizationID } = spec;
  return { kind: "account", account: { baseURL, key: new ApiKey(text), caBundle, organizationID } };
}

/** Words for what makes a text no API key; `undefined` if it may be one. Never any of its characters. */
function whyUnusable(text: string): string | undefined {
  if (/^(bearer|basic|token)\s/i.test(text) || /^authorization:/i.test(text)) {
    return "that begins as the header Authorization does; leave Bearer out";
  }
  if (/\s/.test(text)) return "with spaces or line breaks in it";
  if (!/^[\x21-\x7e]*$/.test(text)) return "with characters beyond ASCII";
  return text.length > longestKey ? `of more than ${longestKey} characters` : undefined;
}

const longestKey = 1024;

/** The address of the public service: the only one allowed unless `--allowed-base-url` is set. */
export const publicServicePattern = "https://console.neon.tech/api/v2";

/** Normal form: host in lower case, no default port or trailing slash; `undefined` if the text is no base URL. */
export function normalisedBaseURL(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return undefined;
  const path = url.pathname.replaceAll(/\/+/g, "/").replace(/\/$/, "");
  return `${url.protocol}//${url.host}${path}`;
}

/** True if a normalised base URL matches one of the patterns; `*` matches any characters but `/`. */
export function isAllowedBaseURL(baseURL: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = withoutDefaultPort(pattern).replace(/\/$/, "").split("*");
    const source = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("[^/]*");
    return new RegExp(`^${source}$`, "i").test(baseURL);
  });
}

/** As in a normalised base URL. */
function withoutDefaultPort(pattern: string): string {
  return pattern.replace(/^(https:\/\/[^/]*):443(?=\/|$)|^(http:\/\/[^/]*):80(?=\/|$)/i, "$1$2");
}

/** The message about an unreadable certificate in `spec.caBundle`; `undefined` if all can be read. */
export const caBundleProblem = memoize(({ spec: { caBundle } }: Connection) =>
  caBundle === undefined ? undefined : problemIn(caBundle),
);

function problemIn(pem: string): string | undefined {
  const begins = pem.split("-----BEGIN CERTIFICATE-----").length - 1;
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const broken = blocks.findIndex((block) => !isCertificate(block));
  if (broken === -1 && blocks.length === begins) return undefined;
  const which = broken === -1 ? "A certificate" : `Certificate ${broken + 1} of ${begins}`;
  return unreachable.caBundle(which);
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}

/** The labels of a namespace; `unknown`: the watch has not delivered it, or no longer; `unread`: none can be read. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | "unknown" | "unread";

/** Access of a Compute to a connection, by its namespace; `unknown` until its labels are known. */
export type NamespaceAccess = "granted" | "unknown" | { refused: string };

/** A ServiceConnection serves its own namespace, a ClusterServiceConnection the namespaces that it selects. */
export function namespaceAccess(
  connection: Connection,
  compute: ConnectionUser,
  labelsOf: NamespaceLabels,
): NamespaceAccess {
  if (!isOfCluster(connection) || selectsAll(connection.spec.namespaceSelector)) return "granted";
  const { namespace = "" } = compute.metadata;
  const labels = labelsOf(namespace);
  if (labels === "unread") return { refused: connectionNotReady.namespacesUnread(labelOf(connection)) };
  if (labels === "unknown") {
    // The namespace went before what the Compute left at the service, and nobody took its access away.
    const isLinked = compute.status.clusterConnection === connection.metadata.name;
    return isBeingDeleted(compute) && isLinked ? "granted" : "unknown";
  }
  if (selectsLabels(connection.spec.namespaceSelector, labels)) return "granted";
  return { refused: connectionNotReady.notSelected(labelOf(connection), namespace) };
}
