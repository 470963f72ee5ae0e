import { ownerOf } from "../accounts/owner.ts";
import { arrive, mostClients } from "../computes/connect.ts";
import { suspendDue } from "../computes/inactivity.ts";
import { meter, sizeWith } from "../computes/meter.ts";
import type { ServiceContext } from "../context.ts";
import { StoreFull, unlessFull } from "../refusal.ts";
import { mostConnections } from "../sharing/most-connections.ts";
import { Shares } from "../sharing/shares.ts";
import { Slots } from "../sharing/slots.ts";
import { Turns } from "../sharing/turns.ts";
import { ClientPlaces } from "./client-places.ts";
import type { DrivenService } from "./driven-service.ts";
import { endRole, refuseBarred } from "./entry.ts";
import { eventually } from "./eventually.ts";
import type { Fleet } from "./fleet/fleet.ts";
import type { Running } from "./fleet/fleet-ports.ts";
import type { Poolers } from "./fleet/poolers.ts";
import type { Session, Sessions } from "./fleet/sessions.ts";
import type { Verifiers } from "./fleet/verifiers.ts";
import { ServerFailed } from "./host/failure.ts";
import { socketIn } from "./host/sockets.ts";
import type { Admission } from "./proxy/admission.ts";
import type { Target } from "./proxy/proxy.ts";
import { mostReaders } from "./server/config.ts";
import { cutName } from "./session/quoting.ts";
import { loggedOut, Rejection } from "./session/rejection.ts";
import type { RoleVerifier } from "./session/scram.ts";
import { isFresh, isSettled, isUnchangedByStranger } from "./strangers.ts";

/** Number of times that a client whose compute falls asleep again just then has it woken. */
const mostTries = 3;

/** Clients that have logged in to all computes, and their part of the files: at Postgres' port each has two. */
const most = { clients: 32_768, partOfFiles: 1 / 10 };

export interface GatePorts {
  fleet: Pick<Fleet, "serverOf">;
  /** `undefined` where there is no PgBouncer: clients of pooled hosts reach their servers directly. */
  poolers: Pick<Poolers, "socketFor"> | undefined;
  sessions: Sessions;
  verifiers: Pick<Verifiers, "of" | "ask">;
  /** The budget of processes, of which a client that has logged in has one, by owner of their compute. */
  processShares: Pick<Shares, "of">;
  /** The budget of clients that have logged in, by owner of their compute; one alone gets half of it. */
  clients?: Shares;
}

/** Lets clients in: wakes their compute, waits for its server, and keeps account of who is there. */
export class Gate {
  readonly #service: DrivenService;
  readonly #ports: GatePorts;
  readonly #sessions: Sessions;
  /** By compute that changes: the wait of all its clients, as each change of the service is a look at each wait. */
  readonly #waits = new Map<string, Promise<Running | undefined>>();
  /** The computes without clients of which the store does not know this yet, as its disk is full. */
  readonly #leaving = new Set<string>();
  readonly #checks = new Turns();
  readonly #hashes = new Slots(1);
  /** Clients whose coming is noted once they log in. */
  readonly #unnoted = new WeakSet<Session>();
  readonly #places: ClientPlaces;
  #closed = false;

  constructor(service: DrivenService, ports: GatePorts) {
    this.#service = service;
    this.#ports = ports;
    this.#sessions = ports.sessions;
    const clients = ports.clients ?? new Shares(mostConnections(most.clients, most.partOfFiles));
    this.#places = new ClientPlaces(service, [clients, ports.processShares]);
  }

  /** Nothing is noted any more: the store closes. */
  close(): void {
    this.#closed = true;
  }

