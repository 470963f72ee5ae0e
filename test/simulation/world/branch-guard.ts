import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { ServiceRequest } from "../../../src/operator/service-client/transport.ts";
import type { Branch } from "../../../src/service/store/branches.ts";
import { isJsonObject, type JsonObject, type KubeObject } from "../api-server/objects.ts";
import {
  inWords,
  isEndless,
  isLease,
  isRetained,
  type KnownBranch,
  millisecondsOf,
  notedUID,
  sayOf,
  uidIn,
} from "./branch-objects.ts";
import { annotationOf, branchFinalizer, isDeleting, specOf, statusOf } from "./computes.ts";
import type { ClusterWrite } from "./records.ts";
import { goodFaithMs } from "./register.ts";
import type { Reply, ServiceHost } from "./service-host.ts";
import { StandingBranches } from "./standing-branches.ts";

/** How much an operator may take the service's clock for earlier or later than it is. */
const clocksDifferMs = 5000;

export interface BranchGuardOptions {
  clock: Clock;
  host: ServiceHost;
  /** Since when the definitions are being deleted. */
  uninstallingSince: () => number | undefined;
}

/** Rules of section 4, *Branch*, checked as each request of an operator leaves and is carried out. */
export class BranchesGuard {
  /** Uids of Branches whose branches may stay: retained, let go with their definition, lost with their cluster. */
  readonly mayStay = new Set<string>();
  /** Branches that a request reached after `--create-settle`: nobody can tell it from a person's. */
  readonly reachedLate = new Set<string>();
  /** When the last write to a branch that is still on its way arrives. */
  arrivesAt = 0;
  /** Resets of each branch; one beyond the settle time does not count: the operator has asked again by then. */
  readonly #resets = new Map<string, number>();
  readonly #options: BranchGuardOptions;
  readonly #report: (promise: string, message: string) => void;
  readonly #known = new Map<string, KnownBranch>();
  /** By id: the last end that people gave a branch, and when. */
  readonly #peoplesEnds = new Map<string, { end: number | undefined; at: number }>();
  readonly standing: StandingBranches;

  constructor(options: BranchGuardOptions, report: (promise: string, message: string) => void) {
    this.#options = options;
    this.standing = new StandingBranches(options);
    this.#report = report;
  }

  get(uid: string): KubeObject | undefined {
    return this.#known.get(uid)?.object;
  }

  /** Ends that people gave branches, by id. */
  peoplesEnd(id: string): { end: number | undefined; at: number } | undefined {
    return this.#peoplesEnds.get(id);
  }

  /** When its expiry last changed, or a reset was asked for. */
  wishedAt(uid: string): number {
    const known = this.#known.get(uid);
    return known === undefined ? 0 : Math.max(known.expirySince, known.askedAt);
  }

  /** The cluster is lost: its Branches leave what they made. */
  lost(): void {
    for (const [uid, known] of this.#known) {
      if (known.until === Number.POSITIVE_INFINITY) known.until = this.#now();
      this.mayStay.add(uid);
    }
  }

  /** People gave a branch another end. */
  ended(id: string, end: number | undefined): void {
    this.#peoplesEnds.set(id, { end, at: this.#now() });
  }

