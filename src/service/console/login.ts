import { authenticate } from "../accounts/caller.ts";
import type { ServiceContext } from "../context.ts";
import { isFromElsewhere, isOnThisMachine, loopback } from "../http/loopback.ts";
import type { ServiceCall, ServiceReply } from "../http/message.ts";
import { Refusal } from "../refusal.ts";
import { formOf } from "./form.ts";
import { type Problem, pageReply, redirect } from "./layout.ts";
import { signInPage } from "./pages/sign-in.ts";
import { cookieIn, type Sessions, setCookie } from "./sessions.ts";
import type { Form } from "./visit.ts";

/** The most accounts that are offered for choice; others sign in with a key. */
const maxAccounts = 100;

/** Sign-in. */
export class Login {
  readonly #context: ServiceContext;
  readonly #sessions: Sessions;

  constructor(context: ServiceContext, sessions: Sessions) {
    this.#context = context;
    this.#sessions = sessions;
  }

  /** The sign-in page; also sets a cookie without a session if there is none, in a window of the person's own. */
  show(call: ServiceCall, status: number, problem?: Problem): ServiceReply {
    const known = cookieIn(call);
    const cookie = known ?? this.#sessions.newCookie();
    const token = this.#sessions.token(cookie);
    const page = signInPage({ token, next: nextOf(call), accounts: this.#choice(call) });
    const reply = pageReply(status, page, { account: undefined, token, path: call.path, problem });
    return known === undefined && isOwnWindow(call) ? withCookie(reply, setCookie(call, cookie)) : reply;
  }

  /** Signs in the account of the form, if it is allowed. */
  enter(call: ServiceCall, at: number): ServiceReply {
    const form = formOf(call);
    try {
      const { accountId, keyId } = this.#whoIs(form, call, at);
      const cookie = this.#sessions.open(accountId, keyId, at);
      return withCookie(redirect(safeNext(form["next"])), setCookie(call, cookie));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.show(call, error.status, { title: "Not signed in", message: error.message });
    }
  }

  /** The accounts that may be chosen without a key. */
  #choice(call: ServiceCall) {
    return isOnThisMachine(call) ? this.#context.store.accounts.oldest(maxAccounts) : [];
  }

  #whoIs(form: Form, call: ServiceCall, at: number): { accountId: string; keyId: number | undefined } {
    const { account, key } = form;
    if (account === undefined) return this.#ownerOf((key ?? "").trim(), call, at);
    if (!isOnThisMachine(call)) {
      throw new Refusal(403, "An account can be chosen on this machine alone: sign in with a personal API key.");
    }
    if (!this.#context.store.accounts.get(account)) throw new Refusal(404, `There is no account ${account}.`);
    return { accountId: account, keyId: undefined };
  }

  #ownerOf(secret: string, { remote = loopback }: ServiceCall, at: number) {
    const { scope } = authenticated(this.#context, secret, remote, at);
    const key = this.#context.store.keys.bySecret(secret);
    if (scope.kind !== "personal" || !key) {
      throw new Refusal(403, "This key speaks for no person: sign in with a personal API key.");
    }
    return { accountId: scope.accountId, keyId: key.id };
  }
}

function authenticated(context: ServiceContext, secret: string, remote: string, at: number) {
  try {
    return authenticate(context, `Bearer ${secret}`, remote, at);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(401, "This API key is not known, or it was revoked.", "", {});
  }
}

/**
 * False for what another site's page sends or embeds: browsers leave the cookie of a session out there, and another one
 * would replace it.
 */
function isOwnWindow(call: ServiceCall): boolean {
  return !isFromElsewhere(call) || call.headers?.["sec-fetch-dest"] === "document";
}

/** The page that was requested before the sign-in. */
function nextOf({ method, path, body = "", headers = {} }: ServiceCall): string {
  return method === "GET" ? safeNext(path) : safeNext(formOf({ method, path, body, headers })["next"]);
}

/** A path of the console; never another site, whatever the form says. */
function safeNext(next = "/"): string {
  return /^\/app\/(?!sign-)[A-Za-z0-9%/_.-]*$/.test(next) ? next : "/";
}

/** A reply that sets a cookie. */
export function withCookie(reply: ServiceReply, cookie: string): ServiceReply {
  return { ...reply, headers: { ...reply.headers, "set-cookie": cookie } };
}
