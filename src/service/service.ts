import { authenticate, knownCaller } from "./accounts/caller.ts";
import { changeInParts } from "./change-in-parts.ts";
import { Changes } from "./changes.ts";
import { type Random, type ServiceClock, timestamp } from "./clock.ts";
import { ModelBackend } from "./computes/model.ts";
import { changesPath } from "./console/change-stream.ts";
import { Console } from "./console/console.ts";
import type { ServiceContext } from "./context.ts";
import { clear, nextDue, settle } from "./domain/due-events.ts";
import { ModelCatalog } from "./domain/model-catalog.ts";
import { longestBody } from "./http/body.ts";
import { nothing } from "./http/check.ts";
import { type Controls, controlRoutes } from "./http/control-routes.ts";
import { answerWith, type Exchange } from "./http/exchange.ts";
import { type Fault, FaultPlan } from "./http/faults.ts";
import { localRoutes } from "./http/local-routes.ts";
import { isLocal, loopback } from "./http/loopback.ts";
import { jsonReply, refusalReply, type ServiceCall, type ServiceReply, serialisedReply } from "./http/message.ts";
import { openApiDocument } from "./http/openapi.ts";
import { limiterOf, type RateLimiter } from "./http/rate-limit.ts";
import { type Reached, reachedBy } from "./http/reached.ts";
import { dated, jsonOf, parsedBody, replyOf, requestIdOf } from "./http/reply.ts";
import type { Route } from "./http/route.ts";
import { type Match, Router } from "./http/router.ts";
import { apiRoutes, unservedRoutes } from "./http/routes.ts";
import type { TestControls } from "./http/test-controls.ts";
import type { Ids } from "./ids.ts";
import { defaultOptions, type ServiceOptions } from "./options.ts";
import { Refusal, refusals, StoreFull } from "./refusal.ts";
import { networkOf } from "./sharing/shares.ts";
import type { Store } from "./store/store.ts";
import { timeOfCall } from "./time-of-call.ts";
import { mostWaits, Unanswered } from "./unanswered.ts";

/** The path of the API; routes are below it. */
export const apiRoot = "/api/v2";

export interface ServicePorts {
  clock: ServiceClock;
  random: Random;
  ids: Ids;
  store: Store;
  options?: Partial<ServiceOptions>;
  /** The backend of computes and branches, where it is not the model. */
  behind?: Pick<ServiceContext, "backend" | "catalog" | "queries">;
  /** Present with `--test-controls`. */
  testControls?: TestControls;
  /** Called with every internal error, whose answer is 500, and with every `StoreFull`: nothing was changed. */
  onError?: (error: unknown) => void;
}

/** Creates the service: its whole core, in this process, synchronous, on the given clock. */
export function createService(ports: ServicePorts): Service {
  return new Service(ports);
}

export class Service {
  readonly context: ServiceContext;
  /** The routes below `/api/v2`. */
  readonly routes: readonly Route[];
  readonly #api: Router<Route>;
  readonly #local: Router<Route>;
  #limiter: RateLimiter | undefined;
  readonly #faults: FaultPlan;
  #console: Console;
  /** Reports an error, also one that no caller waits for. */
  readonly report: (error: unknown) => void;
  readonly #changes = new Changes((error) => this.report(error));
  #openApi: string | undefined;
  /** Time of the next timer; `stale` after every change. */
  #due: number | undefined | "stale" = "stale";

  constructor({ clock, random, ids, store, options, behind, testControls, onError = () => {} }: ServicePorts) {
    const { rateLimits, ...rest } = { ...defaultOptions, ...options };
    const shared = { clock, random, ids, store, options: { ...rest, rateLimits } };
    this.context = {
      ...shared,
      ...(behind ?? { backend: new ModelBackend(shared), catalog: new ModelCatalog(shared) }),
    };
    this.routes = apiRoutes(rest);
    this.#api = new Router([...this.routes, ...unservedRoutes(rest)]);
    this.#local = new Router([...localRoutes, ...controlRoutes(this.#controls(testControls))]);
    this.#limiter = limiterOf(this.context.options);
    this.#faults = new FaultPlan(random);
    this.report = onError;
    this.#console = this.#newConsole();
  }

