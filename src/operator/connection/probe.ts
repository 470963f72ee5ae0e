import { scopedProjectOf } from "../../api/error.ts";
import type { Project } from "../../api/project.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Failure } from "../service-client/answer.ts";
import type { ServiceClient } from "../service-client/client.ts";
import { type Health, isKeyRefused, type KeyType, keyTypeShownBy, probeInterval, shownBy } from "./health.ts";

export interface ProbeOptions {
  /** Sends with a refused key too: only the probe does. */
  client: ServiceClient;
  organizationID: string | undefined;
  clock: Clock;
  signal: AbortSignal;
  /** Health, key type or projects changed, or the next probe became due sooner. */
  onChange: () => void;
  /** Whether a Compute uses the project: its organization is remembered while the service does not list it. */
  isUsed: (projectID: string) => boolean;
}

/** Minimum distance between a probe and the next one that failing requests bring forward, in milliseconds. */
const failureProbeAfterMs = 30_000;

/**
 * What a session knows of its key and its service: health, type of the key, projects.
 *
 * Expected flow: the connection's reconcile calls `start` whenever `dueInMs` is 0; the probe asks /auth and /projects
 * and calls `onChange`. Answers to other requests are reported by `failed`, `accepted` and `listed`.
 * Guarantees: at most one probe runs at a time. A single 401 or a single failed probe does not end good health: see
 * `Suspicion`. While the key counts as refused, `refusal` keeps every other request from being sent.
 * Assumptions: /auth may be missing; every service answers /projects.
 */
