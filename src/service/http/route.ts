import type { z } from "zod";
import { type Caller, personalAccount, type Right, reachOrganization, reachProject } from "../accounts/caller.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Organization } from "../store/accounts.ts";
import type { Project } from "../store/projects.ts";
import { check, checkKnown, nothing } from "./check.ts";
import type { PublicOperation } from "./public-operation.ts";

/** The callers of a route; the table of keys and routes is generated from it. */
export type Access =
  /** Anyone, without a key. */
  | { kind: "open" }
  /** Every valid key. */
  | { kind: "any-key" }
  /** Personal keys only. */
  | { kind: "personal-key" }
  /** Callers with at least this right in the project of the path. */
  | { kind: "project"; right: Right }
  /** Callers with at least this right in the organization of the path; `personalKey`: with a personal key. */
  | { kind: "organization"; right: Right; personalKey: boolean };

/** Input of every handler. */
export interface Request<Body, Query> {
  context: ServiceContext;
  /** The time of the call, in milliseconds since the epoch. */
  at: number;
  params: Readonly<Record<string, string>>;
  body: Body;
  query: Query;
  /** The client's program, as it names itself. */
  agent: string | undefined;
  /** Aborts when the client has left. */
  gone: AbortSignal | undefined;
}

export interface Handled {
  status: number;
  /**
   * Serialised as JSON, long lists as `Rows`; a string is its JSON text already. A promise of a body changes nothing in
   * the store, and rejects with `Refusal`. Absent for 204.
   */
  body?: unknown;
  /** Called with the JSON text of the body once it is made. */
  keep?: (json: string) => void;
}

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

export interface Shape<Body, Query> {
  method: Method;
  /** Below `/api/v2`, with parameters in braces. */
  path: string;
  /** The public API's name of the call. */
  operationId: string;
  summary: string;
  /** `nothing` if it takes none. */
  body: z.ZodType<Body>;
  query: z.ZodType<Query>;
  /** Answers by status; `undefined` for a status without a body. */
  answers: Readonly<Record<number, z.ZodType | undefined>>;
  /** True if the specification shows the call. */
  specified?: boolean;
}

/** The input of a call that takes neither a body nor a query. */
export const noInput = { body: nothing, query: nothing } as const;

/** A route: what it is, who may call it, and what it does. */
export interface Route extends Omit<Shape<unknown, unknown>, "body" | "query"> {
  body: z.ZodType;
  query: z.ZodType;
  access: Access;
  /** True if the call makes its changes in transactions of its own. */
  ownTransactions?: boolean;
  run(incoming: Incoming): Handled;
}

/** A request whose body and query are not checked yet. */
export interface Incoming {
  context: ServiceContext;
  at: number;
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  /** Parsed JSON; `undefined` without a body. */
  body: unknown;
  /** Absent only on open routes. */
  caller: Caller | undefined;
  /** The client's program, as it names itself in `User-Agent`. */
  agent?: string | undefined;
  gone?: AbortSignal | undefined;
}

function define<Body, Query, Reached>(
  shape: Shape<Body, Query>,
  access: Access,
  reach: (incoming: Incoming) => Reached,
  handle: (request: Request<Body, Query> & Reached) => Handled,
): Route {
  const { body, query } = shape;
  return {
    ...shape,
    access,
    run(incoming) {
      const reached = reach(incoming);
      const { context, at, params, agent, gone } = incoming;
      const checked = {
        body: check(body, incoming.body, "body"),
        query: check(query, given(incoming.query), "query"),
      };
      checkKnown(shape.operationId, incoming.body);
      return handle({ context, at, params, agent, gone, ...checked, ...reached });
    },
  };
}

export function openRoute<Body, Query>(
  shape: Shape<Body, Query>,
  handle: (request: Request<Body, Query>) => Handled,
): Route {
  return define(shape, { kind: "open" }, () => ({}), handle);
}

export function anyKeyRoute<Body, Query>(
  shape: Shape<Body, Query>,
  handle: (request: Request<Body, Query> & { caller: Caller }) => Handled,
): Route {
  return define(shape, { kind: "any-key" }, (incoming) => ({ caller: callerOf(incoming) }), handle);
}

export function personalRoute<Body, Query>(
  shape: Shape<Body, Query>,
  handle: (request: Request<Body, Query> & { caller: Caller; accountId: string }) => Handled,
): Route {
  const reach = (incoming: Incoming) => {
    const caller = callerOf(incoming);
    return { caller, accountId: personalAccount(caller) };
  };
  return define(shape, { kind: "personal-key" }, reach, handle);
}

export function projectRoute<Body, Query>(
  right: Right,
  shape: Shape<Body, Query>,
  handle: (request: Request<Body, Query> & { caller: Caller; project: Project }) => Handled,
): Route {
  const needed = rightFor(right, shape.method);
  const reach = (incoming: Incoming) => {
    const caller = callerOf(incoming);
    return { caller, project: reachProject(incoming.context.store, caller, param(incoming, "project_id"), needed) };
  };
  return define(shape, { kind: "project", right: needed }, reach, handle);
}

export function organizationRoute<Body, Query>(
  { right, personalKey }: { right: Right; personalKey: boolean },
  shape: Shape<Body, Query>,
  handle: (request: Request<Body, Query> & { caller: Caller; organization: Organization; right: Right }) => Handled,
): Route {
  const needed = rightFor(right, shape.method);
  const reach = (incoming: Incoming) => {
    const caller = callerOf(incoming);
    if (personalKey) personalAccount(caller);
    const reached = reachOrganization(incoming.context.store, caller, param(incoming, "org_id"), needed);
    return { caller, ...reached };
  };
  return define(shape, { kind: "organization", right: needed, personalKey }, reach, handle);
}

/** A viewer may make every call that changes nothing and needs no administrator. */
function rightFor(right: Right, method: Method): Right {
  return right === "member" && method === "GET" ? "viewer" : right;
}

/** A route of the public API that is not served; its answer says so and names it. */
export function unservedRoute({ method, path, operationId }: PublicOperation): Route {
  const shape = { method, path, operationId, summary: "Not served.", ...noInput, answers: {} };
  return {
    ...shape,
    access: { kind: "any-key" },
    run() {
      throw refusals.notServed(operationId, `${method} ${path}`);
    },
  };
}

/** Clients send parameters without a value as empty ones. */
function given(query: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
}

/** A parameter of the path. */
export function param({ params }: { params: Readonly<Record<string, string>> }, name: string): string {
  return params[name] ?? "";
}

function callerOf({ caller }: Incoming): Caller {
  if (!caller) throw refusals.unauthorized();
  return caller;
}
