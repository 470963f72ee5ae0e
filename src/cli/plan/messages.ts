import type { Reason } from "../../operator/compute/status/reasons.ts";
import { keyVariable } from "../manifests/accounts.ts";

interface Said {
  reason: Reason;
  message: string;
}

const inManifests: readonly (readonly [from: string, to: string])[] = [
  ["the Secret of the ServiceConnection", `the Secret of the ServiceConnection, or into ${keyVariable}`],
];

const inFlags: readonly (readonly [from: string, to: string])[] = [
  ["Put a valid one into the Secret of the ServiceConnection.", `Set a valid one in ${keyVariable}.`],
  [
    "Check spec.projectID, and that baseURL and key of the connection lead to that project.",
    `Check --project, --base-url and ${keyVariable}.`,
  ],
];

/**
 * What the operator would say of a failed list, for a command that lists once and has no cluster. `named`: where base
 * URL and key come from.
 */
export function saidOnce({ reason, message }: Said, baseURL: string, named: "manifests" | "flags"): string {
  const words = named === "manifests" ? inManifests : inFlags;
  const said = words.reduce(
    (text, [from, to]) => text.replace(from, to),
    message.replace(/ It is retried automatically[^.]*\./, ""),
  );
  if (reason !== "ServiceUnavailable" && reason !== "Unauthorized") return said;
  const stop = /[.!?]$/.test(said) ? "" : ".";
  const place = named === "manifests" ? "spec.baseURL of the ServiceConnection, else --base-url" : "--base-url";
  return `${said}${stop} Check that the service is at ${baseURL} (${place}).`;
}
