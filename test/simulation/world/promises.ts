import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import type { KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import { AccessGuard } from "./access-guard.ts";
import { BranchGuard } from "./branch-names.ts";
import { adopts, annotationOf, isOurs, proofOf, signatureOfUID, uidInSignature } from "./computes.ts";
import { DeletionGuard } from "./deletion-guard.ts";
import { DisableHistory } from "./disable-history.ts";
import { FleetGuard } from "./fleet-guard.ts";
import { ListGuard } from "./list-guard.ts";
import { createdElsewhere } from "./mass-loss.ts";
import { ObservationGuard } from "./observation-guard.ts";
import { ObserverGuard } from "./observers.ts";
import { PoolGuard } from "./pool-guard.ts";
import {
  type ClusterWrite,
  cameAfterAnother,
  movedTo,
  type ServiceWrite,
  type Violation,
  wasMadeTooLate,
} from "./records.ts";
import { Register } from "./register.ts";
import { RestartGuard } from "./restart-guard.ts";
import { SecretGuard } from "./secret-guard.ts";
import type { Services } from "./services.ts";
import { ShardGuard } from "./shard-guard.ts";
import { TimeGuard } from "./time-guard.ts";
import { WindowGuard } from "./window-guard.ts";

/** How long before a Compute's end its operator last listed its endpoints, at most: a refresh, if it was paused. */
const lastLookMs = 35_000;

export interface PromisesOptions {
  clock: Clock;
  server: ApiServer;
  services: Services;
  fleet: FleetGuard["fleet"];
  namesShown: boolean;
  /** Whether the pool with this uid is there, and is to stay. */
  poolStands: (uid: string) => boolean;
  /** How often each project is listed. */
  refreshMs: number;
}

/** The promises that hold at every step, checked as each request leaves, arrives or changes something. */
export class Promises {
  readonly violations: Violation[] = [];
  readonly register: Register;
  readonly shards: ShardGuard;
  readonly access: AccessGuard;
  readonly fleets: FleetGuard;
  readonly disabled: DisableHistory;
  readonly secrets: SecretGuard;
  readonly #clock: Clock;
  readonly #services: Services;
  readonly #namesShown: boolean;
  /** Since when each process remembers what it sees: a term of leadership begins with nothing of what was before. */
  readonly #knowsSince = new Map<string, number>();
  readonly #writes: ServiceWrite[] = [];
  readonly #restarts: RestartGuard;
  readonly #lists: ListGuard;
  readonly #observers = new ObserverGuard((promise, message) => this.report(promise, message));
  readonly #branches: BranchGuard;
  readonly #windows: WindowGuard;
  readonly #deletions: DeletionGuard;
  readonly #observations: ObservationGuard;
  readonly #pools: PoolGuard;
  readonly #times: TimeGuard;

  constructor({ clock, server, services, namesShown, refreshMs, poolStands, fleet }: PromisesOptions) {
    this.#clock = clock;
    this.disabled = new DisableHistory(clock);
    this.#namesShown = namesShown;
    this.#services = services;
    this.register = new Register(clock);
    const report = (promise: string, message: string) => this.report(promise, message);
    this.secrets = new SecretGuard(clock, this.register, report);
    this.access = new AccessGuard(clock, report);
    this.fleets = new FleetGuard({ server, clock, services, register: this.register, fleet }, report);
    this.shards = new ShardGuard({ clock, register: this.register }, report);
    this.#restarts = new RestartGuard(
      { clock, services, knowsSince: (process) => this.#knowsSince.get(process) ?? 0 },
      report,
    );
    this.#lists = new ListGuard(report);
    this.#branches = new BranchGuard({ clock, services }, report);
    this.#windows = new WindowGuard(namesShown, report);
    this.#pools = new PoolGuard(poolStands, report);
    this.#times = new TimeGuard(services, report);
    this.#observations = new ObservationGuard({ allShown: namesShown, refreshMs }, report);
    const unseen = (endpointID: string, uid: string) =>
      this.#arrivedUnseen(endpointID) ||
      (!this.#namesShown && cameAfterAnother(this.#writes, endpointID)) ||
      (!this.#namesShown && this.register.untold.has(uid));
    this.#deletions = new DeletionGuard(
      { clock, services, register: this.register, unseen, access: this.access },
      report,
    );
  }

  /** A process begins; `selector` where it takes care of some Computes only. */
  started(process: string, selector: string | undefined): void {
    this.#knowsSince.set(process, this.#clock.monotonic());
    if (selector !== undefined) this.shards.started(process, selector);
  }

  /** A process came to lead. */
  leads(process: string): void {
    this.#knowsSince.set(process, this.#clock.monotonic());
  }

  /** A process that was stopped goes on where it was. */
  woken(process: string, stoppedMs: number): void {
    this.#deletions.woken(process, stoppedMs);
  }

  get writes(): readonly ServiceWrite[] {
    return this.#writes;
  }

  report(promise: string, message: string): void {
    this.violations.push({ promise, message, atMs: this.#clock.monotonic() });
  }

  /** A Compute changed, by whomever. */
  computeChanged(before: KubeObject | undefined, after: KubeObject | undefined, process: string | undefined): void {
    if (this.#observers.changed(after ?? before)) return;
    this.secrets.computeChanged(before, after);
    if (process !== undefined && after !== undefined) {
      this.#checkAdoption(before, after);
    }
    this.#branches.computeChanged(before, after);
    if (after !== undefined) {
      this.#restarts.computeChanged(before, after, process !== undefined);
      this.disabled.computeChanged(before, after, process !== undefined);
    }
    this.register.changed(before, after, process !== undefined);
  }

  sent(write: ServiceWrite): void {
    this.#writes.push(write);
    this.#observers.sent(write);
    this.#lists.sent(write);
    this.#windows.sent(write, `${write.process} since ${this.#knowsSince.get(write.process)}`);
    this.access.sent(write);
    this.fleets.sent(write);
    this.#branches.sent(write);
    const lost = write.kind === "create" ? createdElsewhere(write, this.register, this.#services) : undefined;
    if (lost !== undefined) this.report("mass loss", lost);
    const { target } = write;
    if (target === undefined) return;
    const claimants = this.register.claimantsOf(target);
    // What a Compute left that went without its finalizer may be deleted whenever the service is back.
    const leftBehind = write.kind === "delete" && this.register.makerOf(target) !== undefined;
    if (claimants.length === 0 && !leftBehind && !this.fleets.isSigning(write)) {
      this.report(
        "no stranger's endpoint",
        `${write.kind} of ${target.id}, which no Compute owns, adopts or is linked to`,
      );
    }
    this.shards.sent(write, claimants);
    this.#pools.sent(write, claimants);
    this.#times.sent(write, claimants);
    if (write.kind === "delete") this.#deletions.sent(target);
    if (write.kind === "restart") this.#restarts.sent(write, claimants);
  }

  /** A complete list of a project's endpoints reached a process. */
  listed(process: string, service: string, project: string, begunAt: number): void {
    this.#lists.listed(process, service, project, begunAt);
    this.#observations.listed(process, project, this.#clock.monotonic());
  }

  /** The service refused the key of a process. */
  refused(process: string): void {
    this.#observations.refused(process, this.#clock.monotonic());
  }

  carriedOut(write: ServiceWrite): void {
    this.disabled.carriedOut(write);
    this.fleets.carriedOut(write);
    if (write.kind !== "create" || write.carriedOut?.status !== 201 || write.endpointID === undefined) return;
    const beside = this.#services.endpointsBeside(write.endpointID);
    const made = beside.find(({ id }) => id === write.endpointID);
    const uid = uidInSignature(made?.name);
    if (made === undefined || uid === undefined) {
      this.report("never a stranger", `created ${write.endpointID} without the mark of a Compute`);
      return;
    }
    this.register.claim(made.id, uid);
    const twins = beside.filter(({ name }) => uidInSignature(name) === uid);
    const tooLate = twins.some(({ id }) => this.#writes.some((one) => one.endpointID === id && wasMadeTooLate(one)));
    // Where no names are shown, a person who confirmed losses at one base URL and another had them made again.
    const isConfirmed = !this.#namesShown && this.register.askedSince(this.#services.firstEditedAt).includes(uid);
    const isLikeNew = !this.#namesShown && this.#wasMadeByOther(write, twins) && this.register.isLikeNew(uid, twins);
    if (twins.length > 1 && !tooLate && !isConfirmed && !isLikeNew && !this.register.wasLeftToOther(twins, uid)) {
      const both = twins.map(({ id }) => id).join(" and ");
      this.report("never twice", `${both} were made for one Compute, ${this.register.nameOf(uid)}`);
    }
  }

  clusterWritten(write: ClusterWrite): void {
    this.#restarts.clusterWritten(write);
    this.#deletions.clusterWritten(write);
    this.#observations.clusterWritten(write);
    this.shards.clusterWritten(write);
    this.access.clusterWritten(write);
  }

  /**
   * Uids of Computes for which a create came in when the Compute was gone: nobody could know of it. Nor while it
   * stands, where the service shows no names (`unseen`).
   */
  createdTooLate({ unseen }: { unseen: boolean }): string[] {
    const made = this.#writes.filter(
      (write) => wasMadeTooLate(write) || (unseen && cameAfterAnother(this.#writes, write.endpointID)),
    );
    return made.flatMap((write) => {
      const uid = uidInSignature(this.#services.nameFor(write));
      if (uid === undefined) return [];
      const goneAt = this.register.get(uid)?.until ?? 0;
      return unseen || (write.carriedOut?.at ?? 0) > goneAt - lastLookMs ? [uid] : [];
    });
  }

  /** Whether the twins of what a request made come from other processes: its own sent no other create for them. */
  #wasMadeByOther({ process, number }: ServiceWrite, twins: readonly StoredEndpoint[]): boolean {
    const ids = twins.map(({ id }) => id);
    return this.#writes.every(
      (one) => one.number === number || one.process !== process || !ids.includes(one.endpointID ?? ""),
    );
  }

  /** Whether a create that was held up longer than `--create-settle` made an endpoint. */
  isMadeTooLate(endpointID: string): boolean {
    return this.#writes.some((write) => write.endpointID === endpointID && wasMadeTooLate(write));
  }

  /**
   * Whether a move that the Compute cannot know for an operator's brought the endpoint to its branch: one that was held
   * up longer than `--create-settle`, or was sent for another before this one stood.
   */
  isMovedUnseen({ id, branchId }: StoredEndpoint, uid: string): boolean {
    const since = this.register.get(uid)?.since ?? 0;
    const isUnseen = ({ beyondSettle, sentAt }: ServiceWrite) => beyondSettle || sentAt < since;
    return this.#writes.some((write) => write.endpointID === id && isUnseen(write) && movedTo(write) === branchId);
  }

  /** Whether an endpoint was created too late for its Compute's last list, or nothing shows whose it is. */
  #arrivedUnseen(endpointID: string): boolean {
    const late = this.#writes.find((write) => write.endpointID === endpointID && wasMadeTooLate(write));
    if (late === undefined) return false;
    return !this.#namesShown || (late.carriedOut?.at ?? 0) > this.#clock.monotonic() - lastLookMs;
  }

  /** Drops what is of no use any more after so long: of writes that ended, and Computes that were gone, before that. */
  forget(before: number): void {
    const kept = this.#writes.filter(({ sentAt, carriedOut }) => (carriedOut?.at ?? sentAt) >= before);
    this.#writes.splice(0, this.#writes.length, ...kept);
    this.#restarts.forget(before);
    this.#lists.forget(before);
    this.register.forget(before, new Set(this.#services.endpoints().map(({ id }) => id)));
  }

  /** An operator links a Compute only to what carries its signature, what it is to adopt, and what it was linked to. */
  #checkAdoption(before: KubeObject | undefined, after: KubeObject): void {
    const { endpointID: proved, by } = proofOf(after) ?? {};
    if (by === "created" && typeof proved === "string")
      this.#services.proved(proved, signatureOfUID(after.metadata.uid));
    const { uid, name } = after.metadata;
    const id = annotationOf(after, "endpoint-id");
    if (id === undefined || id === (before && annotationOf(before, "endpoint-id"))) return;
    const endpoint = this.#services.endpoints().find((one) => one.id === id);
    if (endpoint === undefined) return;
    // Where no names are shown, nothing tells whose lost create made what a spec names.
    if (!this.#namesShown && adopts(after, endpoint)) this.#services.rename(id, signatureOfUID(uid));
    if (this.register.hasClaimed(id, uid)) return;
    if (isOurs(after, endpoint) || this.register.wasToldToAdopt(uid, endpoint)) return;
    if (this.fleets.boreLately(endpoint, uid)) return;
    this.report("adoption", `${name} was linked to ${id}, which it was never asked to adopt`);
  }
}
