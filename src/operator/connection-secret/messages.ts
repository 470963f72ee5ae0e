// Messages of conditions and events about connection Secrets.

import type { EventInput } from "../kube/event-record.ts";

export const secretConflict = (name: string): string =>
  `Secret "${name}" exists and does not belong to this Compute, so it is not overwritten. Delete it, or name another in spec.connectionSecret.`;

export const secretForbidden = {
  toRead:
    "The operator has no right to Secrets in this namespace, so it cannot write the one that spec.connectionSecret names. Remove spec.connectionSecret, or have an administrator bind the operator's ClusterRole for Secrets.",
  toSeeNamespaces: (namespace: string) =>
    `The operator cannot see whether namespace "${namespace}" takes the Secret that spec.connectionSecret names: it watches some namespaces only, or has no right to namespaces. Remove spec.connectionSecret.namespace, or have an administrator install the operator for the whole cluster.`,
  terminating: (namespace: string) =>
    `Namespace "${namespace}" is being deleted, and takes no Secret any more. Name another in spec.connectionSecret.namespace.`,
  toWrite: (namespace: string) =>
    `The operator may not write the Secret that spec.connectionSecret names. Bind the operator's Role for Secrets in namespace "${namespace}".`,
};

/** The same for a namespace that there is not: nobody learns which namespaces exist. */
export const secretNotAllowed = (namespace: string, label: string): string =>
  `Namespace "${namespace}" does not take the Secret that spec.connectionSecret names: it has no label ${label}. Ask an administrator to set it (kubectl label namespace ${namespace} ${label}=yes), or remove spec.connectionSecret.namespace.`;

const whyLeft = {
  agreement: "that namespace does not agree to it any more",
  rights: "the operator may not delete it",
  sight: "the operator cannot see whether that namespace agrees",
  finalizer: "the Compute was deleted without the operator's finalizer",
  definition: "the definition of Computes goes",
} as const;
export type WhyLeft = keyof typeof whyLeft;

/** A Secret in another namespace that stays where its Compute has another one now, or goes. */
export function secretLeft(
  { namespace = "", name }: { namespace?: string | undefined; name: string },
  why: WhyLeft,
): EventInput {
  const message = `Connection Secret ${namespace}/${name} is kept: ${whyLeft[why]}. Delete it if nothing uses it.`;
  return { type: "Warning", reason: "Released", message };
}

export const secretRejected = {
  details: (doing: string, said: string) =>
    `The service could not ${doing}: ${said}. Check database and role in spec.connectionSecret, or remove both to have host and port alone.`,
  /** `said`: the service's own text, which names database, role or both; else the very call may be missing. */
  notFound: (
    { name, database = "", role = "" }: { name: string; database?: string | undefined; role?: string | undefined },
    branchID: string,
    said: string,
  ): string => {
    const named = [
      ...(/database/i.test(said) ? [`database "${database}"`] : []),
      ...(/role/i.test(said) ? [`role "${role}"`] : []),
    ];
    const what = named.join(" or ");
    if (what === "") return secretRejected.details(readingDetails(name), said);
    return `Branch ${branchID} has no ${what}, as spec.connectionSecret names it (${said}). Create it at the service, correct spec.connectionSecret, or remove both there to have host and port alone.`;
  },
  template: ({ key, placeholder }: { key: string; placeholder: string }) =>
    `The service shows no value for ${placeholder}, which key "${key}" of spec.connectionSecret.template.data has. Remove it from the template.`,
  tooLarge:
    "spec.connectionSecret.template.data comes to more than a Secret holds, 1 MiB, with what is filled in. Use fewer placeholders.",
  byCluster: (name: string, said: string) =>
    `The Kubernetes API server refused to store Secret "${name}": ${said}. If that Secret exists, delete it; the operator then creates it.`,
};

export const secretUpdated = {
  password: (role: string, name: string) =>
    `The password of role "${role}" changed at the service, and Secret "${name}" holds the new one. Restart the applications that use the old one.`,
  changed: (name: string) =>
    `Secret "${name}" was changed outside the operator, and its content was restored. Change spec.connectionSecret instead.`,
  recreated: (name: string) =>
    `Secret "${name}" was deleted outside the operator, and was created again. To do without it, remove spec.connectionSecret.`,
};

/** Of event PasswordRotated: it names the role and nothing else. */
export const passwordRotated = (role: string) =>
  ({
    type: "Normal",
    reason: "PasswordRotated",
    message: `Role "${role}" has a new password, and the connection Secret holds it.`,
  }) as const;

/** Purpose of the request: completes "The service could not …". */
export const readingDetails = (name: string): string => `return the connection details for Secret "${name}"`;

export const unreadableURI = "it returned a connection URI that cannot be read";
