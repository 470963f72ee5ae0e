import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import type { KubeObject } from "../api-server/objects.ts";
import type { ApiServer } from "../api-server/server.ts";
import { type Shown, type View, whyNotTakenOver, wrongSigning } from "../fleet/judge.ts";
import { Witness } from "../fleet/witness.ts";
import { adopts, proofOf, signatureIn, signatureOf, specOf } from "./computes.ts";
import { markOf, type ServiceWrite } from "./records.ts";
import { goodFaithMs, type Register } from "./register.ts";
import type { Services } from "./services.ts";

/** How long before a Compute's end its operator last listed its endpoints, at most: a refresh. */
const lastLookMs = 35_000;

/**
 * Rule 1 of the design, where operators run with `--fleet`: each write of a name signs what may be signed, what a
 * former Compute made is taken over if it may be, and what a lost cluster left is deleted only by a Compute that took
 * it over.
 */
export class FleetGuard {
  /** As the operators are started; `undefined` without. */
  readonly fleet: () => string | undefined;
  readonly #server: ApiServer;
  readonly #clock: Clock;
  readonly #services: Services;
  readonly #register: Register;
  readonly #report: (promise: string, message: string) => void;
  #witness: Witness;
  /** By uid, when each Compute of a lost cluster was lost. */
  readonly #lost = new Map<string, number>();
  /** When a write to each endpoint was last carried out. */
  readonly #writtenAt = new Map<string, number>();
  /** When each endpoint was last moved, and from where. */
  readonly #moved = new Map<string, { at: number; from: string }>();
  /** The endpoint that each Compute's signature was last sent for. */
  readonly #sentFor = new Map<string, string>();
  /** Which endpoint each Compute last signed, and when. */
  readonly #signed = new Map<string, { at: number; endpointID: string }>();

  constructor(
    {
      server,
      clock,
      services,
      register,
      fleet,
    }: {
      server: ApiServer;
      clock: Clock;
      services: Services;
      register: Register;
      fleet: () => string | undefined;
    },
    report: (promise: string, message: string) => void,
  ) {
    this.fleet = fleet;
    this.#server = server;
    this.#clock = clock;
    this.#services = services;
    this.#register = register;
    this.#report = report;
    this.#witness = this.#newWitness();
  }

  /** The cluster is lost with these Computes; what follows is another. */
  lost(computes: readonly KubeObject[]): void {
    for (const { metadata } of computes) this.#lost.set(metadata.uid, this.#clock.monotonic());
    this.#witness = this.#newWitness();
  }

  /** Whether a write is the signing of an endpoint, which is judged here. */
  isSigning(write: ServiceWrite): boolean {
    return write.kind === "patch" && markOf(write) !== undefined && this.fleet() !== undefined;
  }