  objectChanged(before: KubeObject | undefined, after: KubeObject | undefined): void {
    const uid = (after ?? before)?.metadata.uid ?? "";
    const known = this.#known.get(uid);
    this.standing.look();
    const now = this.#now();
    if (after === undefined) {
      if (before !== undefined && known !== undefined) {
        known.until = now;
        if (isRetained(before) || this.#wentWithDefinition(known)) this.mayStay.add(uid);
      }
      return;
    }
    const [was, is] = [specOf(known?.object ?? after), specOf(after)];
    const isNew = known === undefined;
    const asks = annotationOf(after, "resetAt");
    const isAsked = !isNew && asks !== undefined && asks !== annotationOf(known.object, "resetAt");
    this.#known.set(uid, {
      object: after,
      until: Number.POSITIVE_INFINITY,
      deletingSince: isDeleting(after) ? (known?.deletingSince ?? now) : undefined,
      specSince: isNew || sayOf(was) !== sayOf(is) ? now : known.specSince,
      expirySince: isNew || JSON.stringify(was["expiry"]) !== JSON.stringify(is["expiry"]) ? now : known.expirySince,
      resetsAsked: (known?.resetsAsked ?? 0) + (isAsked ? 1 : 0),
      askedAt: isAsked ? now : (known?.askedAt ?? 0),
      linked: new Set([...(known?.linked ?? []), String(statusOf(after)["branchID"])]),
    });
  }

  /** True if a request only renews a lease that nobody has just given, or asks again for an end that is refused. */
  isRenewal({ method, path, body }: ServiceRequest): boolean {
    const [, project = "", id = ""] = /^\/projects\/([^/]+)\/branches\/([^/]+)$/.exec(path) ?? [];
    const { host } = this.#options;
    const branch = method === "PATCH" ? host.branch(project, id) : undefined;
    const owner = branch && this.#ownerOf(branch);
    const fields = isJsonObject(body) && isJsonObject(body["branch"]) ? Object.keys(body["branch"]) : [];
    if (branch === undefined || owner === undefined || fields.join() !== "expires_at") return false;
    if (branch.isProtected || host.childrenOf(branch).length > 0) return true;
    const { expiry } = specOf(owner.object);
    if (branch.expiresAt === undefined || !isJsonObject(expiry) || typeof expiry["lease"] !== "string") return false;
    const [lengthMs, leftMs] = [millisecondsOf(expiry["lease"]), branch.expiresAt - host.wall];
    return leftMs >= (lengthMs * 3) / 8 - clocksDifferMs - goodFaithMs && leftMs <= lengthMs / 2 + clocksDifferMs;
  }

  /** A write to a branch leaves. */
  sent({ method, path, body }: ServiceRequest): void {
    const [, project = "", id] = /^\/projects\/([^/]+)\/branches(?:\/([^/]+))?/.exec(path) ?? [];
    this.standing.look();
    const fields = isJsonObject(body) && isJsonObject(body["branch"]) ? body["branch"] : {};
    if (id === undefined) return this.#createSent(project, fields, body);
    const branch = this.#options.host.branch(project, id);
    if (branch === undefined) return;
    const owner = this.#ownerOf(branch);
    if (owner === undefined) {
      this.#report(
        "no stranger's branch",
        `${method} of branch ${id} (${branch.name}), which no Branch made or took over`,
      );
      return;
    }
    if (method === "DELETE") this.#deleteSent(branch, owner);
    else if (method === "PATCH") this.#patchSent(branch, owner, fields);
  }

  /** A write to a branch was carried out, and answered so. */
  carriedOut({ method, path, body }: ServiceRequest, { status }: Reply, beyondSettle: boolean): void {
    const [, target] = /\/branches\/([^/]+)/.exec(path) ?? [];
    if (target !== undefined && beyondSettle) this.reachedLate.add(target);
    const [, project = "", id] = /^\/projects\/([^/]+)\/branches\/([^/]+)\/restore$/.exec(path) ?? [];
    if (id !== undefined && status < 300 && !beyondSettle) this.#resetDone(project, id);
    if (method !== "POST" || id !== undefined || status >= 300) return;
    const uid = uidIn(body) ?? "";
    // A create that arrives after the settle time is known to nobody.
    const known = this.#known.get(uid);
    if (beyondSettle && (known === undefined || known.until < Number.POSITIVE_INFINITY)) this.mayStay.add(uid);
    const twins = this.standing.twinsOf(uid, body);
    if (twins.length > 1 && !beyondSettle) {
      this.#report("never twice", `${twins.map((twin) => twin.id).join(" and ")} were made for one Branch`);
    }
  }

  /** An operator changed a Branch. */
  clusterWritten({ process, resource, before, after }: ClusterWrite): void {
    if (resource !== "branches" || before === undefined) return;
    const kept = after?.metadata.finalizers ?? [];
    if (!before.metadata.finalizers?.includes(branchFinalizer) || kept.includes(branchFinalizer)) return;
    const { uid, name } = before.metadata;
    if (!isDeleting(before)) {
      this.#report("finalizers", `${process} dropped the finalizer of Branch ${name}, which is not being deleted`);
      return;
    }
    const known = this.#known.get(uid);
    if (isRetained(before) || (known !== undefined && this.#wentWithDefinition(known))) {
      this.mayStay.add(uid);
      return;
    }
    const { host } = this.#options;
    const left = host.madeBranches().filter((branch) => notedUID(branch) === uid);
    const unseen = left.filter(({ createdAt }) => host.wall - createdAt < goodFaithMs);
    if (left.length > unseen.length) {
      this.#report("finalizers", `${process} let Branch ${name} go while its branch ${left[0]?.id} stands`);
    }
  }

  #createSent(project: string, fields: JsonObject, body: unknown): void {
    const uid = uidIn(body) ?? "";
    const known = this.#known.get(uid);
    if (known === undefined) {
      this.#report("no stranger's branch", `POST of a branch for uid ${uid}, which no Branch has`);
      return;
    }
    this.standing.left(body);
    const { metadata } = known.object;
    const spec = specOf(known.object);
    const name = spec["branchName"] ?? `${metadata.namespace}/${metadata.name}`;
    if (fields["name"] !== name || project !== spec["projectID"]) {
      this.#report("as declared", `POST of branch ${String(fields["name"])} in ${project} for Branch ${metadata.name}`);
    }
    if (this.#ago(known.expirySince) > goodFaithMs && isEndless(spec) !== (fields["expires_at"] === undefined)) {
      this.#report("as declared", `POST for Branch ${metadata.name} ends ${String(fields["expires_at"])}`);
    }
    if (this.#ago(known.deletingSince ?? this.#now()) > goodFaithMs) {
      this.#report("as declared", `POST for Branch ${metadata.name}, which is being deleted`);
    }
    this.#checkEnd(metadata.name, fields);
    this.#checkFresh(uid, known);
  }

  /** A fresh branch takes the place of one that is gone only if somebody asked since. */
  #checkFresh(uid: string, known: KnownBranch): void {
    // What a late create made and somebody deleted before it was linked is known to nobody.
    const stoodAt = this.standing.lastStood(uid, known.linked);
    const stands = this.#options.host.madeBranches().some((branch) => notedUID(branch) === uid);
    if (stoodAt === Number.NEGATIVE_INFINITY || stands) return;
    // A value that was asked for while the branch stood, and never carried out, asks for the fresh one.
    if (known.expirySince >= stoodAt || annotationOf(known.object, "resetAt") !== undefined) return;
    const { name } = known.object.metadata;
    this.#report("no fresh copy for lost data", `POST for Branch ${name}, whose branch is gone and whom nobody asked`);
  }

  #deleteSent({ id, isDefault }: Branch, owner: KnownBranch): void {
    const of = `delete of ${id} of Branch ${owner.object.metadata.name}`;
    if (owner.until === Number.POSITIVE_INFINITY && !isDeleting(owner.object)) {
      this.#report("never lost", `${of}, which is to be`);
    }
    if (isRetained(owner.object) && this.#ago(owner.specSince) > goodFaithMs) {
      this.#report("never lost", `${of}, which says Retain`);
    }
    const { protected: protectedSince, children } = this.standing.since(id);
    if (this.#ago(protectedSince) > goodFaithMs) this.#report("never lost", `${of}, which is protected`);
    if (this.#ago(children) > goodFaithMs) this.#report("never lost", `${of}, which has children`);
    if (isDefault) this.#report("never lost", `${of}, which is the default branch`);
    if (this.#wentWithDefinition(owner)) {
      this.#report("uninstalling deletes nothing", `${of} while the CRD of Branches is being deleted`);
    }
  }

  #patchSent({ id, expiresAt }: Branch, owner: KnownBranch, fields: JsonObject): void {
    const { name } = owner.object.metadata;
    const others = Object.keys(fields).filter((field) => field !== "expires_at" && field !== "protected");
    if (others.length > 0) this.#report("as declared", `PATCH of ${id} of Branch ${name} sends ${others.join(", ")}`);
    if (!("expires_at" in fields)) return;
    this.#checkEnd(name, fields);
    const theirs = this.#peoplesEnds.get(id);
    if (theirs === undefined || theirs.end !== expiresAt) return;
    const isLater = theirs.end === undefined || theirs.end > this.#options.host.wall + 86_400_000;
    // A lease may be renewed before a list shows the end; any other end is sent for a wish alone.
    const isRenewed = isLease(owner.object) && this.#ago(theirs.at) <= goodFaithMs;
    const isApplied = statusOf(owner.object)["appliedExpiry"] === inWords(specOf(owner.object)["expiry"]);
    if (isLater && isApplied && !isRenewed) {
      this.#report("ends kept", `PATCH of ${id} of Branch ${name} writes over the end that a person gave it`);
    }
  }

  #checkEnd(name: string, { expires_at: end }: JsonObject): void {
    if (typeof end !== "string") return;
    const inMs = Date.parse(end) - this.#options.host.wall;
    if (inMs < -clocksDifferMs) this.#report("no end in the past", `Branch ${name} is to have ended ${-inMs} ms ago`);
    if (inMs > 30 * 86_400_000 + clocksDifferMs)
      this.#report("no end in the past", `Branch ${name} is to end in ${inMs} ms`);
    if (Date.parse(end) % 1000 !== 0) this.#report("as declared", `Branch ${name} ends within a second: ${end}`);
  }

  #resetDone(project: string, id: string): void {
    const done = (this.#resets.get(id) ?? 0) + 1;
    this.#resets.set(id, done);
    const branch = this.#options.host.branch(project, id);
    const owner = branch && this.#ownerOf(branch);
    if (owner === undefined) return;
    const { name } = owner.object.metadata;
    // A request of the former object, from which this one took the branch over, may come in late.
    const namesakes = [...this.#known.values()].filter(({ object }) => object.metadata.name === name);
    const asked = namesakes.reduce((sum, { resetsAsked }) => sum + resetsAsked, 0);
    if (done > asked) this.#report("reset once", `Branch ${name} was reset ${done} times, and ${asked} asked for`);
  }

  /** The Branch that a branch's note names; a Branch that took it over from a former one outranks that. */
  #ownerOf(branch: Branch): KnownBranch | undefined {
    const took = [...this.#known.values()].find(({ object }) => {
      const { proof } = statusOf(object);
      return isJsonObject(proof) && proof["by"] === "former" && proof["branchID"] === branch.id;
    });
    return took ?? this.#known.get(notedUID(branch) ?? "");
  }

  #wentWithDefinition({ deletingSince }: KnownBranch): boolean {
    const since = this.#options.uninstallingSince();
    return since !== undefined && deletingSince !== undefined && deletingSince >= since;
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  /** Negative for what never happened. */
  #ago(at: number | undefined): number {
    return at === undefined ? -1 : this.#now() - at;
  }
}