  /** Rejects with `Rejection`. The compute stays awake for the client from now until `leave` is called. */
  async admit(target: Target): Promise<Admission> {
    if (this.#closed) throw new Rejection("57P03", "the service is shutting down");
    const { endpointId, pooled, replicates, from } = target;
    const session: Session = { endpointId, pooled, replicates, counts: false, logout: new AbortController() };
    try {
      this.#enter(session);
      for (let tries = 0; tries < mostTries; tries += 1) {
        const running = await this.#awake(endpointId);
        if (running) return this.#admission(session, running, from);
        if (!this.#starts(session)) this.#note(session);
      }
      throw new Rejection("57P03", `compute ${endpointId} is suspended again and again: try later`);
    } catch (error) {
      this.#leave(session);
      throw error;
    }
  }

  #enter(session: Session): void {
    const { store, clock } = this.#service.context;
    const { endpointId } = session;
    const endpoint = store.endpoints.byId(endpointId);
    if (!endpoint) throw unknown(endpointId);
    if (endpoint.disabled) throw disabled(endpointId);
    const fresh = isFresh(endpoint, clock.now());
    const settled = isSettled(endpoint);
    const isFirst = !this.#sessions.any(endpointId);
    // Before the change, at which those who watch activity look: a compute without clients is not watched.
    this.#sessions.open(session);
    const noted = (settled || this.#starts(session)) && fresh && !isFirst && endpoint.suspendDue === undefined;
    if (noted) return;
    if (isUnchangedByStranger(this.#service.context, endpoint)) this.#unnoted.add(session);
    else this.#note(session, settled);
  }

  /**
   * Gives a client that has logged in one of the compute's connections: a stranger must not be able to take them all.
   * Throws `Rejection` where none is left.
   */
  #count(session: Session, running: Running): void {
    const { endpointId, pooled } = session;
    const endpoint = this.#service.context.store.endpoints.byId(endpointId);
    if (!endpoint) throw unknown(endpointId);
    if (session.logout.signal.aborted) throw loggedOut();
    // A client at the socket of another server would not hear of the end of that one.
    if (this.#ports.fleet.serverOf(endpointId) !== running) {
      throw new Rejection("57P03", `compute ${endpointId} was stopped amid the login: connect again`);
    }
    const limit = mostClients(this.#service.context, endpoint, pooled);
    if (this.#sessions.count(endpointId, pooled) >= limit) {
      throw new Rejection("53300", `sorry, too many clients already: compute ${endpointId} takes ${limit} connections`);
    }
    if (session.replicates && this.#sessions.replicating(endpointId) >= mostReaders.clients) {
      throw new Rejection("53300", `compute ${endpointId} takes ${mostReaders.clients} clients that replicate`);
    }
    // PgBouncer keeps sessions for the next clients.
    if (pooled && this.#ports.poolers) running.expectClient();
    if (!this.#places.take(session)) {
      throw new Rejection("53300", "sorry, too many clients already: the computes of this owner have their share");
    }
    if (this.#unnoted.has(session)) this.#note(session, true);
    if (!pooled) this.#meterBefore(endpointId, 1);
    this.#sessions.logIn(session);
  }

  /**
   * Records the usage until now where one more or one fewer connection changes the compute's size. On a full disk the
   * time until now counts with the size that follows.
   */
  #meterBefore(endpointId: string, change: 1 | -1): void {
    if (this.#closed) return;
    const { store, options } = this.#service.context;
    const endpoint = store.endpoints.byId(endpointId);
    const open = this.#sessions.count(endpointId, false);
    const sizeOf = (connections: number) => endpoint && sizeWith(options.rules, endpoint, connections);
    if (!endpoint || sizeOf(open) === sizeOf(open + change)) return;
    const note = (context: ServiceContext, at: number) => {
      meter(context, endpoint, at);
      context.store.endpoints.update(endpoint);
    };
    unlessFull(() => this.#service.change(note));
  }

  /** On a full disk a compute that runs goes on, and no other one starts. */
  #note(session: Session, runs = false): void {
    try {
      this.#service.change((context, at) => this.#wake(context, session, at));
    } catch (error) {
      if (!(error instanceof StoreFull)) throw error;
      if (!runs) throw new Rejection("53100", error.message);
    }
  }

  #wake(context: ServiceContext, { endpointId }: Session, at: number): void {
    const endpoint = context.store.endpoints.byId(endpointId);
    if (endpoint && !endpoint.disabled) arrive(context, endpoint, at);
  }

  /** Never throws: it is called where a connection ends, and nobody could catch it. */
  #leave(session: Session): void {
    this.#places.release(session);
    const close = () => this.#sessions.close(session, this.#service.context.clock.now());
    try {
      if (session.counts && !session.pooled) this.#meterBefore(session.endpointId, -1);
      if (this.#sessions.isAlone(session)) this.#noteLeaving(session, close);
    } catch (error) {
      this.#service.report(error);
    }
    close();
  }

  /** On a full disk once for all that come and leave until there is room: strangers may be thousands. */
  #noteLeaving({ endpointId, counts }: Session, close: () => void): void {
    const known = this.#service.context.store.endpoints.byId(endpointId);
    if (!counts && known && isUnchangedByStranger(this.#service.context, known)) return;
    const note = (context: ServiceContext, at: number) => {
      const endpoint = context.store.endpoints.byId(endpointId);
      if (!endpoint) return;
      // The usage until now is that of a compute with this client.
      meter(context, endpoint, at);
      close();
      // Clients that a suspension sends away have not been active then.
      if (endpoint.currentState === "active" && endpoint.pendingState !== "idle") {
        endpoint.lastActive = at;
        endpoint.suspendDue = suspendDue(context, endpoint, at);
      }
      context.store.endpoints.update(endpoint);
    };
    if (this.#closed || unlessFull(() => this.#service.change(note)) || this.#leaving.has(endpointId)) return;
    this.#leaving.add(endpointId);
    void eventually(this.#service, note, () => this.#closed).then(() => this.#leaving.delete(endpointId));
  }

  #admission(session: Session, running: Running, from: string | undefined): Admission {
    const { poolers, verifiers } = this.#ports;
    const { endpointId, pooled } = session;
    let asked: { role: string; verifier: RoleVerifier } | undefined;
    const ask = (sql: string) => verifiers.ask(running, sql).catch(asRejection);
    const endFormer = (oid: string) => endRole(oid, ask, () => this.#sessions.logOutPooled(session));
    return {
      socket: async (database) => {
        if (!(pooled && poolers && asked)) return socketIn(running.config.sockets);
        await refuseBarred(ask, asked.role, database);
        return poolers.socketFor(endpointId, running, { ...asked, endFormer }).catch(asRejection);
      },
      logout: session.logout.signal,
      verifierOf: async (role) => {
        session.role = cutName(role);
        const verifier = await verifiers.of(running, role, from).catch(asRejection);
        asked = { role: cutName(role), verifier };
        return verifier;
      },
      inTurn: (check) => this.#checks.take(endpointId, check, from),
      alone: (hash) => this.#hashes.take(hash, ownerOf(this.#service.context.store, endpointId)),
      end: async (processId) => void (await ask(`SELECT pg_terminate_backend(${processId})`)),
      onServerEnd: (follower) => running.server.onEnd(follower),
      enter: () => this.#count(session, running),
      leave: () => this.#leave(session),
    };
  }

  /** The compute's server as soon as it is up; `undefined` where it was suspended after all. */
  #awake(endpointId: string): Promise<Running | undefined> {
    const waiting = this.#waits.get(endpointId);
    if (waiting) return waiting;
    const { promise, resolve, reject } = Promise.withResolvers<Running | undefined>();
    const check = (): boolean => {
      const found = this.#state(endpointId);
      if (found.kind === "up") resolve(found.running);
      else if (found.kind === "asleep") resolve(undefined);
      else if (found.kind === "rejected") reject(found.rejection);
      return found.kind !== "changing";
    };
    if (check()) return promise;
    this.#waits.set(endpointId, promise);
    const stop = this.#service.onChange(() => {
      if (!check()) return;
      this.#waits.delete(endpointId);
      stop();
    });
    return promise;
  }

  /** True if another client has woken the compute just now: a thousand clients are not as many changes. */
  #starts({ endpointId }: Session): boolean {
    return this.#service.context.store.endpoints.byId(endpointId)?.pendingState === "active";
  }

  #state(endpointId: string): State {
    const { store } = this.#service.context;
    const endpoint = store.endpoints.byId(endpointId);
    if (!endpoint) return { kind: "rejected", rejection: unknown(endpointId) };
    if (endpoint.disabled) return { kind: "rejected", rejection: disabled(endpointId) };
    if (endpoint.pendingState !== undefined) return { kind: "changing" };
    const running = this.#ports.fleet.serverOf(endpointId);
    if (endpoint.currentState === "active" && running) return { kind: "up", running };
    const [last] = store.operations.ofEndpoint(endpoint.projectId, endpointId, 1);
    if (last?.status !== "failed" && last?.status !== "cancelled") return { kind: "asleep" };
    const message = `compute ${endpointId} could not be started: ${store.operations.reasonOf(last) ?? "see its operations"}`;
    return { kind: "rejected", rejection: new Rejection("57P03", message) };
  }
}

type State =
  | { kind: "up"; running: Running }
  | { kind: "asleep" }
  | { kind: "changing" }
  | { kind: "rejected"; rejection: Rejection };

function asRejection(error: unknown): never {
  throw error instanceof ServerFailed ? new Rejection("57P03", error.message) : error;
}

function unknown(endpointId: string): Rejection {
  return new Rejection("08004", `there is no compute ${endpointId}: it was deleted, or its id is misspelt`);
}

function disabled(endpointId: string): Rejection {
  return new Rejection("08004", `compute ${endpointId} is disabled: enable it (disabled: false) and connect again`);
}