  sent(write: ServiceWrite): void {
    const fleet = this.fleet();
    if (fleet === undefined) return;
    const { kind, target } = write;
    const name = markOf(write);
    const view = this.#viewOf(fleet);
    const endpoints = this.#endpoints(write);
    if (kind === "create") this.#checkCreate(name, endpoints, view);
    if (target === undefined) return;
    if (kind === "patch" && name !== undefined) {
      const signer = signatureIn(name)?.uid;
      if (signer !== undefined) this.#sentFor.set(signer, target.id);
      const wrong = this.#asListed(target).map((one) => wrongSigning(one, name, endpoints.map(shown), view));
      if (!wrong.includes(undefined)) this.#report("signatures", wrong[0] ?? "");
    }
    const uid = signatureIn(target.name)?.uid;
    // `adopt` authorises a deletion as a signature does (rule 1).
    const isAdopted = view.computes.some((compute) => wasAdoptedBy(compute, target));
    if (kind === "delete" && uid !== undefined && this.#lost.has(uid) && !isAdopted)
      this.#report("orphans stay", `delete of ${target.id}, which a Compute of a lost cluster made`);
  }

  carriedOut(write: ServiceWrite): void {
    const { endpointID, carriedOut, target } = write;
    if (endpointID !== undefined) this.#writtenAt.set(endpointID, this.#clock.monotonic());
    const isMove =
      target !== undefined &&
      this.#endpoints(write).some(({ id, branchId }) => id === target.id && branchId !== target.branchId);
    if (isMove) this.#moved.set(target.id, { at: this.#clock.monotonic(), from: target.branchId });
    const uid = signatureIn(markOf(write))?.uid;
    if (uid !== undefined && endpointID !== undefined && this.isSigning(write) && carriedOut?.status === 200)
      this.#signed.set(uid, { at: this.#clock.monotonic(), endpointID });
  }

  /**
   * Uids of Computes whose signature reached an endpoint when they were gone, or too late for a list to show it: a
   * Compute that never owned an endpoint deletes nothing, by rule 5 of the design, and the endpoint is an orphan again.
   */
  signedTooLate(): string[] {
    return [...this.#signed].flatMap(([uid, { at }]) =>
      at > (this.#register.get(uid)?.until ?? 0) - lastLookMs ? [uid] : [],
    );
  }

  /**
   * Whether another signature was written over that of a Compute, or a late request of a lost cluster wrote its own
   * before ours could arrive: the operator cannot tell that from a second cluster that lives, and signs nothing back.
   */
  isSignedOver(uid: string, endpoints: readonly StoredEndpoint[]): boolean {
    const endpointID = this.#sentFor.get(uid);
    const signer = signatureIn(endpoints.find(({ id }) => id === endpointID)?.name)?.uid;
    if (signer === undefined || signer === uid) return false;
    const wasLate = (this.#signed.get(signer)?.at ?? 0) > (this.#lost.get(signer) ?? Number.POSITIVE_INFINITY);
    return this.#signed.get(uid)?.endpointID === endpointID || wasLate;
  }

  /** Whether the last list may still have shown the Compute's signature, which another write to the name replaced. */
  boreLately(endpoint: StoredEndpoint, uid: string): boolean {
    return this.#signed.has(uid) && this.#changedLately(endpoint);
  }

  /** What a Compute is to take over, where that is beyond doubt and every operator can know it. */
  toTakeOver(compute: KubeObject, endpoints: readonly StoredEndpoint[]): StoredEndpoint | undefined {
    const fleet = this.fleet();
    if (fleet === undefined) return undefined;
    const own = signatureIn(signatureOf(compute, fleet));
    const formers = endpoints.filter(({ projectId, name }) => {
      const signature = signatureIn(name);
      const isOfFormerCompute =
        signature?.fleet === own?.fleet && signature?.key === own?.key && signature?.uid !== own?.uid;
      return projectId === specOf(compute)["projectID"] && isOfFormerCompute;
    });
    const [former] = formers;
    if (former === undefined || formers.length > 1 || this.#changedLately(former)) return undefined;
    // Whatever an operator may still believe, one that was ever linked takes nothing over.
    const view = { ...this.#viewOf(fleet), linked: this.#witness.linked };
    const all = endpoints.map(shown);
    const versions = view.versionsOf(compute.metadata.uid);
    const may = versions.every((version) => whyNotTakenOver(version, shown(former), all, view) === undefined);
    return may && versions.length > 0 ? former : undefined;
  }

  /** Nothing is created for a Compute beside what it is to take over. */
  #checkCreate(name: string | undefined, endpoints: readonly StoredEndpoint[], view: View): void {
    const signer = view.computes.find((compute) => signatureOf(compute, view.fleet) === name);
    if (signer === undefined) {
      this.#report("signatures", `a create with the name ${name}, which is the signature of no Compute`);
      return;
    }
    const former = this.toTakeOver(signer, endpoints);
    if (former !== undefined)
      this.#report("former", `${signer.metadata.name} creates an endpoint beside ${former.id}, its former Compute's`);
  }

  #viewOf(fleet: string): View {
    const view = this.#witness.view(fleet);
    const isLinked = (uid: string) => view.versionsOf(uid).every((version) => this.#witness.isLinked(version));
    const linked = new Set([...view.linked].filter(isLinked));
    const isNew = ({ id }: Shown) => {
      const endpoint = this.#services.endpoints().find((one) => one.id === id);
      return endpoint === undefined || this.#changedLately(endpoint);
    };
    return { ...view, linked, isNew };
  }

  #endpoints({ service, project }: ServiceWrite): readonly StoredEndpoint[] {
    return this.#services.at(service).endpoints(project);
  }

  /** An endpoint as it is, and as the last list may still have shown it. */
  #asListed(endpoint: StoredEndpoint): Shown[] {
    const moved = this.#moved.get(endpoint.id);
    const isNews = moved !== undefined && moved.at > this.#clock.monotonic() - lastLookMs;
    return [shown(endpoint), ...(isNews ? [{ ...shown(endpoint), branch_id: moved.from }] : [])];
  }

  #changedLately({ id, createdAt }: StoredEndpoint): boolean {
    const since = this.#clock.monotonic() - goodFaithMs;
    // The service has a wall clock of its own, which nobody sets.
    const age = this.#services.at(this.#services.baseURLOf(id)).service.context.clock.now() - createdAt;
    return age < goodFaithMs || (this.#writtenAt.get(id) ?? Number.NEGATIVE_INFINITY) > since;
  }

  #newWitness(): Witness {
    return new Witness(this.#server, this.#clock, goodFaithMs);
  }
}

function shown({ id, name, type, branchId }: StoredEndpoint): Shown {
  return { id, name, type, branch_id: branchId };
}

/** Whether `spec.adopt` names the endpoint, or named it when it was taken over: the branch's primary may move since. */
function wasAdoptedBy(compute: KubeObject, endpoint: StoredEndpoint): boolean {
  const { endpointID, by } = proofOf(compute) ?? {};
  const wasPrimary = specOf(compute)["adopt"] !== undefined && by === "adopted" && endpointID === endpoint.id;
  return wasPrimary || adopts(compute, endpoint);
}
