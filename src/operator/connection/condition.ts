import type { ServiceConnection } from "../resources/service-connection.ts";
import type { Failure } from "../service-client/answer.ts";
import type { Resolved } from "./resolve.ts";
import type { Session } from "./session.ts";

/** Why a ServiceConnection is ready, or is not. */
export type ConnectionReason =
  | "Authenticated"
  | "Unauthorized"
  | "Unreachable"
  | "NotAllowed"
  | "SecretNotFound"
  | "InvalidSecret"
  /** It is being deleted, and Computes still use it. */
  | "Deleting";

/** What a connection says until its service has answered this process. */
export const unanswered = "The service has not answered yet.";

const paused = {
  reason: "Unreachable",
  message:
    "The service asked for a pause, and nothing is sent until it is over: at most five minutes. If it asks often, lower spec.requestBudget.",
} as const;

const stretched =
  "Projects are listed less often than spec.refreshInterval asks, because spec.requestBudget has no room for more.";

/** What there is to say of a connection: reason and message of its condition. */
export function verdictOn(
  { spec }: ServiceConnection,
  resolved: Resolved,
  session: Session | undefined,
): { reason: ConnectionReason; message: string } {
  if (resolved.kind === "refused") return resolved;
  const health = session?.health ?? { kind: "unknown" };
  if (session?.pause.isOn === true && health.kind !== "unauthorized") return paused;
  switch (health.kind) {
    case "reachable": {
      const unlisted = session?.unlisted;
      const said = unlisted === undefined ? "" : ` ${listless(unlisted, spec.organizationID)}`;
      const late = session?.refreshes.isStretched === true ? ` ${stretched}` : "";
      return { reason: "Authenticated", message: `The service accepts the API key.${said}${late}` };
    }
    case "unauthorized":
      return {
        reason: "Unauthorized",
        message: `The service refuses the API key: ${health.message}. Put a valid one into the Secret; until then only an occasional probe is sent.`,
      };
    case "unreachable":
      return {
        reason: "Unreachable",
        message: `The service gives no usable answer: ${health.message}. It is retried automatically; check baseURL and the network.`,
      };
    case "unknown":
      return { reason: "Unreachable", message: unanswered };
  }
}

/** A key that the service knows, and whose projects it does not list all the same. */
function listless({ message, kind }: Failure, organizationID: string | undefined): string {
  const said = `Its projects cannot be listed: ${message}.`;
  if (organizationID !== undefined) return `${said} Check spec.organizationID, and that the key reaches it.`;
  return kind === "refused" ? `${said} Name the organization in spec.organizationID.` : said;
}
