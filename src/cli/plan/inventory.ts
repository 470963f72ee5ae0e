import { newMemory } from "../../operator/branch/memory.ts";
import { ClaimIndex } from "../../operator/claims/claim-index.ts";
import type { Claimants } from "../../operator/claims/claims.ts";
import { EndpointIndex } from "../../operator/claims/ownership.ts";
import { isOutsider } from "../../operator/compute/observe/outsider.ts";
import { ReconcileState } from "../../operator/compute/reconcile-state.ts";
import { meaningOf, requests } from "../../operator/compute/words/failures.ts";
import { placeOf } from "../../operator/objects/object.ts";
import type { Branch } from "../../operator/resources/branch.ts";
import type { Connection } from "../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { type ConnectionUser, connectionKeyOf } from "../../operator/resources/connection-user.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import type { Account } from "../../operator/service-client/account.ts";
import type { Failure } from "../../operator/service-client/answer.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import { withUID } from "../manifests/stored.ts";
import { Clients } from "./clients.ts";
import { asPlanned, knownUID } from "./identity.ts";
import { listBranches } from "./list-branches.ts";
import { saidOnce } from "./messages.ts";
import type { CommandScope } from "./scope.ts";
import type { Project, Tracked, TrackedBranch, TrackedCompute, Unlisted } from "./tracked.ts";

export interface InventoryOptions {
  clock: Clock;
  transport: ServiceTransport;
  signal: AbortSignal;
  createSettleMs: number;
  scope: CommandScope;
}

/** The service's account that an object reaches, and the connection that names it. */
export interface Reach {
  account: Account;
  connection: Connection | undefined;
}

/** A Branch that is not planned, and the base URL that it reaches its project through. */
export interface OtherBranch {
  object: Branch;
  baseURL: string | undefined;
}

