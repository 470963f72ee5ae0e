import type { ListedBranch } from "../../api/branch.ts";
import type { BranchListing } from "../../api/branch-listing.ts";
import type { Operation } from "../../api/operation.ts";
import { ClaimIndex } from "../../operator/claims/claim-index.ts";
import type { Claimants } from "../../operator/claims/claims.ts";
import { EndpointIndex, ownershipOf } from "../../operator/claims/ownership.ts";
import { annotationsOf } from "../../operator/compute/observe/annotations.ts";
import { notListedIn } from "../../operator/compute/observe/endpoint-snapshot.ts";
import type { Observed, Unavailable } from "../../operator/compute/observe/observation.ts";
import { isOutsider } from "../../operator/compute/observe/outsider.ts";
import { ReconcileState } from "../../operator/compute/state.ts";
import { meaningOf, requests } from "../../operator/compute/words/failures.ts";
import { nameOf } from "../../operator/kube/objects.ts";
import type { Listing as Listed } from "../../operator/project/list-changes.ts";
import type { Branch as DeclaredBranch } from "../../operator/resources/branch.ts";
import { allowsProject, type Connection } from "../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { type ConnectionUser, connectionKeyOf } from "../../operator/resources/connection-user.ts";
import type { Fleet } from "../../operator/resources/signature.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { type Account, accountFingerprint } from "../../operator/service-client/account.ts";
import type { Answer, Failure } from "../../operator/service-client/answer.ts";
import type { ServiceClient } from "../../operator/service-client/client.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import { isDerivedUID, uidToBe } from "../manifests/derived-uid.ts";
import { BranchInventory, type TrackedBranch } from "./branch-inventory.ts";
import { listBranches, namedFor } from "./branches.ts";
import { Clients } from "./clients.ts";
import { fleetOfLinked, knownUID } from "./identity.ts";
import { projectNotAllowed, saidOnce } from "./messages.ts";

/** A Compute and the state of its reconciles: the Compute as it would be stored in a cluster by now. */
export interface Tracked {
  compute: Compute;
  state: ReconcileState;
  project: Project;
  /** Reason why `apply --prune` deletes it. */
  pruned?: string;
}

/** A project of the service, listed once for all its Computes. */
export interface Project {
  id: string;
  client: ServiceClient;
  connection: Connection | undefined;
  listing: Listing | undefined;
  /** Listed once where only a Compute needs them, and with the endpoints where there are Branches. */
  branches: Answer<ListedBranch[]> | undefined;
  /** The same, by id, name and parent; `undefined` where there is none. */
  branchListing?: BranchListing | undefined;
  /** The operations of our own writes, by id, oldest first. */
  operations: Map<string, Operation>;
}

type Listing = ({ kind: "listed"; index: EndpointIndex } & Listed) | Unlisted;
type Unlisted = Pick<Unavailable, "kind" | "reason" | "message" | "projectGone">;

export interface InventoryOptions {
  clock: Clock;
  transport: ServiceTransport;
  signal: AbortSignal;
  createSettleMs: number;
  scope: CommandScope;
}

/** Knowledge of the operators that may keep some of the computes, and the kind of the command. */
export interface CommandScope {
  /** The operators' `--fleet`, as far as it is given. */
  fleet: Fleet | undefined;
  fleetName: string | undefined;
  /** True if the operators' cluster was read. */
  cluster: boolean;
  /** Computes, by `namespace/name`, whose `deletionPolicy` stands in the cluster and is declared nowhere. */
  storedPolicies: ReadonlySet<string>;
  /** The command sends writes: not for what an operator keeps. */
  writes: boolean;
  /** True if objects that apply made and no manifest declares are looked for, so branches are listed too. */
  prunes: boolean;
}

/** Lists the service for a set of Computes: one list of endpoints per project. */
export class Inventory {
  readonly branches: BranchInventory;
  /** The pools, which name a project also while they have no members. */
  readonly pools: { object: ConnectionUser; project: Project }[] = [];
  readonly #options: InventoryOptions;
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
  readonly #tracked: Tracked[] = [];
  readonly #others: Compute[] = [];
  /** By the uid of the Compute. */
  readonly #projectOf = new Map<string, Project>();
  readonly #clients: Clients;
  /** Base URL by namespace and connection. */
  readonly #baseURLs = new Map<string, string>();

  constructor(options: InventoryOptions) {
    this.#options = options;
    this.#clients = new Clients(options);
    this.branches = new BranchInventory(options);
  }

  get scope(): CommandScope {
    return this.#options.scope;
  }

  /** True if a Compute with this uid is declared, or in the cluster. */
  has(uid: string): boolean {
    return this.#claims.has(uid);
  }

  /** All Computes that are declared, or in the cluster. */
  get computes(): readonly Compute[] {
    return [...this.#tracked.map(({ compute }) => compute), ...this.#others];
  }

  #baseURLOf(user: ConnectionUser): string | undefined {
    return this.#baseURLs.get(nameOf(connectionKeyOf(user)));
  }

  claimantsOf(compute: Compute): Claimants {
    return this.#claims.claimantsOf(compute);
  }

