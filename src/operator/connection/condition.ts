import type { ServiceConnection } from "../resources/service-connection.ts";
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
  /** It is being deleted, and Computes still use it. */
  | "Deleting";

const paused = { reason: "Unreachable", message: unreachable.paused } as const;

/** What there is to say of a connection: reason and message of its condition. */
export function verdictOn(
  { spec }: ServiceConnection,
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
        ...(unlisted === undefined ? [] : [listless(unlisted, spec.organizationID)]),
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

/** A key that the service knows, and whose projects it does not list all the same. */
function listless({ message, kind }: Failure, organizationID: string | undefined): string {
  if (organizationID !== undefined) return authenticated.unlisted(message, authenticated.checkOrganization);
  return authenticated.unlisted(message, kind === "refused" ? authenticated.nameOrganization : undefined);
}
