import { deleting } from "../../operator/branch/words.ts";
import { orRetain } from "../../operator/compute/words/deletion.ts";
import { checkProject, replaceKey, retriedAtEnd } from "../../operator/conditions/messages.ts";
import { type Connection, labelOf } from "../../operator/resources/cluster-service-connection.ts";
import { keyVariable } from "../manifests/accounts.ts";

interface Said {
  reason: string;
  message: string;
}

const inManifests: readonly (readonly [from: string, to: string])[] = [
  [replaceKey, replaceKey.replace(/\.$/, `, or into ${keyVariable}.`)],
];

const inFlags: readonly (readonly [from: string, to: string])[] = [
  [replaceKey, `Set a valid key in ${keyVariable}.`],
  [checkProject, `Check --project, --base-url and ${keyVariable}.`],
];

/**
 * The operator's message about a failed list, for a command that lists once and has no cluster. `named`: the source of
 * base URL and key.
 */
export function saidOnce({ reason, message }: Said, baseURL: string, named: "manifests" | "flags"): string {
  const words = named === "manifests" ? inManifests : inFlags;
  const said = words.reduce((text, [from, to]) => text.replace(from, to), message.replace(retriedAtEnd, "."));
  if (reason !== "ServiceUnavailable" && reason !== "Unauthorized") return said;
  const stop = /[.!?]$/.test(said) ? "" : ".";
  const place = named === "manifests" ? "spec.baseURL of the ServiceConnection, else --base-url" : "--base-url";
  return `${said}${stop} Check that the service is at ${baseURL} (${place}).`;
}

/** A message for `apply --prune`, which deletes where there is no object whose deletionPolicy could be set. */
export function withoutRetain(message: string): string {
  const waysOut = [` ${orRetain}`, ` ${deleting.orRetain}`, ", or set deletionPolicy: Retain"];
  return waysOut.reduce((text, wayOut) => text.replace(wayOut, ""), message);
}

/** The end of a sentence that begins with the path of `deletionProtection`. */
export const refusesDeletion =
  "deletionProtection: true refuses its deletion. Set it to false first, or keep the manifest.";

/** The Branch that a Compute names, where neither manifests nor a cluster show it. */
export function branchUnknown(name: string): string {
  return `${name} is in neither these manifests nor a cluster that was read. Add it, or use branchName or branchID.`;
}

/** A message about a project that the connection of its objects does not allow. */
export function projectNotAllowed(connection: Connection, projectID: string): string {
  return `${labelOf(connection)} does not allow project ${projectID}. Add it to its spec.allowedProjects, or use another connection.`;
}

/** Messages about Branches that only a command shows. */
export const saidOfBranch = {
  laterEnd: (theirs: string | undefined) =>
    `The branch ${theirs === undefined ? "has no end" : `ends at ${theirs}`} at the service, later than declared, and that end is kept. Change it at the service, or declare it.`,
  looking: "The lists do not show yet what the last request came to.",
  reset: "the branch is reset to the head of its parent, which replaces its data",
  deleted: "The Branch is being deleted in its cluster.",
};

/** The most names in a message. */
const mostNamed = 5;

/** The first names of many, and the number of the others. */
export function firstFew(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return names.slice(0, mostNamed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
