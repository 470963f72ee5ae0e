import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { markOf, type ServiceWrite } from "./records.ts";
import { goodFaithMs } from "./register.ts";
import type { ServiceHost } from "./service-host.ts";

/** The services that connections may lead to, and the one that they lead to now. */
export class Services {
  readonly #clock: Clock;
  readonly #hosts = new Map<string, ServiceHost>();
  #baseURL = "";
  /** When users last switched the connection to another service, and first. */
  #editedAt = Number.NEGATIVE_INFINITY;
  #firstEditedAt = Number.POSITIVE_INFINITY;
  #key = "";
  /** Until when a process may have gone by another key than the operator has now. */
  #otherKeyAt = Number.NEGATIVE_INFINITY;

  readonly #swaps: { taker: string; maker: string; at: number; endpointID: string; made: readonly string[] }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The base URL that users last gave the connection. */
  get baseURL(): string {
    return this.#baseURL;
  }

  get all(): ServiceHost[] {
    return [...this.#hosts.values()];
  }

  has(baseURL: string): boolean {
    return this.#hosts.has(baseURL);
  }

  add(baseURL: string, host: ServiceHost): void {
    this.#hosts.set(baseURL, host);
    if (this.#baseURL === "") this.#baseURL = baseURL;
  }

  at(baseURL: string): ServiceHost {
    const host = this.#hosts.get(baseURL);
    if (host === undefined) throw new Error(`no service is at ${baseURL}`);
    return host;
  }

  /** The base URL of the service where an endpoint stands; the present one where it stands nowhere. */
  baseURLOf(endpointID: string): string {
    const found = [...this.#hosts].find(([, host]) => host.endpoint(endpointID) !== undefined);
    return found?.[0] ?? this.#baseURL;
  }

  /** People lead the connection to this one. */
  lead(baseURL: string): void {
    this.#baseURL = baseURL;
    this.#editedAt = this.#clock.monotonic();
    this.#firstEditedAt = Math.min(this.#firstEditedAt, this.#editedAt);
  }

  /** The key that users last gave the operator. */
  get key(): string {
    return this.#key;
  }

  set key(key: string) {
    this.#key = key;
    this.#otherKeyAt = this.#clock.monotonic();
  }

  /** A process sends a request with this key: it may not have heard of a newer one yet. */
  sentWith(key: string): void {
    if (key !== this.#key) this.#otherKeyAt = this.#clock.monotonic();
  }

  /** Whether a process may have gone by another key than the present one since then. */
  hadOtherKeySince(at: number): boolean {
    return this.#otherKeyAt >= at;
  }

  /** Whether users switched the connection to another service since then. */
  editedSince(at: number): boolean {
    return this.#editedAt >= at;
  }

  /** When users first switched the connection to another service. */
  get firstEditedAt(): number {
    return this.#firstEditedAt;
  }

  /** What stands at all of them, at this moment. */
  endpoints(): StoredEndpoint[] {
    return this.all.flatMap((host) => host.allEndpoints());
  }

  /** Whether users deleted an endpoint after that, outside the operators. */
  wasDeletedSince(endpointID: string, at: number): boolean {
    return this.all.some((host) => (host.deletedByPeopleAt(endpointID) ?? Number.NEGATIVE_INFINITY) >= at);
  }

  /** What stands at the service of an endpoint; at all of them where it stands nowhere. */
  endpointsBeside(endpointID: string): StoredEndpoint[] {
    const host = this.all.find((one) => one.endpoint(endpointID) !== undefined);
    return host?.allEndpoints() ?? this.endpoints();
  }

  /** Whether an endpoint stands where the connection leads to, and has for so long that every operator knows. */
  isHere(endpointID: string): boolean {
    return (
      !this.editedSince(this.#clock.monotonic() - goodFaithMs) &&
      this.at(this.#baseURL).endpoint(endpointID) !== undefined
    );
  }

  /** Whether a start of an endpoint was set off since then, or is yet to come. */
  startsAfresh(endpointID: string, since: number): boolean {
    const age = this.#clock.monotonic() - since;
    const hosts = this.all.filter((host) => host.endpoint(endpointID) !== undefined);
    return hosts.length === 0 || hosts.some((host) => host.startsAfresh(endpointID, age));
  }

  /** The name that a create gives its endpoint, unless another Compute has taken that for its own meanwhile. */
  nameFor(write: Pick<ServiceWrite, "body" | "sentAt">): string | undefined {
    const since = this.#swaps.filter(({ at }) => write.sentAt <= at);
    // Whose it became may have taken another's since.
    return since.reduce((name, { taker, maker }) => (taker === name ? maker : name), markOf(write));
  }

  /**
   * Where no names are shown, one Compute took for its own what another's lost create had made: who gets which of two
   * that are alike is all one, and what its own create made, or is yet to make, is the other's.
   */
  swap(endpointID: string, taker: string, maker: string): void {
    const made = this.endpointsBeside(endpointID).flatMap(({ id, name }) => (name === taker ? [id] : []));
    this.#swaps.push({ taker, maker, at: this.#clock.monotonic(), endpointID, made });
    for (const id of made) this.rename(id, maker);
    this.rename(endpointID, taker);
  }

  /** The answer to its own create proves whose the endpoint is, which another took for its own right before. */
  proved(endpointID: string, maker: string): void {
    const swap = this.#swaps.findLast((one) => one.endpointID === endpointID && one.maker === maker);
    if (swap === undefined) return;
    this.#swaps.splice(this.#swaps.indexOf(swap), 1);
    for (const id of swap.made) this.rename(id, swap.taker);
    this.rename(endpointID, maker);
  }

  /** From now on an endpoint counts as made by another. */
  rename(endpointID: string, taker: string): void {
    this.all.find((host) => host.endpoint(endpointID) !== undefined)?.made(endpointID, taker);
  }

  close(): void {
    for (const host of this.all) host.close();
  }
}
