import type { Caller } from "../accounts/caller.ts";
import type { ServiceContext } from "../context.ts";
import type { Handled } from "../http/route.ts";
import type { Account } from "../store/accounts.ts";
import type { Html } from "./html.ts";
import type { Session } from "./sessions.ts";

/** One request by somebody who is signed in. */
export interface Visit {
  context: ServiceContext;
  /** The time of the request, in milliseconds since the epoch. */
  at: number;
  account: Account;
  /** The rights of a visit are those of the account's personal keys. */
  caller: Caller;
  session: Session;
  /** For the forms on the page. */
  token: string;
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  form: Form;
  /** Carries out a call of the API as this account: the API's own rules, refusals and transaction. */
  act(method: string, path: string, body?: unknown): Handled;
}

/** The fields of a form; the last value where a name stands twice. */
export type Form = Readonly<Record<string, string>>;

/** A page inside the frame that all share. */
export interface Page {
  title: string;
  main: Html;
}

/** Where a page is that moved. */
export interface Moved {
  to: string;
}

/** A request of a page: reads, and changes nothing but what the session still had to tell. */
export interface PageRoute {
  method: "GET";
  path: string;
  /** Whether the page follows the service's changes while it is open. */
  live: boolean;
  show(visit: Visit): Page | Moved;
}

/** A form that was sent: does something, then sends the browser to a page. */
export interface FormRoute {
  method: "POST";
  path: string;
  /** Answers the path of the page that follows. A refusal is told there instead. */
  submit(visit: Visit): string;
  /** The page with the form, which shows a refusal. */
  again(visit: Visit): Page;
}

export type ConsoleRoute = PageRoute | FormRoute;

/** A path from parts that may hold anything. */
export function pathOf(...parts: readonly string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}
