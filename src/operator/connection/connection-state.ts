import { scopedProjectOf } from "../../api/error.ts";
import type { Project } from "../../api/project.ts";
import { confirmAfterMs } from "../project/list-timing.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import { type Answer, type Failure, isRefused, steadyMessage } from "../service-client/answer.ts";
import type { RequestBudget } from "../service-client/budget.ts";
import { longPauseMs } from "../service-client/request-reservation.ts";

/** The service's answer to the key; `unknown` until the first probe has ended. */
export type Health =
  | { kind: "unknown" }
  | { kind: "reachable" }
  | { kind: "unauthorized"; message: string }
  | { kind: "unreachable"; message: string };

export type KeyType = "personal" | "organization" | "project" | "unknown";

export interface ConnectionStateOptions {
  clock: Clock;
  /** Reports when the service asks for a pause. */
  budget: Pick<RequestBudget, "onPause" | "closedForMs">;
  /** Something changed that a status shows, or the next probe became due sooner. */
  onChange: () => void;
  /** True if a Compute uses the project: its organization is remembered while the service does not list it. */
  isUsed: (projectID: string) => boolean;
}

/** Minimum distance between a probe and the next one that failing requests bring forward, in milliseconds. */
const failureProbeAfterMs = 30_000;

/**
 * A session's knowledge of its key and its service, from probes and from the answers to all other requests.
 *
 * | answer                                    | unknown     | reachable    | unreachable | unauthorized |
 * |-------------------------------------------|-------------|--------------|-------------|--------------|
 * | 401, the first                            | suspected   | suspected    | suspected   |              |
 * | 401, again after five seconds             | unauthorized| unauthorized | unauthorized|              |
 * | a probe without a usable answer, the first| unreachable | suspected    | unreachable | unreachable  |
 * | such a probe, again after five seconds    |             | unreachable  |             |              |
 * | a probe with a usable answer              | reachable   | reachable    | reachable   | reachable    |
 * | a list of endpoints                       |             |              | reachable   |              |
 *
 * A suspicion makes a probe due five seconds later; an accepted request clears a suspected key. Beside health there is
 * the pause: it begins when the service asks for a long one, and ends with the next answer that asks for none,
 * so that a service that asks for one pause after another is not reported as usable in between.
 */
export class ConnectionState {
  readonly #options: ConnectionStateOptions;
  /** Stops listening to the budget. */
  readonly stop: Cancel;
  #health: Health = { kind: "unknown" };
  #isPaused = false;
  #suspected: { kind: "unauthorized" | "unreachable"; since: number } | undefined;
  #keyType: KeyType = "unknown";
  #projects: readonly Project[] | undefined;
  #unlisted: Failure | undefined;
  /** The organization of each project, as last listed. */
  readonly #organizations = new Map<string, string>();
  #isProbing = false;
  #probedAt = Number.NEGATIVE_INFINITY;
  #failedProbes = 0;
  /** A request has failed since the last probe: only a probe tells whether the service is at fault. */
  #isBroughtForward = false;

  constructor(options: ConnectionStateOptions) {
    this.#options = options;
    const { budget } = options;
    this.stop = budget.onPause(() => {
      if (budget.closedForMs > longPauseMs) this.#setPaused(true);
    });
  }

  get health(): Health {
    return this.#health;
  }

  /** Health in a status: a pause hides everything but a refused key. */
  get shown(): Health | { kind: "paused" } {
    return this.#isPaused && this.#health.kind !== "unauthorized" ? { kind: "paused" } : this.#health;
  }

  get keyType(): KeyType {
    return this.#keyType;
  }

  /** The projects that the key reaches, as last listed; `undefined` until then. */
  get projects(): readonly Project[] | undefined {
    return this.#projects;
  }

  /** Reason why the service accepts the key but does not list its projects. */
  get unlisted(): Failure | undefined {
    return this.#unlisted;
  }

  /** Reason why nothing but a probe may be sent: the service refused the key. */
  get refusal(): Failure | undefined {
    return this.#health.kind === "unauthorized" ? { kind: "unauthorized", message: this.#health.message } : undefined;
  }

  /** The organization that a project was last seen to belong to. */
  organizationOf(projectID: string): string | undefined {
    return this.#organizations.get(projectID);
  }

