import type { Connection } from "../resources/cluster-service-connection.ts";
import type { Failure } from "../service-client/answer.ts";
import { authenticated, unanswered, unauthorized, unreachable } from "./messages.ts";
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
  /** The connection is being deleted and Computes still use it. */
  | "Deleting";

const paused = { reason: "Unreachable", message: unreachable.paused } as const;

/** Reason and message of the Ready condition. */
export function connectionCondition(
  { spec }: Connection,
  resolved: Resolved,
  session: Session | undefined,
): { reason: ConnectionReason; message: string } {
  if (resolved.kind === "refused") return resolved;
  const health = session?.probe.health ?? { kind: "unknown" };
  if (session?.pause.isOn === true && health.kind !== "unauthorized") return paused;
  switch (health.kind) {
    case "reachable": {
      const unlisted = session?.probe.unlisted;
      const parts = [
        authenticated.accepted,
        ...(unlisted === undefined ? [] : [unlistedMessage(unlisted, spec.organizationID)]),
        ...(session?.refreshes.isStretched === true ? [authenticated.stretched] : []),
      ];
      return { reason: "Authenticated", message: parts.join(" ") };
    }
    case "unauthorized":
      return { reason: "Unauthorized", message: unauthorized.connection(health.message) };
    case "unreachable":
      return { reason: "Unreachable", message: unreachable.noUsableAnswer(health.message) };
    case "unknown":
      return { reason: "Unreachable", message: unanswered };
  }
}

/** The service accepts the key but does not list its projects. */
function unlistedMessage({ message, kind }: Failure, organizationID: string | undefined): string {
  if (organizationID !== undefined) return authenticated.unlisted(message, authenticated.checkOrganization);
  return authenticated.unlisted(message, kind === "refused" ? authenticated.nameOrganization : undefined);
}
