import type { Operation } from "../../api/operation.ts";
import { meaningOf } from "../../operator/compute/execute/failures.ts";
import { ClaimIndex } from "../../operator/compute/observe/claim-index.ts";
import type { Claimants } from "../../operator/compute/observe/claims.ts";
import { markersIn, vanishedFrom } from "../../operator/compute/observe/endpoint-snapshot.ts";
import { EndpointIndex, ownershipOf } from "../../operator/compute/observe/ownership.ts";
import type { EndpointSnapshot, Observation, PlanInput } from "../../operator/compute/observe/plan-input.ts";
import { newReconcileState, type ReconcileState } from "../../operator/compute/state.ts";
import { requests } from "../../operator/compute/status/messages/failures.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ServiceConnection } from "../../operator/resources/service-connection.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import { type Account, accountFingerprint } from "../../operator/service-client/account.ts";
import type { Failure } from "../../operator/service-client/answer.ts";
import { RequestBudget } from "../../operator/service-client/budget.ts";
import { ServiceClient } from "../../operator/service-client/client.ts";
import type { ServiceTransport } from "../../operator/service-client/transport.ts";
import { saidOnce } from "./messages.ts";

/** A Compute on its way: as it would stand in a cluster by now, and what is remembered of it. */
export interface Tracked {
  compute: Compute;
  memory: ReconcileState;
  project: Project;
}

/** A project of the service, looked at once for all its Computes. */
export interface Project {
  id: string;
  client: ServiceClient;
  connection: ServiceConnection | undefined;
  listing: Listing | undefined;
  /** Of our own writes, by id, newest first. */
  operations: Map<string, Operation>;
}

type Listing =
  | { kind: "listed"; index: EndpointIndex; startedAt: number }
  | { kind: "blocked"; observation: Extract<Observation, { kind: "blocked" }> };

export interface InventoryOptions {
  clock: Clock;
  transport: ServiceTransport;
  signal: AbortSignal;
  createSettleMs: number;
}

/** Looks at the service for a set of Computes: one list of endpoints per project, and a view for each Compute. */
export class Inventory {
  readonly #options: InventoryOptions;
  readonly #claims = new ClaimIndex(
    ({ metadata, spec }) => this.#baseURLs.get(`${metadata.namespace ?? ""}/${spec.connectionRef.name}`),
    () => false,
    ({ metadata }) => reached(this.#projectOf.get(metadata.uid)),
  );
  readonly #projects = new Map<string, Project>();
  /** By the uid of the Compute. */
  readonly #projectOf = new Map<string, Project>();
  readonly #clients = new Map<string, ServiceClient>();
  /** Base URL by namespace and connection. */
  readonly #baseURLs = new Map<string, string>();

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  get projects(): readonly Project[] {
    return [...this.#projects.values()];
  }

  track(declared: Compute, account: Account, connection: ServiceConnection | undefined): Tracked {
    const { clock } = this.#options;
    // Where no status tells what was sent before, what differs is what the manifest is to change.
    const { status } = declared;
    const compute =
      status.appliedGeneration === undefined ? { ...declared, status: { ...status, appliedGeneration: -1 } } : declared;
    const { namespace = "" } = compute.metadata;
    this.#baseURLs.set(`${namespace}/${compute.spec.connectionRef.name}`, account.baseURL);
    this.#claims.set(compute);
    const project = this.#project(compute, account, connection);
    this.#projectOf.set(compute.metadata.uid, project);
    return { compute, memory: newReconcileState(clock.monotonic()), project };
  }

  /** Takes note of a Compute that has changed: what it claims counts for the others. */
  update(tracked: Tracked, compute: Compute): void {
    tracked.compute = compute;
    this.#claims.set(compute);
  }

  /** Lists the endpoints of each project again. */
  async look(projects: readonly Project[] = this.projects): Promise<void> {
    const { clock, signal } = this.#options;
    await Promise.all(
      projects.map(async (project) => {
        const startedAt = clock.monotonic();
        const answer = await project.client.listEndpoints(project.id, signal);
        project.listing =
          answer.kind === "ok"
            ? { kind: "listed", index: new EndpointIndex(answer.value), startedAt }
            : { kind: "blocked", observation: unlisted(answer, project) };
      }),
    );
  }

  /** What the plan of a Compute is made from; `recent`: operations of its endpoint, also those set off by others. */
  view({ compute, memory, project }: Tracked, recent?: readonly Operation[]): PlanInput {
    const { clock, createSettleMs } = this.#options;
    const claimants = this.#claims.claimantsOf(compute);
    const observation = this.#observation(compute, project, claimants, recent);
    return { compute, observation, claimants, memory, now: clock.monotonic(), createSettleMs };
  }

  #observation(
    compute: Compute,
    { id, connection, listing, operations, client }: Project,
    claimants: Claimants,
    recent?: readonly Operation[],
  ): Observation {
    const allowed = connection?.spec.allowedProjects;
    if (connection !== undefined && allowed !== undefined && !allowed.includes(id)) {
      const message = `ServiceConnection "${connection.metadata.name}" does not allow project ${id}. Add it to its spec.allowedProjects, or use another connection.`;
      return { kind: "blocked", reason: "ConnectionNotReady", message, projectGone: false };
    }
    if (listing === undefined) return { kind: "awaited" };
    if (listing.kind === "blocked") return listing.observation;
    const { index, startedAt } = listing;
    const links = ownershipOf(compute, index);
    const endpointID = links.link?.endpoint.id;
    const list: EndpointSnapshot = {
      endpoints: index,
      startedAt,
      links,
      operations: [...operations.values()].filter(({ endpoint_id }) => endpoint_id === endpointID).toReversed(),
      ...(recent === undefined ? {} : { lookedUp: recent }),
      notListed: links.missing === undefined ? { missing: 0, known: 0 } : vanishedFrom(index, claimants),
      markers: markersIn(compute, index, claimants, client.through),
      through: client.through,
      terminating: false,
    };
    return { kind: "listed", list };
  }

  #project(compute: Compute, account: Account, connection: ServiceConnection | undefined): Project {
    const { projectID } = compute.spec;
    const through = `${accountFingerprint(account)} ${account.caBundle ?? ""}`;
    const id = `${projectID} ${through} ${connection?.metadata.namespace ?? ""}/${connection?.metadata.name ?? ""}`;
    const known = this.#projects.get(id);
    if (known !== undefined) return known;
    const client = this.#clients.get(through) ?? clientFor(account, this.#options);
    this.#clients.set(through, client);
    const project: Project = { id: projectID, client, connection, listing: undefined, operations: new Map() };
    this.#projects.set(id, project);
    return project;
  }
}

/** A client that speaks for an account, within the limits that the service sets. */
export function clientFor(
  account: Account,
  { transport, clock }: Pick<InventoryOptions, "transport" | "clock">,
): ServiceClient {
  const budget = new RequestBudget(clock, { perMinute: 700, burst: 40 });
  return new ServiceClient({ account, transport, budget, clock, beforeWrite: () => {} });
}

/** The base URL and key through which a project was listed. */
function reached(project: Project | undefined): string | undefined {
  return project?.listing?.kind === "listed" ? project.client.through : undefined;
}

function unlisted(failure: Failure, { id, client }: Project): Extract<Observation, { kind: "blocked" }> {
  const meaning = meaningOf(failure, requests.listEndpoints(id));
  const message = saidOnce(meaning, client.account.baseURL, "manifests");
  return { kind: "blocked", reason: meaning.reason, message, projectGone: false };
}
