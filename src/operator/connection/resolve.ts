import type { ResourceKind } from "../kube/objects.ts";
import { type Connection, isOfCluster } from "../resources/cluster-service-connection.ts";
import type { KubeObject } from "../resources/object.ts";
import type { Account } from "../service-client/account.ts";
import { ApiKey } from "../service-client/api-key.ts";
import { isAllowedBaseURL, normalisedBaseURL } from "./base-url.ts";
import { caBundleProblem } from "./ca-bundle.ts";
import { invalidSecret, notAllowed, secretNotFound } from "./messages.ts";

/** A Secret as the API server stores it. */
export interface Secret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

export const secretKind: ResourceKind<Secret> = {
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
};

/** What a connection and its Secret say, before any request to the service. */
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
  if (!/^[\x21-\x7e]{1,1024}$/.test(text)) return invalid(invalidSecret.unusable(name, key));
  const { caBundle, organizationID } = spec;
  return {
    kind: "account",
    account: {
      baseURL,
      key: new ApiKey(text),
      ...(caBundle === undefined ? {} : { caBundle }),
      ...(organizationID === undefined ? {} : { organizationID }),
    },
  };
}
