import { createHmac, hash, timingSafeEqual } from "node:crypto";
import type { ServiceContext } from "../context.ts";
import type { ServiceCall } from "../http/message.ts";

/** A signed-in account. Kept in memory: a restart of the service signs everyone out. */
export interface Session {
  accountId: string;
  /** The personal key used to sign in, if any; revoking it ends the session. */
  keyId: number | undefined;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** A message that the next page shows once. */
  notice: string | undefined;
  /** A new key whose secret the next page of keys shows once. */
  created: { name: string; secret: string } | undefined;
}

/** The duration of a session, in milliseconds: twelve hours, regardless of activity. */
export const sessionLength = 12 * 60 * 60_000;

/** The most sessions of an account; a further one ends its oldest, and no other account's. */
const maxSessions = 20;

const cookieName = "compute_console";

/** The sessions, and the tokens that prove that a form came from one of our pages. */
export class Sessions {
  readonly #context: ServiceContext;
  /** By the hash of the cookie, oldest first. */
  readonly #open = new Map<string, Session>();
  #secret: string | undefined;

  constructor(context: ServiceContext) {
    this.#context = context;
  }

  /** An unguessable cookie value without a session; signing in issues another one. */
  newCookie(): string {
    return this.#context.ids.secret();
  }

  /** Signs an account in; returns the value of its cookie. */
  open(accountId: string, keyId: number | undefined, at: number): string {
    for (const [key, { expiresAt }] of this.#open) if (expiresAt <= at) this.#open.delete(key);
    const own = [...this.#open].filter(([, session]) => session.accountId === accountId);
    const [oldest] = own;
    if (own.length >= maxSessions && oldest) this.#open.delete(oldest[0]);
    const cookie = this.newCookie();
    const expiresAt = at + sessionLength;
    this.#open.set(hashOf(cookie), { accountId, keyId, expiresAt, notice: undefined, created: undefined });
    return cookie;
  }

  /** The session of a cookie, unless it has ended. */
  find(cookie: string | undefined, at: number): Session | undefined {
    if (cookie === undefined) return undefined;
    const session = this.#open.get(hashOf(cookie));
    if (!session) return undefined;
    const revoked = session.keyId !== undefined && !this.#context.store.keys.get(session.keyId);
    if (session.expiresAt > at && !revoked) return session;
    this.close(cookie);
    return undefined;
  }

  close(cookie: string): void {
    this.#open.delete(hashOf(cookie));
  }

  /** The token in every form of a page; valid only for this cookie and this process. */
  token(cookie: string): string {
    this.#secret ??= this.#context.ids.secret();
    return createHmac("sha256", this.#secret).update(cookie).digest("base64url");
  }

  /** True if a form's token belongs to the cookie of the request. */
  isToken(cookie: string, token: string): boolean {
    const [given, wanted] = [Buffer.from(token), Buffer.from(this.token(cookie))];
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}

/** The console's cookie in a call. */
export function cookieIn(call: Arrived): string | undefined {
  return new RegExp(`(?:^|;) *${nameFor(call)}=([A-Za-z0-9]{32,100})(?:;|$)`).exec(call.headers?.["cookie"] ?? "")?.[1];
}

/**
 * A Set-Cookie header. Scripts cannot use the cookie, and other sites only with a link to a page: no page changes
 * anything, and a person who follows the link stays signed in. It ends with the browser. Over TLS it never travels in
 * clear, and no other host of the domain, nor anybody who answers for one without TLS, can set it.
 */
export function setCookie(call: Arrived, value: string): string {
  // The form's origin shows TLS that a proxy ends.
  const isSecure = call.encrypted === true || call.headers?.["origin"]?.startsWith("https://");
  return `${nameFor(call)}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

/** A Set-Cookie header that deletes the cookie. */
export function takeCookie(call: Arrived): string {
  return `${setCookie(call, "")}; Max-Age=0`;
}

type Arrived = Pick<ServiceCall, "headers" | "encrypted">;

/**
 * The cookie's name; browsers take one that begins with `__Host-` only from its own host, over TLS. They have one jar
 * for all ports of a host, so each port has a name of its own: another service there would end the session.
 */
function nameFor({ headers, encrypted }: Arrived): string {
  const [, port] = /:([0-9]{1,5})$/.exec(headers?.["host"] ?? "") ?? [];
  const name = port === undefined ? cookieName : `${cookieName}_${port}`;
  return encrypted === true ? `__Host-${name}` : name;
}

function hashOf(cookie: string): string {
  return hash("sha256", cookie);
}
