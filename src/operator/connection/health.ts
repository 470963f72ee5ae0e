import { type Answer, type Failure, isRefused, steadyMessage } from "../service-client/answer.ts";

/** Whether the service answers and accepts the key; `unknown` until the first probe has ended. */
export type Health =
  | { kind: "unknown" }
  | { kind: "reachable" }
  | { kind: "unauthorized"; message: string }
  | { kind: "unreachable"; message: string };

export type KeyType = "personal" | "organization" | "project" | "unknown";

/** What a list of projects shows: the health, and why the service accepts the key but does not list its projects. */
export interface Shown {
  health: Health;
  unlisted: Failure | undefined;
}

export function shownBy(listed: Answer<unknown>, organizationID: string | undefined, before: Shown): Shown {
  const health = healthShownBy(listed, organizationID);
  const previous = "message" in before.health ? before.health.message : undefined;
  const refused = listed.kind !== "ok" && isRefused(listed) ? listed : undefined;
  return {
    health: "message" in health ? { ...health, message: steadyMessage(previous, health.message) } : health,
    unlisted: refused && { ...refused, message: steadyMessage(before.unlisted?.message, refused.message) },
  };
}

/** A service may lack /auth, and a key may not be allowed to list projects: any other answer proves it reachable. */
function healthShownBy(listed: Answer<unknown>, organizationID: string | undefined): Health {
  if (listed.kind === "unavailable" || listed.kind === "ambiguous") {
    return { kind: "unreachable", message: listed.message };
  }
  // Every service has this call. A 404 without an organization means that the base URL leads to something else.
  if (listed.kind === "notFound" && organizationID === undefined) {
    return { kind: "unreachable", message: `GET /projects: ${listed.message}` };
  }
  return { kind: "reachable" };
}

/** The type that /auth reports, unless a refusal has already shown that the key belongs to one project. */
export function keyTypeShownBy(method: string, before: KeyType): KeyType {
  if (before === "project") return before;
  if (method === "api_key_user") return "personal";
  return method === "api_key_org" ? "organization" : before;
}

export function isKeyRefused({ kind }: Answer<unknown>): boolean {
  return kind === "unauthorized" || kind === "refusedOnce";
}

/** Every ten minutes while healthy; otherwise with growing intervals. In milliseconds. */
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
