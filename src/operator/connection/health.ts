import type { Answer, Failure } from "../service-client/answer.ts";
import { steadyMessage } from "../service-client/same-words.ts";

/** Whether the service lets us in. `unknown` until the first probe has an answer. */
export type Health =
  | { kind: "unknown" }
  | { kind: "reachable" }
  | { kind: "unauthorized"; message: string }
  | { kind: "unreachable"; message: string };

export type KeyType = "personal" | "organization" | "project" | "unknown";

/** What a list of projects shows: how the service is, and why it does not list them though it takes the key. */
export interface Shown {
  health: Health;
  unlisted: Failure | undefined;
}

export function shownBy(listed: Answer<unknown>, organizationID: string | undefined, before: Shown): Shown {
  const health = healthShownBy(listed, organizationID);
  const told = "message" in before.health ? before.health.message : undefined;
  const refused = listed.kind === "notFound" || listed.kind === "forbidden" || listed.kind === "refused";
  return {
    health: "message" in health ? { ...health, message: steadyMessage(told, health.message) } : health,
    unlisted: refused ? { ...listed, message: steadyMessage(before.unlisted?.message, listed.message) } : undefined,
  };
}

/** A service may lack /auth, and a key may not be allowed to list projects: any answer of its own shows it alive. */
function healthShownBy(listed: Answer<unknown>, organizationID: string | undefined): Health {
  if (listed.kind === "unavailable" || listed.kind === "ambiguous") {
    return { kind: "unreachable", message: listed.message };
  }
  // No service lacks this call: where it is not found, and that is not the organization, something else is there.
  if (listed.kind === "notFound" && organizationID === undefined) {
    return { kind: "unreachable", message: `GET /projects: ${listed.message}` };
  }
  return { kind: "reachable" };
}

/** What /auth says of a key, and a refusal that named its project said better. */
export function keyTypeShownBy(method: string, before: KeyType): KeyType {
  if (before === "project") return before;
  if (method === "api_key_user") return "personal";
  return method === "api_key_org" ? "organization" : before;
}

export function isKeyRefused({ kind }: Answer<unknown>): boolean {
  return kind === "unauthorized" || kind === "refusedOnce";
}

/** A healthy key is looked at every ten minutes; what fails, after one minute, then ever later up to ten. */
export function probeInterval(health: Health, failedProbes: number): number {
  switch (health.kind) {
    case "unknown":
      return 10_000;
    case "reachable":
      return 600_000;
    case "unreachable":
      return Math.min(60_000, 5000 * 2 ** Math.max(0, failedProbes - 1));
    case "unauthorized":
      return Math.min(600_000, 60_000 * 2 ** Math.max(0, failedProbes - 1));
  }
}
