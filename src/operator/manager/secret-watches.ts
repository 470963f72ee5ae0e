import { keptApiKey } from "../connection/kept-api-key.ts";
import { type KeptSecret, keptConnectionSecret } from "../connection-secret/kept-secret.ts";
import { isObjectOf } from "../kube/objects.ts";
import type { ReflectorOptions } from "../kube/reflector.ts";
import { API_KEY_SECRET_TYPE, labels } from "../resources/names.ts";
import { type Secret, secretKind } from "../resources/secret.ts";

/** API keys, by their type. */
export const apiKeysOnly: Partial<ReflectorOptions<Secret>> = {
  fieldSelector: `type=${API_KEY_SECRET_TYPE}`,
  selects: ({ type }) => type === API_KEY_SECRET_TYPE,
  parse: (raw) => (isObjectOf(secretKind, raw) ? keptApiKey(raw) : undefined),
};

/** Connection Secrets, by their label: other Secrets are neither sent nor kept. */
export const connectionSecretsOnly: Partial<ReflectorOptions<KeptSecret>> = {
  labelSelector: labels.compute,
  selects: ({ metadata }) => metadata.labels?.[labels.compute] !== undefined,
  parse: (raw) => (isObjectOf(secretKind, raw) ? keptConnectionSecret(raw) : undefined),
};