/** The Computes and Branches of manifests and cluster, over the lists of the service: one of each kind per project. */
export class Inventory {
  readonly options: InventoryOptions;
  /** The objects that are planned, in this order. */
  readonly tracked: { readonly Compute: TrackedCompute[]; readonly Branch: TrackedBranch[] } = {
    Compute: [],
    Branch: [],
  };
  /** The pools, which name a project also while they have no members. */
  readonly pools: { object: ConnectionUser; project: Project }[] = [];
  readonly otherBranches: OtherBranch[] = [];
  readonly #otherComputes: Compute[] = [];
  readonly #claims = new ClaimIndex({
    serviceOf: (compute) => this.#baseURLOf(compute),
    isOutsider: (compute) =>
      isOutsider(compute, {
        baseURLOf: (user) => this.#baseURLOf(user),
        isUnreachable: () => false,
        reachedThrough: ({ metadata }) => listedThrough(this.#projectOf.get(metadata.uid)),
      }),
  });
  readonly #projects = new Map<string, Project>();
  /** By the uid of the Compute. */
  readonly #projectOf = new Map<string, Project>();
  readonly #clients: Clients;
  /** Base URL by namespace and connection. */
  readonly #baseURLs = new Map<string, string>();

  constructor(options: InventoryOptions) {
    this.options = options;
    this.#clients = new Clients(options);
  }

  get scope(): CommandScope {
    return this.options.scope;
  }

  /** True if a Compute with this uid is declared, or in the cluster. */
  has(uid: string): boolean {
    return this.#claims.has(uid);
  }

  /** All Computes that are declared, or in the cluster. */
  get computes(): readonly Compute[] {
    return [...this.tracked.Compute.map(({ object }) => object), ...this.#otherComputes];
  }

  #baseURLOf(user: ConnectionUser): string | undefined {
    return this.#baseURLs.get(placeOf(connectionKeyOf(user)));
  }

  claimantsOf(compute: Compute): Claimants {
    return this.#claims.claimantsOf(compute);
  }

  get projects(): readonly Project[] {
    return [...this.#projects.values()];
  }

  trackCompute(declared: Compute, reach: Reach, of: Pick<TrackedCompute, "before" | "pool"> = {}): TrackedCompute {
    const { metadata, status, ...rest } = asPlanned(declared, this.scope);
    // If no status shows what was applied before, every difference is a change by the manifest.
    const object = { ...rest, metadata, status: { ...status, appliedGeneration: status.appliedGeneration ?? -1 } };
    const project = this.#reached(object, reach);
    const now = this.options.clock.monotonic();
    // No Secret is read, so nothing is in doubt: plan names what is due by the status.
    const memory = new ReconcileState(now, "apply", { password: { state: "known" } });
    memory.noteVersion(object, now);
    const tracked = { kind: "Compute", object, memory, project, ...of } as const;
    this.tracked.Compute.push(tracked);
    this.#claims.set(object);
    this.#projectOf.set(metadata.uid, project);
    return tracked;
  }

  trackBranch(declared: Branch, reach: Reach): TrackedBranch {
    const object = asPlanned(declared, this.scope);
    const memory = newMemory(this.options.clock.monotonic(), 0, false);
    const tracked = { kind: "Branch", object, memory, project: this.#reached(object, reach) } as const;
    this.tracked.Branch.push(tracked);
    return tracked;
  }

  trackPool(object: ConnectionUser, reach: Reach): void {
    this.pools.push({ object, project: this.#reached(object, reach) });
  }

  /** A Compute that is not planned, and claims what it owns at the service with this base URL. */
  claim(compute: Compute, baseURL: string | undefined): void {
    if (baseURL !== undefined) this.#baseURLs.set(placeOf(connectionKeyOf(compute)), baseURL);
    this.#claims.set(compute);
    this.#otherComputes.push(compute);
  }

  /** A Branch that is not planned, and claims what it is linked to. */
  claimBranch(object: Branch, baseURL: string | undefined): void {
    this.otherBranches.push({ object, baseURL });
  }

  /** Stores a changed Compute; its claims count for the other Computes. */
  update(tracked: TrackedCompute, compute: Compute): void {
    tracked.object = compute;
    this.#claims.set(compute);
  }

  /** Lists each project again. */
  async refresh(projects: readonly Project[] = this.projects): Promise<void> {
    const { clock, signal, scope } = this.options;
    const { Compute: computes, Branch: branches } = this.tracked;
    await Promise.all(
      projects.map(async (project) => {
        const startedAt = clock.monotonic();
        const answer = await project.client.listEndpoints(project.id, signal);
        project.listing =
          answer.kind === "ok"
            ? {
                kind: "listed",
                index: new EndpointIndex(answer.value),
                endpoints: answer.value,
                startedAt,
                endedAt: clock.monotonic(),
              }
            : unlisted(answer, project);
        const isIn = (tracked: Tracked) => tracked.project === project;
        await listBranches(project, computes.filter(isIn), scope.prunes || branches.some(isIn), this.options);
      }),
    );
    for (const tracked of [...computes, ...branches]) if (projects.includes(tracked.project)) this.#identify(tracked);
  }

  #identify(tracked: Tracked): void {
    const { metadata } = tracked.object;
    const uid = knownUID(tracked, this.scope);
    if (uid === metadata.uid) return;
    if (tracked.kind === "Branch") {
      tracked.object = withUID(tracked.object, uid);
      return;
    }
    this.#claims.delete(metadata.uid);
    this.#projectOf.set(uid, tracked.project);
    this.update(tracked, withUID(tracked.object, uid));
  }

  /** The project of an object, as its account and connection reach it. */
  #reached(user: ConnectionUser, { account, connection }: Reach): Project {
    this.#baseURLs.set(placeOf(connectionKeyOf(user)), account.baseURL);
    const { projectID } = user.spec;
    const { client, time, id: reachedBy } = this.#clients.of(account, connection);
    const id = `${projectID} ${reachedBy} ${placeOf(connection?.metadata ?? { name: "" })}`;
    const known = this.#projects.get(id);
    if (known !== undefined) return known;
    const project: Project = {
      id: projectID,
      client,
      time,
      connection,
      listing: undefined,
      branches: undefined,
      operations: new Map(),
    };
    this.#projects.set(id, project);
    return project;
  }
}

/** The base URL and key with which a project was listed. */
function listedThrough(project: Project | undefined): string | undefined {
  return project?.listing?.kind === "listed" ? project.client.fingerprint : undefined;
}

function unlisted(failure: Failure, { id, client }: Project): Unlisted {
  const meaning = meaningOf(failure, requests.listEndpoints(id));
  const message = saidOnce(meaning, client.account.baseURL, "manifests");
  return { kind: "unavailable", reason: meaning.reason, message, projectGone: false };
}
