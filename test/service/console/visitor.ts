import type { ServiceCall, ServiceReply } from "../../../src/service/http/message.ts";
import type { Service } from "../../../src/service/service.ts";

type Fields = Readonly<Record<string, string>>;

/** A page as a visitor sees it. */
export interface Seen {
  status: number;
  headers: Readonly<Record<string, string>>;
  html: string;
  /** The page, where it has to be waited for. */
  later?: Promise<ServiceReply> | undefined;
}

/** Somebody at the console: keeps the cookie, follows redirects, and sends forms with the token of the page before. */
export class Visitor {
  readonly #service: Service;
  readonly #remote: string;
  readonly #headers: Fields;
  readonly #httpVersion: string;
  readonly #encrypted: boolean;
  cookie: string | undefined;
  token = "";

  constructor(
    service: Service,
    {
      remote = "127.0.0.1",
      headers = {},
      httpVersion = "1.1",
      encrypted = false,
    }: { remote?: string; headers?: Fields; httpVersion?: string; encrypted?: boolean } = {},
  ) {
    this.#httpVersion = httpVersion;
    this.#encrypted = encrypted;
    this.#service = service;
    this.#remote = remote;
    this.#headers = { host: "localhost", ...headers };
  }

  get(target: string, headers: Fields = {}): Seen {
    const { pathname, searchParams } = new URL(target, "http://localhost:8090");
    return this.#send({ method: "GET", path: pathname, query: Object.fromEntries(searchParams), headers });
  }

  /** Asks for the headers alone. */
  head(path: string): Seen {
    return this.#send({ method: "GET", head: true, path });
  }

  /** Sends a form as it is on the page: with its token, unless `fields` gives another. */
  post(path: string, fields: Fields = {}, headers: Fields = {}): Seen {
    const seen = this.postOnly(path, fields, headers);
    return seen.status === 303 ? this.get(seen.headers["location"] ?? "") : seen;
  }

  /** The same without following a redirect. */
  postOnly(target: string, fields: Fields = {}, headers: Fields = {}): Seen {
    const [path = "", search = ""] = target.split("?");
    const query = Object.fromEntries(new URLSearchParams(search));
    const body = new URLSearchParams({ token: this.token, ...fields }).toString();
    const type = { "content-type": "application/x-www-form-urlencoded" };
    return this.#send({ method: "POST", path, query, body, headers: { ...type, ...headers } });
  }

  /** Opens the console and chooses an account. */
  signIn(account: string): this {
    this.get("/");
    const seen = this.post("/app/sign-in", { account });
    if (seen.status !== 200) throw new Error(`not signed in as ${account}: ${seen.status}`);
    return this;
  }

  #send(call: ServiceCall): Seen {
    const cookie = this.cookie === undefined ? {} : { cookie: this.cookie };
    const headers = { ...this.#headers, ...cookie, ...call.headers };
    const from = { remote: this.#remote, httpVersion: this.#httpVersion, encrypted: this.#encrypted };
    const reply = this.#service.call({ ...call, headers, ...from });
    this.#keep(reply);
    return { status: reply.status, headers: reply.headers, html: reply.body ?? "", later: reply.later };
  }

  #keep({ headers, body = "" }: ServiceReply): void {
    const set = headers["set-cookie"];
    if (set !== undefined) this.cookie = set.includes("Max-Age=0") ? undefined : set.split(";")[0];
    this.token = /name="token" value="([^"]+)"/.exec(body)?.[1] ?? this.token;
  }
}

/** What a page says, without its markup. */
export function textOf({ html }: Seen): string {
  return html
    .replaceAll(/<head>.*?<\/head>/gs, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/\s+/g, " ")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .trim();
}

/** The refusal on the page; empty if there was none. */
export function problemIn(seen: Seen): string {
  const html = /<div class="problem".*?<\/div>/s.exec(seen.html)?.[0] ?? "";
  return textOf({ ...seen, html });
}

/** The cells of each row of the page's first table, as text. */
export function rowsIn(seen: Seen): string[][] {
  const body = /<tbody>(.*?)<\/tbody>/s.exec(seen.html)?.[1] ?? "";
  return [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<t[hd].*?<\/t[hd]>/gs)].map(([html]) => textOf({ ...seen, html })),
  );
}
