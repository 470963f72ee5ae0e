import type { Caller } from "../accounts/caller.ts";
import type { ServiceContext } from "../context.ts";
import { type Handled, param } from "../http/route.ts";
import type { Account } from "../store/accounts.ts";
import type { Html } from "./html.ts";
import type { Session } from "./sessions.ts";

/** One request of a signed-in person. */
export interface Visit {
  context: ServiceContext;
  /** The time of the request, in milliseconds since the epoch. */
  at: number;
  /**
   * The path of the page, to which its own links and forms lead. A refused form shows its page at the form's address,
   * from which an address without a path would send the form again.
   */
  path: string;
  account: Account;
  /** The rights of the account's personal keys. */
  caller: Caller;
  session: Session;
  /** For the forms on the page. */
  token: string;
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  form: Form;
  /** Aborts when the person has left, where that can be seen. */
  gone: AbortSignal | undefined;
  /** Sends a call of the API as this account, with the API's own rules, refusals and transaction. */
  act(method: string, path: string, body?: unknown): Handled;
}

/** The fields of a form; the last value if a name occurs twice. */
export type Form = Readonly<Record<string, string>>;

/** The content of a page, inside the common layout. */
export interface Page {
  title: string;
  main: Html;
}

/** The new path, if the page has moved. */
export interface Moved {
  to: string;
}

/** A page: reads, and changes nothing except the session's messages that it shows. */
export interface PageRoute {
  method: "GET";
  path: string;
  /** True if the page follows the service's changes while it is open. */
  live: boolean;
  show(visit: Visit): Page | Moved;
}

/** The page after a form was carried out, and what that page says once. */
export interface Done extends Moved {
  notice?: string;
}

/** The page of a form, and its path. */
export type PageOfForm = Pick<PageRoute, "path"> & { show(visit: Visit): Page };

/** A submitted form: does something, then redirects the browser to a page. */
export interface FormRoute {
  method: "POST";
  path: string;
  /** A refusal is shown on the form's page instead. */
  submit(visit: Visit): Done;
  /** The form's page, which shows a refusal. */
  again: PageOfForm;
}

/** A form whose answer is its own page, and has to be waited for. */
export interface AskRoute {
  method: "POST";
  path: string;
  /** Rejects with `Refusal`, which is then shown on the form's page. */
  ask(visit: Visit): Promise<Page>;
  again: PageOfForm;
}

export type ConsoleRoute = PageRoute | FormRoute | AskRoute;

/** The path of the API for the branch of a form's path. */
export function branchApiPath(visit: Visit): string {
  return pathOf("projects", param(visit, "project_id"), "branches", param(visit, "branch_id"));
}

/** The path of the API for a compute of the project of a form's path. */
export function computeApiPath(visit: Visit, id = param(visit, "endpoint_id")): string {
  return pathOf("projects", param(visit, "project_id"), "endpoints", id);
}

/** A path from parts with any characters. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}
