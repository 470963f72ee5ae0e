import { changeInParts } from "../change-in-parts.ts";
import { within } from "../clock.ts";
import { schedule, steps } from "../computes/chain.ts";
import { inactivityEnd } from "../computes/inactivity.ts";
import type { ServiceContext } from "../context.ts";
import { unlessFull } from "../refusal.ts";
import { Uses } from "../sharing/uses.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { DrivenService } from "./driven-service.ts";
import type { Sessions } from "./fleet/sessions.ts";
import { superuser } from "./session/privileged-role.ts";
import type { TextRow } from "./session/sql-client.ts";

/** Greatest age of `last_active` while clients use a compute, in milliseconds. */
const noteMs = 10_000;

/** The shortest time between two checks, in milliseconds. */
const restMs = 1000;

/** The longest wait for a server's answer, in milliseconds: the others' computes are decided on without it. */
const answerMs = 5000;

export interface ActivityPorts {
  sessions: Sessions;
  /** Asks the server of a compute as superuser; `undefined` where none runs. */
  ask: (endpointId: string, sql: string) => Promise<readonly TextRow[] | undefined>;
}

/**
 * Time of the last activity of a client, in milliseconds since the epoch: now while a session is active or in a
 * transaction. Sessions of the service and of replicas are those of its own role; subscribers to a database count.
 */
const lastActivity = `SELECT floor(extract(epoch FROM max(CASE
    WHEN state = 'idle' THEN state_change WHEN state IS NULL THEN backend_start ELSE clock_timestamp() END)) * 1000)
  FROM pg_stat_activity WHERE usename IS DISTINCT FROM '${superuser}'
  AND (backend_type = 'client backend' OR backend_type = 'walsender' AND datid IS NOT NULL)`;

/**
 * Asks the servers that have clients when these were last active, and suspends computes whose clients are all silent.
 * Computes without clients have a timer in the store.
 */
export class ActivityWatch {
  readonly #service: DrivenService;
  readonly #ports: ActivityPorts;
  /** The computes whose servers have not answered yet: such a one is asked nothing else. */
  readonly #asked = new Uses();
  #checking = false;
  #noteAt = 0;
  #notBefore = 0;
  #cancel = () => {};
  #stopFollowing = () => {};
  #closed = false;

  constructor(service: DrivenService, ports: ActivityPorts) {
    this.#service = service;
    this.#ports = ports;
  }

  begin(): void {
    this.#stopFollowing = this.#service.onChange(() => this.#wait());
  }

  close(): void {
    this.#closed = true;
    this.#stopFollowing();
    this.#cancel();
  }

  /** Waits for the next check: when the first compute has been inactive for its time, or `last_active` is old. */
  #wait(): void {
    this.#cancel();
    const watched = this.#checking || this.#closed ? [] : this.#watched();
    if (watched.length === 0) return;
    const { clock } = this.#service.context;
    const now = clock.now();
    const due = Math.min(this.#noteAt, ...watched.map((endpoint) => this.#due(endpoint)));
    this.#cancel = clock.after(Math.max(0, due - now, this.#notBefore - now), () => void this.#checkAndWait());
  }

  /** Never rejects: a check that fails is made again. */
  async #checkAndWait(): Promise<void> {
    this.#checking = true;
    try {
      await this.#check().finally(() => {
        this.#checking = false;
      });
      this.#wait();
    } catch (error) {
      this.#service.report(error);
      if (!this.#closed) this.#cancel = this.#service.context.clock.after(restMs, () => void this.#checkAndWait());
    }
  }

  #watched(): StoredEndpoint[] {
    const { endpoints } = this.#service.context.store;
    return this.#ports.sessions
      .endpoints()
      .map((id) => endpoints.byId(id))
      .filter((endpoint) => endpoint?.currentState === "active" && endpoint.pendingState === undefined)
      .filter((endpoint) => endpoint !== undefined);
  }

  /** Time at which a compute is to be suspended if nothing happens; `Infinity` for never. */
  #due(endpoint: StoredEndpoint): number {
    return inactivityEnd(this.#service.context, endpoint) ?? Number.POSITIVE_INFINITY;
  }

  async #check(): Promise<void> {
    // Answers are as old as the questions: time that passes meanwhile is not inactivity.
    const askedAt = this.#service.context.clock.now();
    const asked = this.#watched().map(async ({ id }) => [id, await this.#activityOf(id)] as const);
    const active = new Map(await Promise.all(asked));
    if (this.#closed) return;
    const now = this.#service.context.clock.now();
    this.#noteAt = now + noteMs;
    this.#notBefore = now + restMs;
    const changed = this.#watched().filter((endpoint) => {
      const at = active.get(endpoint.id);
      return at !== undefined && (at - (endpoint.lastActive ?? 0) >= restMs || this.#due(endpoint) <= askedAt);
    });
    if (changed.length === 0) return;
    const note = (context: ServiceContext, at: number) =>
      // A compute that fails, for a mistake of ours, keeps no other one awake.
      context.store.parts(changed, (endpoint) => {
        this.#note(context, endpoint, active.get(endpoint.id) ?? 0);
        if (this.#due(endpoint) > askedAt) return;
        schedule(context, { endpoint, at, pendingState: "idle" }, [steps.suspend]);
      });
    unlessFull(() => changeInParts(this.#service, note));
  }

  /** Last activity of a compute's clients, by the service's clock; `undefined` where its server does not say. */
  async #activityOf(endpointId: string): Promise<number | undefined> {
    const { sessions, ask } = this.#ports;
    const { clock } = this.#service.context;
    if (this.#asked.has(endpointId)) return undefined;
    const answer = this.#asked.during(endpointId, () => ask(endpointId, lastActivity).catch(() => undefined));
    const rows = await within(clock, answerMs, answer);
    if (!rows) return undefined;
    const said = Number(rows[0]?.[0] ?? 0);
    return Math.max(clock.ofWall?.(said) ?? said, sessions.lastLeft(endpointId));
  }

  #note(context: ServiceContext, endpoint: StoredEndpoint, activeAt: number): void {
    endpoint.lastActive = Math.max(activeAt, endpoint.lastActive ?? endpoint.createdAt);
    context.store.endpoints.update(endpoint);
  }
}