export class Probe {
  readonly #options: ProbeOptions;
  readonly #suspicion: Suspicion;
  #health: Health = { kind: "unknown" };
  #keyType: KeyType = "unknown";
  #projects: readonly Project[] | undefined;
  #unlisted: Failure | undefined;
  /** The organization of each project, as last listed. */
  readonly #organizations = new Map<string, string>();
  #running = false;
  #startedAt = Number.NEGATIVE_INFINITY;
  #failedInARow = 0;
  /** A request has failed since the last probe: only a probe tells whether the service is at fault. */
  #broughtForward = false;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#suspicion = new Suspicion(options.clock, () => options.onChange());
  }

  get health(): Health {
    return this.#health;
  }

  get keyType(): KeyType {
    return this.#keyType;
  }

  /** The projects that the key reaches, as last listed; `undefined` until then. */
  get projects(): readonly Project[] | undefined {
    return this.#projects;
  }

  /** Why the service accepts the key but does not list its projects. */
  get unlisted(): Failure | undefined {
    return this.#unlisted;
  }

  /** Why nothing but the probe may be sent: the service refused the key. */
  get refusal(): Failure | undefined {
    return this.#health.kind === "unauthorized" ? { kind: "unauthorized", message: this.#health.message } : undefined;
  }

  /** The organization that a project was last seen to belong to. */
  organizationOf(projectID: string): string | undefined {
    return this.#organizations.get(projectID);
  }

  /** Milliseconds until the next probe is due; `undefined` while one runs, because `onChange` reports its end. */
  get dueInMs(): number | undefined {
    if (this.#running) return undefined;
    const now = this.#options.clock.monotonic();
    const regularAt = this.#startedAt + probeInterval(this.#health, this.#failedInARow);
    return this.#broughtForward ? 0 : Math.max(0, Math.min(regularAt, this.#suspicion.confirmAt) - now);
  }

  /** Starts a probe if one is due. Returns at once: a service that does not answer must not block a worker. */
  start(): void {
    if (this.dueInMs !== 0) return;
    void this.#run();
  }

  /** A request failed; returns what the failure counts as. */
  failed(failure: Failure): Failure {
    if (failure.kind === "unauthorized" && this.#health.kind !== "unauthorized") {
      if (!this.#suspicion.isConfirmed("unauthorized")) return { kind: "refusedOnce", message: failure.message };
      this.#startedAt = this.#options.clock.monotonic();
      this.#setHealth({ kind: "unauthorized", message: failure.message });
    }
    if (failure.kind === "unavailable" || failure.kind === "ambiguous") this.#bringForward();
    if (failure.kind === "forbidden" && scopedProjectOf(failure.message) !== undefined && this.#keyType !== "project") {
      this.#keyType = "project";
      this.#options.onChange();
    }
    return failure;
  }

  /** A request was accepted with the key. */
  accepted(): void {
    this.#suspicion.clear("unauthorized");
  }

  /** The endpoints of a project were listed. */
  listed(): void {
    if (this.#health.kind !== "unreachable") return;
    this.#failedInARow = 0;
    this.#setHealth({ kind: "reachable" });
  }

  async #run(): Promise<void> {
    const { client, organizationID, clock, signal } = this.#options;
    this.#startedAt = clock.monotonic();
    this.#running = true;
    this.#broughtForward = false;
    try {
      const auth = await client.auth(signal);
      if (isKeyRefused(auth)) return;
      if (auth.kind === "ok") this.#keyType = keyTypeShownBy(auth.value.auth_method, this.#keyType);
      const listed = await client.listProjects(organizationID, signal);
      if (isKeyRefused(listed)) return;
      if (listed.kind === "ok") this.#setProjects(listed.value.projects);
      const { health, unlisted } = shownBy(listed, organizationID, { health: this.#health, unlisted: this.#unlisted });
      this.#unlisted = unlisted;
      const isLost = health.kind === "unreachable" && this.#health.kind === "reachable";
      if (!isLost || this.#suspicion.isConfirmed("unreachable")) this.#setHealth(health);
    } catch {
      // Aborted: the session is no longer used.
    } finally {
      this.#running = false;
      this.#suspicion.probed(this.#startedAt);
      if (this.#health.kind === "reachable") this.#failedInARow = 0;
      else if (!this.#suspicion.pending) this.#failedInARow += 1;
      if (!signal.aborted) this.#options.onChange();
    }
  }

  #setProjects(projects: readonly Project[]): void {
    this.#projects = projects.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const id of this.#organizations.keys()) if (!this.#options.isUsed(id)) this.#organizations.delete(id);
    for (const { id, org_id } of projects) if (org_id !== undefined) this.#organizations.set(id, org_id);
  }

  #setHealth(health: Health): void {
    const changed = health.kind !== this.#health.kind;
    this.#health = health;
    if (changed) this.#options.onChange();
  }

  /** Otherwise the connection would count as reachable for up to ten minutes after the service failed. */
  #bringForward(): void {
    const sinceProbeMs = this.#options.clock.monotonic() - this.#startedAt;
    if (this.#running || this.#broughtForward || this.#health.kind !== "reachable") return;
    if (sinceProbeMs < failureProbeAfterMs) return;
    this.#broughtForward = true;
    this.#options.onChange();
  }
}

export interface ProjectAccess {
  client: ServiceClient;
  signal: AbortSignal;
  keyType: KeyType;
  /** The organization to list; for a personal key, the organization of the project if known. */
  organizationID: string | undefined;
}

/**
 * Whether a project is proved to be gone: its own GET is 404, and a complete list by a personal key or an organization
 * key lacks it. An organization key with an empty list proves nothing, because it may be a key of this project alone. A
 * person who has left the organization gets no list of it, so an invisible project is not taken for deleted.
 */
export async function projectIsGone(
  projectID: string,
  { client, signal, keyType, organizationID }: ProjectAccess,
): Promise<boolean> {
  const single = await client.getProject(projectID, signal);
  if (single.kind !== "notFound") return false;
  const listed = await client.listProjects(organizationID, signal);
  if (listed.kind !== "ok" || !listed.value.complete) return false;
  if (listed.value.projects.some(({ id }) => id === projectID)) return false;
  if (keyType === "personal") return true;
  return keyType === "organization" && listed.value.projects.length > 0;
}

/** What a single answer may suggest about a key or its service. */
type Suspect = "unauthorized" | "unreachable";

/** A second answer at least this much later confirms it, in milliseconds. */
const confirmAfterMs = 5000;

/**
 * Prevents a single answer from ending good health: neither one 401 nor one failed probe counts. Expected flow: the
 * first such answer is suspected, a probe confirms it five seconds later, and an answer to the contrary clears it.
 * Times on the monotonic clock, in milliseconds.
 */
export class Suspicion {
  readonly #clock: Clock;
  readonly #onFirst: () => void;
  #current: { of: Suspect; since: number } | undefined;

  /** `onFirst`: something is suspected, so a probe becomes due. */
  constructor(clock: Clock, onFirst: () => void) {
    this.#clock = clock;
    this.#onFirst = onFirst;
  }

  /** When a probe is due that confirms the suspicion. */
  get confirmAt(): number {
    return (this.#current?.since ?? Number.POSITIVE_INFINITY) + confirmAfterMs;
  }

  get pending(): boolean {
    return this.#current !== undefined;
  }

  /** Whether the present answer confirms an earlier one; otherwise it is suspected from now on. */
  isConfirmed(of: Suspect): boolean {
    const now = this.#clock.monotonic();
    if (this.#current?.of !== of) {
      this.#current = { of, since: now };
      this.#onFirst();
      return false;
    }
    if (now < this.confirmAt) return false;
    this.#current = undefined;
    return true;
  }

  /** An answer proves the contrary. */
  clear(of: Suspect): void {
    if (this.#current?.of === of) this.#current = undefined;
  }

  /** A probe has ended: a suspicion that was due before its start and was not confirmed is over. */
  probed(startedAt: number): void {
    if (this.confirmAt <= startedAt) this.#current = undefined;
  }
}
