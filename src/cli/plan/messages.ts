import type { Reason } from "../../operator/compute/status/reasons.ts";
import { keyVariable } from "../manifests/accounts.ts";

/** What the operator would say of a failed look, said by a command that looks once and has no cluster. */
export function saidOnce({ reason, message }: { reason: Reason; message: string }, baseURL: string): string {
  const said = message
    .replace(/ It is tried again by itself[^.]*\./, "")
    .replace("the Secret of the ServiceConnection", `the Secret of the ServiceConnection, or into ${keyVariable}`);
  if (reason !== "ServiceUnavailable" && reason !== "Unauthorized") return said;
  const stop = /[.!?]$/.test(said) ? "" : ".";
  return `${said}${stop} Asked was ${baseURL}: is that the service? The address is spec.baseURL of the ServiceConnection in the manifests, else --base-url.`;
}
