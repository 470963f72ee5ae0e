import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { ServiceContext } from "../context.ts";

/** Somebody who is signed in. Lives in memory: a restart of the service signs everyone out. */
export interface Session {
  accountId: string;
  /** The personal key that they signed in with, where they did: revoking it ends the session. */
  keyId: number | undefined;
  /** Milliseconds since the epoch. */
  expiresAt: number;
  /** What the next page tells, once. */
  notice: string | undefined;
  /** A new key whose secret the next page of keys shows, once. */
  created: { name: string; secret: string } | undefined;
}

/** How long a session lasts, in milliseconds: twelve hours, whatever happens in it. */
export const sessionLength = 12 * 60 * 60_000;

/** More sessions at a time than this end the oldest. */
const maxSessions = 1000;

const cookieName = "compute_console";

/** Who is signed in, and the tokens that prove that a form came from a page of ours. */
export class Sessions {
  readonly #context: ServiceContext;
  /** By the hash of the cookie, oldest first. */
  readonly #open = new Map<string, Session>();
  #secret: string | undefined;

  constructor(context: ServiceContext) {
    this.#context = context;
  }

  /** A cookie value that cannot be guessed: it stands for nobody until somebody signs in, who is given another. */
  newCookie(): string {
    return this.#context.ids.secret();
  }

  /** Signs an account in; answers the value of its cookie. */
  open(accountId: string, keyId: number | undefined, at: number): string {
    for (const [hash, { expiresAt }] of this.#open) if (expiresAt <= at) this.#open.delete(hash);
    const [oldest] = this.#open.keys();
    if (this.#open.size >= maxSessions && oldest !== undefined) this.#open.delete(oldest);
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

  /** The token that every form on a page carries: of this cookie, and of no other process. */
  token(cookie: string): string {
    this.#secret ??= this.#context.ids.secret();
    return createHmac("sha256", this.#secret).update(cookie).digest("base64url");
  }

  /** Whether a form's token belongs to the cookie that came with it. */
  isToken(cookie: string, token: string): boolean {
    const [given, wanted] = [Buffer.from(token), Buffer.from(this.token(cookie))];
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}

/** The console's cookie in a Cookie header. */
export function cookieIn(header: string | undefined): string | undefined {
  return new RegExp(`(?:^|;) *${cookieName}=([A-Za-z0-9]{32,100})(?:;|$)`).exec(header ?? "")?.[1];
}

/**
 * A Set-Cookie header. Neither scripts nor other sites can use the cookie; without `Secure`, as the service speaks
 * plain HTTP. It ends with the browser.
 */
export function setCookie(value: string): string {
  return `${cookieName}=${value}; Path=/; HttpOnly; SameSite=Strict`;
}

/** A Set-Cookie header that takes the cookie away. */
export function takeCookie(): string {
  return `${setCookie("")}; Max-Age=0`;
}

function hashOf(cookie: string): string {
  return createHash("sha256").update(cookie).digest("hex");
}