  /** Milliseconds until the next probe is due; `undefined` while one runs, because its end is reported. */
  get probeInMs(): number | undefined {
    if (this.#isProbing) return undefined;
    if (this.#isBroughtForward) return 0;
    const regularAt = this.#probedAt + probeInterval(this.#health, this.#failedProbes);
    return Math.max(0, Math.min(regularAt, this.#confirmAt) - this.#options.clock.monotonic());
  }

  /** A request failed; returns what the failure counts as. */
  failed(failure: Failure): Failure {
    const { kind, message } = failure;
    if (kind !== "rateLimited" && kind !== "superseded") this.#answered();
    if (kind === "unauthorized" && this.#health.kind !== "unauthorized") {
      if (!this.#isConfirmed("unauthorized")) return { kind: "refusedOnce", message };
      this.#probedAt = this.#options.clock.monotonic();
      this.#setHealth({ kind: "unauthorized", message });
    }
    if (kind === "unavailable" || kind === "ambiguous") this.#bringForward();
    if (kind === "forbidden" && scopedProjectOf(message) !== undefined && this.#keyType !== "project") {
      this.#keyType = "project";
      this.#options.onChange();
    }
    return failure;
  }

  /** A request was accepted with the key. */
  accepted(): void {
    this.#answered();
    if (this.#suspected?.kind === "unauthorized") this.#suspected = undefined;
  }

  /** The endpoints of a project were listed. */
  listed(): void {
    if (this.#health.kind !== "unreachable") return;
    this.#failedProbes = 0;
    this.#setHealth({ kind: "reachable" });
  }

  probeBegins(): void {
    this.#probedAt = this.#options.clock.monotonic();
    this.#isProbing = true;
    this.#isBroughtForward = false;
  }

  /** The type that /auth reports, unless a refusal has already shown that the key belongs to one project. */
  authShows(method: string): void {
    if (this.#keyType === "project") return;
    if (method === "api_key_user") this.#keyType = "personal";
    if (method === "api_key_org") this.#keyType = "organization";
  }

  /** Takes in the answer to a probe's list of projects; a refused key counts as that of any other request. */
  projectsShow(listed: Answer<{ projects: readonly Project[] }>, organizationID: string | undefined): void {
    if (listed.kind === "ok") this.#setProjects(listed.value.projects);
    const refused = listed.kind !== "ok" && isRefused(listed) ? listed : undefined;
    this.#unlisted = refused && { ...refused, message: steadyMessage(this.#unlisted?.message, refused.message) };
    const before = this.#health;
    let health = healthShownBy(listed, organizationID);
    if ("message" in health && "message" in before)
      health = { ...health, message: steadyMessage(before.message, health.message) };
    const isLost = health.kind === "unreachable" && before.kind === "reachable";
    if (!isLost || this.#isConfirmed("unreachable")) this.#setHealth(health);
  }

  probeEnds(): void {
    this.#isProbing = false;
    // A suspicion that was due before the probe began, and that the probe did not confirm, is over.
    if (this.#confirmAt <= this.#probedAt) this.#suspected = undefined;
    if (this.#health.kind === "reachable") this.#failedProbes = 0;
    else if (this.#suspected === undefined) this.#failedProbes += 1;
  }

  /** Time of the probe that confirms a suspicion. */
  get #confirmAt(): number {
    return (this.#suspected?.since ?? Number.POSITIVE_INFINITY) + confirmAfterMs;
  }

  /** True if the present answer confirms an earlier one; otherwise it is suspected from now on. */
  #isConfirmed(kind: "unauthorized" | "unreachable"): boolean {
    const now = this.#options.clock.monotonic();
    if (this.#suspected?.kind !== kind) {
      this.#suspected = { kind, since: now };
      this.#options.onChange();
      return false;
    }
    if (now < this.#confirmAt) return false;
    this.#suspected = undefined;
    return true;
  }

  /** A request ended otherwise than with another pause. */
  #answered(): void {
    if (this.#options.budget.closedForMs === 0) this.#setPaused(false);
  }

  #setPaused(isPaused: boolean): void {
    if (isPaused === this.#isPaused) return;
    this.#isPaused = isPaused;
    this.#options.onChange();
  }

  #setHealth(health: Health): void {
    const hasChanged = health.kind !== this.#health.kind;
    this.#health = health;
    if (hasChanged) this.#options.onChange();
  }

  #setProjects(projects: readonly Project[]): void {
    this.#projects = projects.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const id of this.#organizations.keys()) if (!this.#options.isUsed(id)) this.#organizations.delete(id);
    for (const { id, org_id } of projects) if (org_id !== undefined) this.#organizations.set(id, org_id);
  }

  /** Otherwise the connection would count as reachable for up to ten minutes after the service failed. */
  #bringForward(): void {
    const sinceProbeMs = this.#options.clock.monotonic() - this.#probedAt;
    if (this.#isProbing || this.#isBroughtForward || this.#health.kind !== "reachable") return;
    if (sinceProbeMs < failureProbeAfterMs) return;
    this.#isBroughtForward = true;
    this.#options.onChange();
  }
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
