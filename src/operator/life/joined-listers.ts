import type { EndpointLister } from "../project/endpoint-lister.ts";
import type { Brake } from "../project/gate.ts";
import { accessTo, type ListerAccess } from "../project/service-access.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { pausedForMs } from "../resources/pause.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ChangeBlockedWorkers } from "../service-client/request-reservation.ts";

/** The connection of an object, as far as it leads to the lister of a project. */
export type Connected =
  | { kind: "open"; session: { project(projectID: string): EndpointLister } }
  | { kind: "closed" | "pending" };

export interface JoinedListersOptions<User extends ConnectionUser> {
  brake: Brake;
  clock: Clock;
  connections: { isGranted(user: ConnectionUser): boolean };
  /** True if this process reconciles the object, by its selector. */
  selects: (object: User) => boolean;
  /** A reconcile starts or stops waiting for the service. */
  changeBlockedWorkers: ChangeBlockedWorkers;
  /** The newest stored version. */
  newest: (uid: string) => User | undefined;
}

/** The lister that each object of one kind has joined: the one of its project. */
export class JoinedListers<User extends ConnectionUser> {
  readonly #options: JoinedListersOptions<User>;
  readonly #listers = new Map<string, EndpointLister>();

  constructor(options: JoinedListersOptions<User>) {
    this.#options = options;
  }

  /** Joins the lister of the object's project, and leaves the previous one if that is another; `use`s it then. */
  join(object: User, connection: Connected, use: (lister: EndpointLister) => void): ListerAccess | undefined {
    const { uid } = object.metadata;
    const before = this.#listers.get(uid);
    const lister = connection.kind === "open" ? connection.session.project(object.spec.projectID) : undefined;
    if (before !== lister) before?.leave(uid);
    if (lister === undefined) {
      this.#listers.delete(uid);
      return undefined;
    }
    this.#listers.set(uid, lister);
    use(lister);
    const { brake, changeBlockedWorkers } = this.#options;
    return accessTo(lister, object, brake, { withdrawn: () => this.#isOutdated(object), changeBlockedWorkers });
  }

  leave(uid: string): void {
    this.#options.brake.leave(uid);
    this.#listers.get(uid)?.leave(uid);
    this.#listers.delete(uid);
  }

  /** True if a write that was planned for this version is no longer wanted: it may have waited since. */
  #isOutdated(object: User): boolean {
    const { clock, connections, newest, selects } = this.#options;
    const now = newest(object.metadata.uid);
    if (now === undefined || now.metadata.generation !== object.metadata.generation) return true;
    // Of a paused Branch, the lease is renewed all the same.
    const isPaused = (version: User) => pausedForMs(version, clock.now()) !== undefined;
    if (isPaused(now) !== isPaused(object)) return true;
    return !selects(now) || !connections.isGranted(now);
  }
}