  /** Answers a call at once, without faults. `waits`: for so many answers it has waited; it has counted before. */
  call(call: ServiceCall, waits = 0): ServiceReply {
    try {
      return this.#dated(this.#dispatch(call, timeOfCall(this), waits === 0));
    } catch (error) {
      if (!(error instanceof Unanswered)) return this.#dated(this.#refuse(call, error));
      if (waits >= mostWaits) return this.#dated(this.#refuse(call, refusals.tooMuchToAsk()));
      const again = error.answered.then(() => this.call(call, waits + 1));
      return { status: 202, headers: {}, later: again.then((reply) => reply.later ?? reply) };
    }
  }

  /** Answers a call as the network would deliver it, with the current faults. */
  exchange(call: ServiceCall): Exchange {
    if (call.path === changesPath && call.method === "GET" && call.head !== true) return this.#console.follow(call);
    const fault = call.path.startsWith(`${apiRoot}/`) ? this.#faults.next(call.method, call.path) : undefined;
    const exchange = answerWith(
      fault,
      () => this.call(call),
      (ids) =>
        this.change(({ store }) =>
          ids.forEach((id) => store.operations.forceFailure(id, "the operation was made to fail")),
        ),
    );
    return "reply" in exchange ? { ...exchange, reply: this.#dated(exchange.reply) } : exchange;
  }

  /**
   * The longest body that a call may have, and in whose name it is kept, before any of it is read; `undefined` where
   * the answer does not depend on the body, as that of a call without a valid key.
   */
  bodyRoom(call: ServiceCall): { holder: string; longest: number } | undefined {
    const { method, path } = call;
    if (path.startsWith(`${apiRoot}/`)) {
      const caller = knownCaller(this.context.store, call.headers?.["authorization"]);
      const route = caller && this.#api.match(method, path.slice(apiRoot.length))?.route;
      return !route || route.body === nothing ? undefined : { holder: caller.limitedAs, longest: longestBody };
    }
    if (this.#console.serves(call)) return this.#console.bodyRoom(call);
    return path.startsWith("/_") && isLocal(call) ? { holder: loopback, longest: longestBody } : undefined;
  }

  /** In whose name a long answer to a call is made and held: an account, or the network of a stranger. */
  callerOf(call: ServiceCall): string {
    const caller = knownCaller(this.context.store, call.headers?.["authorization"]);
    return caller?.limitedAs ?? this.#console.accountOf(call) ?? networkOf(call.remote);
  }

  /** A call that its caller may make in a project, before any of it is carried out; `undefined` for any other. */
  reached(call: ServiceCall): Reached | undefined {
    const { method, path, headers } = call;
    if (this.#console.serves(call)) return this.#console.reached(call);
    const match = path.startsWith(`${apiRoot}/`) ? this.#api.match(method, path.slice(apiRoot.length)) : undefined;
    const caller = match && knownCaller(this.context.store, headers?.["authorization"]);
    if (!caller || this.#limiter?.refuses(caller, match.route, this.context.clock.now())) return undefined;
    const { access, path: template } = match.route;
    if (access.kind !== "project") return undefined;
    return reachedBy(this.context.store, caller, { path: template, params: match.params }, access.right);
  }

  #dated(reply: ServiceReply): ServiceReply {
    return dated(reply, this.context.clock.now());
  }

  /** Replaces the current faults, as `PUT /_faults` does. */
  setFaults(faults: readonly Fault[]): void {
    this.#faults.set(faults);
  }

  /** Carries out what is due, at most so many events. Every call does this first, and is made at the same time. */
  settle(now = this.context.clock.now(), most = Number.POSITIVE_INFINITY): void {
    const due = this.nextDue();
    if (due === undefined || due > now) return;
    changeInParts(this, (context) => settle(context, now, most).values());
  }

  /** Clears a part of what was deleted. */
  clear(): void {
    this.change(clear);
  }

  /** Time of the next timer, in milliseconds since the epoch; `undefined` if there is none. */
  nextDue(): number | undefined {
    if (this.#due === "stale") this.#due = nextDue(this.context);
    return this.#due;
  }

  /** Changes the store in one transaction. For seeds and the console; calls do it themselves. */
  change<Result>(act: (context: ServiceContext, at: number) => Result): Result {
    this.#due = "stale";
    const result = this.#stored(act);
    this.#changes.report();
    return result;
  }

  #stored<Result>(act: (context: ServiceContext, at: number) => Result): Result {
    try {
      return this.context.store.transaction(() => act(this.context, this.context.clock.now()));
    } catch (error) {
      if (error instanceof StoreFull) this.report(error);
      throw error;
    }
  }

  /** Calls `follower` after every change, until the returned function is called. */
  onChange(follower: () => void): () => void {
    return this.#changes.follow(follower);
  }

  close(): void {
    this.context.store.close();
  }

  #controls(testControls: TestControls | undefined): Controls {
    return {
      setFaults: this.context.options.faults ? (faults) => this.setFaults(faults) : undefined,
      reset: testControls && (() => this.#reset(testControls)),
      advance: testControls && ((ms) => this.#advance(testControls, ms)),
    };
  }

  #newConsole(): Console {
    const ports = { context: this.context, changes: this.#changes, onError: this.report };
    return new Console(ports, (act) => this.change(act));
  }

  #dispatch(call: ServiceCall, at: number, counts: boolean): ServiceReply {
    if (call.path === `${apiRoot}/openapi.json` && call.method === "GET") {
      this.#openApi ??= JSON.stringify(openApiDocument(this.routes, apiRoot));
      return serialisedReply(200, this.#openApi);
    }
    if (call.path.startsWith(`${apiRoot}/`)) return this.#answerApi(call, at, counts);
    if (call.path === "/healthz" && call.method === "GET") return jsonReply(200, { status: "ok" });
    if (this.#console.serves(call)) return this.#console.answer(call, at);
    return this.#answerLocal(call, at);
  }

  #answerApi(call: ServiceCall, at: number, counts: boolean): ServiceReply {
    const caller = authenticate(this.context, call.headers?.["authorization"], call.remote ?? loopback, at);
    const match = found(this.#api, call.method, call.path.slice(apiRoot.length));
    if (counts) this.#limiter?.admit(caller, match.route, this.context.clock.now());
    return this.#run(call, match, at, caller);
  }

  #answerLocal(call: ServiceCall, at: number): ServiceReply {
    const { method, path } = call;
    // Calls below `/_` need no key, so a page in a browser or a proxy on this machine must not send them for others.
    if (path.startsWith("/_") && !isLocal(call)) throw refusals.notFromHere();
    return this.#run(call, found(this.#local, method, path, `; the API is below ${apiRoot}`), at, undefined);
  }

  /** Restores the state of the start: store, faults, sessions and rate limits. */
  #reset(controls: TestControls): void {
    this.change((context, at) => {
      context.store.clear();
      controls.applySeed(context, at);
    });
    this.#faults.set([]);
    this.#limiter = limiterOf(this.context.options);
    this.#console.close();
    this.#console = this.#newConsole();
  }

  /** Advances the clock and carries out everything that becomes due. Answers the new time. */
  #advance(controls: TestControls, ms: number): string {
    controls.advance(ms);
    this.settle();
    this.#changes.report();
    return timestamp(this.context.clock.now());
  }

  #run(call: ServiceCall, { route, params }: Match<Route>, at: number, caller: Parameters<Route["run"]>[0]["caller"]) {
    const body = route.body === nothing ? undefined : parsedBody(call);
    const { query = {}, headers, gone, turn } = call;
    const incoming = { context: this.context, at, params, query, body, caller, agent: headers?.["user-agent"], gone };
    const isPlain = route.method === "GET" || route.ownTransactions === true;
    const { clock } = this.context;
    const begun = clock.now();
    const handled = isPlain ? route.run(incoming) : this.change(() => route.run(incoming));
    const json = jsonOf(handled, { clock, begun, turn, gone });
    const reply = (text: string | undefined) => replyOf(handled.status, text, requestIdOf(call));
    if (!(json instanceof Promise)) return reply(json);
    return { status: handled.status, headers: {}, later: json.then(reply, (error) => this.#refuse(call, error)) };
  }

  #refuse(call: ServiceCall, error: unknown): ServiceReply {
    const request_id = requestIdOf(call) ?? this.context.ids.uuid();
    if (error instanceof Refusal) return refusalReply(error, request_id, { "x-request-id": request_id });
    const reply = this.internalError(error, request_id);
    return this.#console.serves(call) ? this.#console.broken(request_id) : reply;
  }

  /** The answer to a call whose body is not read. */
  refused(call: ServiceCall, refusal: Refusal): ServiceReply {
    return this.#console.serves(call) ? this.#console.refused(refusal) : this.#refuse(call, refusal);
  }

  /** Reports an internal error; the answer reveals nothing about it. */
  internalError(error: unknown, request_id: string = this.context.ids.uuid()): ServiceReply {
    this.report(error);
    return refusalReply(refusals.internal(), request_id, { "x-request-id": request_id });
  }
}

function found(router: Router<Route>, method: string, path: string, hint = ""): Match<Route> {
  const match = router.match(method, path);
  if (!match) throw refusals.noSuchRoute(hint);
  return match;
}