  get projects(): readonly Project[] {
    return [...this.#projects.values()];
  }

  track(declared: Compute, account: Account, connection: Connection | undefined): Tracked {
    const { clock, scope } = this.#options;
    const { metadata, status } = declared;
    // An endpoint that apply made is not the operator's, so plan with a cluster must not take it for the new Compute's.
    const isNew = scope.cluster && !scope.writes && isDerivedUID(metadata.uid);
    const compute = {
      ...declared,
      metadata: isNew ? { ...metadata, uid: uidToBe(metadata.uid) } : metadata,
      // If no status shows what was applied before, every difference is a change by the manifest.
      status: { ...status, appliedGeneration: status.appliedGeneration ?? -1 },
    };
    this.#baseURLs.set(nameOf(connectionKeyOf(compute)), account.baseURL);
    this.#claims.set(compute);
    const project = this.#project(compute.spec.projectID, account, connection);
    this.#projectOf.set(compute.metadata.uid, project);
    const now = clock.monotonic();
    const state = new ReconcileState(now, "apply");
    state.seen(compute, now);
    const tracked = { compute, state, project };
    this.#tracked.push(tracked);
    return tracked;
  }

  trackBranch(declared: DeclaredBranch, account: Account, connection: Connection | undefined): TrackedBranch {
    this.#baseURLs.set(nameOf(connectionKeyOf(declared)), account.baseURL);
    return this.branches.track(declared, this.#project(declared.spec.projectID, account, connection));
  }

  trackPool(object: ConnectionUser, account: Account, connection: Connection | undefined): void {
    this.#baseURLs.set(nameOf(connectionKeyOf(object)), account.baseURL);
    this.pools.push({ object, project: this.#project(object.spec.projectID, account, connection) });
  }

  /** A Compute that is not planned, and claims what it owns at the service with this base URL. */
  claim(compute: Compute, baseURL: string | undefined): void {
    if (baseURL !== undefined) this.#baseURLs.set(nameOf(connectionKeyOf(compute)), baseURL);
    this.#claims.set(compute);
    this.#others.push(compute);
  }

  /** Stores a changed Compute; its claims count for the other Computes. */
  update(tracked: Tracked, compute: Compute): void {
    tracked.compute = compute;
    this.#claims.set(compute);
  }

  /** Lists the endpoints of each project again. */
  async refresh(projects: readonly Project[] = this.projects): Promise<void> {
    const { clock, signal } = this.#options;
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
        const computes = this.#tracked.filter((tracked) => tracked.project === project);
        const isNeeded = this.scope.prunes || this.branches.needs(project);
        await listBranches(project, computes, isNeeded, this.#options);
        this.branches.listed(project);
      }),
    );
    for (const tracked of this.#tracked) if (projects.includes(tracked.project)) this.#identify(tracked);
  }

  #identify(tracked: Tracked): void {
    const { compute, project } = tracked;
    if (project.listing?.kind !== "listed") return;
    // The Computes of a cluster that was read have their uids.
    const fleet = this.scope.cluster ? undefined : this.scope.fleet;
    const { metadata } = compute;
    const uid = knownUID(compute, project.listing.index, fleet);
    if (uid === metadata.uid) return;
    this.#claims.delete(metadata.uid);
    this.#projectOf.delete(metadata.uid);
    this.#projectOf.set(uid, project);
    this.update(tracked, { ...compute, metadata: { ...metadata, uid } });
  }

  /** The observation that a Compute is planned from. */
  observe({ compute, project }: Tracked): Observed {
    const { clock, createSettleMs, scope } = this.#options;
    const { fleet } = scope;
    const { id, connection, listing, operations, client } = project;
    const annotations = annotationsOf(compute, clock.now());
    const claimants = this.#claims.claimantsOf(compute);
    const subject = { compute, annotations, claimants, now: clock.monotonic(), createSettleMs, fleet };
    if (connection !== undefined && !allowsProject(connection, id)) {
      const message = projectNotAllowed(connection, id);
      return { ...subject, kind: "unavailable", reason: "ConnectionNotReady", message, projectGone: false };
    }
    if (listing === undefined) return { ...subject, kind: "pending" };
    if (listing.kind === "unavailable") return { ...subject, ...listing };
    const { index, startedAt } = listing;
    const links = ownershipOf(compute, index);
    const endpointID = links.link?.endpoint.id;
    const { through: fingerprint } = client;
    return {
      ...subject,
      fleet: fleetOfLinked(compute, links, fleet),
      kind: "observed",
      endpoints: index,
      startedAt,
      links,
      operations: [...operations.values()].filter(({ endpoint_id }) => endpoint_id === endpointID).toReversed(),
      notListed:
        links.missing === undefined
          ? { missing: 0, known: 0 }
          : notListedIn({ endpoints: index, fingerprint }, claimants),
      fingerprint,
      baseURL: client.account.baseURL,
      terminating: false,
      ...namedFor(compute, project, this.branches),
    };
  }

  /** The project, as this account and connection reach it. */
  #project(projectID: string, account: Account, connection: Connection | undefined): Project {
    const through = `${accountFingerprint(account)} ${account.caBundle ?? ""}`;
    const id = `${projectID} ${through} ${connection?.metadata.namespace ?? ""}/${connection?.metadata.name ?? ""}`;
    const known = this.#projects.get(id);
    if (known !== undefined) return known;
    const client = this.#clients.of(account, connection);
    const project: Project = {
      id: projectID,
      client,
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
  return project?.listing?.kind === "listed" ? project.client.through : undefined;
}

function unlisted(failure: Failure, { id, client }: Project): Unlisted {
  const meaning = meaningOf(failure, requests.listEndpoints(id));
  const message = saidOnce(meaning, client.account.baseURL, "manifests");
  return { kind: "unavailable", reason: meaning.reason, message, projectGone: false };
}
