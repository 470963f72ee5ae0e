import type { Compute } from "../resources/compute.ts";
import type { KeptSecret } from "./kept-secret.ts";
import type { SecretPlace } from "./place.ts";

/** Connection Secrets and namespaces, as the watches have delivered them. */
export interface SecretCache {
  /** The connection Secrets of a namespace; `undefined`: no right to read them. */
  ours: (namespace: string) => readonly KeptSecret[] | undefined;
  /** A connection Secret of anybody's. */
  at: (place: SecretPlace) => KeptSecret | undefined;
  /** The connection Secrets in other namespaces of a Compute with this uid. */
  elsewhere: (uid: string) => Iterable<KeptSecret>;
  /** True if the namespace bears this label; `undefined`: that cannot be seen. */
  isLabelled: (namespace: string, label: string) => boolean | undefined;
  /** The namespaces that bear this label; empty where none can be seen. */
  namespacesWith: (label: string) => readonly string[];
  /** True if there is a Compute of this uid. */
  isLive: (uid: string) => boolean;
  /** The other Computes that name a role of this one on its branch. */
  sharingRole: (compute: Compute) => readonly Compute[];
}
