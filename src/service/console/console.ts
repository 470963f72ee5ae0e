import type { Caller } from "../accounts/caller.ts";
import type { Changes } from "../changes.ts";
import type { ServiceContext } from "../context.ts";
import { longestOfStranger } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";
import { isFromElsewhere, loopback } from "../http/loopback.ts";
import type { ServiceCall, ServiceReply } from "../http/message.ts";
import { type Reached, reachedBy } from "../http/reached.ts";
import { type Handled, param } from "../http/route.ts";
import { Router } from "../http/router.ts";
import { apiRoutes } from "../http/routes.ts";
import { Refusal, refusals } from "../refusal.ts";
import { networkOf } from "../sharing/shares.ts";
import type { Account } from "../store/accounts.ts";
import { ChangeStreams, refreshHeader } from "./change-stream.ts";
import { formOf } from "./form.ts";
import { html } from "./html.ts";
import { type Layout, type Problem, pageReply, redirect } from "./layout.ts";
import { Login, withCookie } from "./login.ts";
import { problemOf } from "./problem.ts";
import { consoleRoutes } from "./routes.ts";
import { script } from "./script.ts";
import { cookieIn, type Session, Sessions, takeCookie } from "./sessions.ts";
import { stylesheet } from "./stylesheet.ts";
import type { AskRoute, ConsoleRoute, FormRoute, Page, Visit } from "./visit.ts";

/**
 * The longest form of somebody who has signed in, in bytes: a few fields, one of which is a statement of 20,000
 * characters, each of which takes up to nine bytes.
 */
const longestForm = 262_144;

/** Runs a change in one transaction. */
type Change = <Result>(act: () => Result) => Result;

interface ConsolePorts {
  context: ServiceContext;
  changes: Changes;
  /** Called with every internal error of an answer that has to be waited for. */
  onError: (error: unknown) => void;
}

/** The pages at `/` and below `/app/`. Every change is a call of the API in the name of the signed-in account. */
export class Console {
  readonly #context: ServiceContext;
  readonly #change: Change;
  readonly #onError: (error: unknown) => void;
  readonly #sessions: Sessions;
  readonly #login: Login;
  readonly #changes: Changes;
  readonly #streams: ChangeStreams;
  readonly #pages = new Router<ConsoleRoute>(consoleRoutes());
  /** The whole API, even with `strictSpec`: the specification mentions a console too. */
  readonly #api = new Router(apiRoutes({ strictSpec: false }));

  constructor({ context, changes, onError }: ConsolePorts, change: Change) {
    this.#context = context;
    this.#onError = onError;
    this.#change = change;
    this.#changes = changes;
    this.#streams = new ChangeStreams(changes);
    this.#sessions = new Sessions(context);
    this.#login = new Login(context, this.#sessions);
  }

  /** True for the pages and forms of the console: a call by another method is none of either. */
  serves({ method, path }: Pick<ServiceCall, "method" | "path">): boolean {
    return (path === "/" || path.startsWith("/app/")) && (method === "GET" || method === "POST");
  }

  /** The longest form, and in whose name it is kept; see `Service.bodyRoom`. */
  bodyRoom(call: ServiceCall): { holder: string; longest: number } | undefined {
    if (call.method !== "POST" || isFromElsewhere(call)) return undefined;
    const holder = this.accountOf(call);
    if (holder !== undefined) return { holder, longest: longestForm };
    return { holder: networkOf(call.remote ?? loopback), longest: longestOfStranger };
  }

  answer(call: ServiceCall, at: number): ServiceReply {
    const asset = assets.find(({ path }) => path === call.path);
    if (asset && call.method === "GET") return asset.reply;
    const cookie = cookieIn(call);
    const session = this.#sessions.find(cookie, at);
    const account = session && this.#context.store.accounts.get(session.accountId);
    const problem = call.method === "POST" ? this.#distrust(call, cookie) : undefined;
    if (!problem && call.method === "POST" && call.path === "/app/sign-in") return this.#login.enter(call, at);
    if (cookie === undefined || !session || !account) return this.#turnAway(call, problem);
    const layout: Layout = { account, token: this.#sessions.token(cookie), path: call.path };
    if (problem) return pageReply(403, nothingHere, { ...layout, problem });
    if (call.method === "POST" && call.path === "/app/sign-out") {
      this.#sessions.close(cookie);
      // Other pages of the session end with it.
      this.#changes.report();
      return withCookie(redirect("/"), takeCookie(call));
    }
    return this.#answerTo(call, at, { session, account, layout });
  }

  /** Answers a page that follows the service's changes. */
  follow(call: ServiceCall): Exchange {
    const cookie = cookieIn(call);
    const session = () => this.#sessions.find(cookie, this.#context.clock.now());
    const accountId = session()?.accountId;
    const refused = (status: number): Exchange => ({ kind: "answer", reply: { status, headers: {} }, delayMs: 0 });
    if (cookie === undefined || accountId === undefined) return refused(401);
    // Browsers open few connections to one service: a page of another port would keep them from ours.
    if (isFromElsewhere(call)) return refused(403);
    const open = this.#streams.stream({ accountId, cookie }, () => session() !== undefined);
    return open ? { kind: "stream", open, delayMs: 0 } : refused(503);
  }

  /** The account of a call's session. */
  accountOf(call: ServiceCall): string | undefined {
    return this.#sessions.find(cookieIn(call), this.#context.clock.now())?.accountId;
  }

  /** A page or form about a project that the person may read; see `Service.reached`. */
  reached(call: ServiceCall): Reached | undefined {
    const accountId = this.accountOf(call);
    const match = this.#pages.match(call.method, call.path);
    if (accountId === undefined || !match) return undefined;
    const { route, params } = match;
    return reachedBy(this.#context.store, callerOf(accountId), { path: route.path, params }, "viewer");
  }

  /** Ends all streams. */
  close(): void {
    this.#streams.close();
  }

  /** The page for an internal error, whether anyone is signed in or not. */
  broken(requestId: string): ServiceReply {
    const problem = {
      title: "Something went wrong here",
      message: `The service could not do this, through no fault of yours. Its log says why (request ${requestId}).`,
      advice: "Nothing was changed. Try again.",
    };
    return pageReply(500, nothingHere, { ...unknownVisitor, problem });
  }

  /** The page for a call whose form is not read. */
  refused(refusal: Refusal): ServiceReply {
    return refusalPage(refusal, unknownVisitor);
  }

  /** Reason to refuse a form before its session is checked. */
  #distrust(call: ServiceCall, cookie: string | undefined): Problem | undefined {
    if (isFromElsewhere(call)) {
      return { title: "Refused", message: "This form was sent from another site.", advice: "Nothing was changed." };
    }
    if (cookie !== undefined && this.#sessions.isToken(cookie, formOf(call)["token"] ?? "")) return undefined;
    return {
      title: "Refused",
      message: "This form is not from a page of your session: that may have ended, or the browser keeps no cookies.",
      advice: "Nothing was changed. Open the page again, and repeat it there.",
    };
  }

  #turnAway(call: ServiceCall, problem: Problem | undefined): ServiceReply {
    if (problem && isFromElsewhere(call)) {
      return pageReply(403, nothingHere, { ...unknownVisitor, problem });
    }
    if (problem) return this.#login.show(call, 403, problem);
    if (call.method !== "POST") return this.#login.show(call, call.path === "/" ? 200 : 401);
    return this.#login.show(call, 401, { title: "Your session has ended", message: "Nothing was changed." });
  }

  #answerTo(call: ServiceCall, at: number, { session, account, layout }: SignedIn): ServiceReply {
    const match = this.#pages.match(call.method, call.path);
    const caller = callerOf(account.id);
    const visit: Visit = {
      context: this.#context,
      at,
      path: call.path,
      account,
      caller,
      session: isSeen(call) ? session : { ...session },
      token: layout.token,
      params: match?.params ?? {},
      query: call.query ?? {},
      form: formOf(call),
      gone: call.gone,
      act: (method, path, body) => this.#act({ caller, at }, method, path, body),
    };
    try {
      if (!match) throw refusals.notFound("page");
      const { route } = match;
      if ("ask" in route) return this.#asked(route, visit, layout);
      if (route.method === "POST") return submitted(route, visit, layout);
      const page = route.show(visit);
      if ("to" in page) return redirect(page.to);
      const { notice } = visit.session;
      visit.session.notice = undefined;
      return pageReply(200, page, { ...layout, notice, ...(route.live && { changes: this.#changes.count }) });
    } catch (error) {
      return refusalPage(error, layout);
    }
  }

  /** Answers a form whose page has to be waited for. */
  #asked(route: AskRoute, visit: Visit, layout: Layout): ServiceReply {
    const later = route
      .ask(visit)
      .then((page) => pageReply(200, page, layout))
      .catch((error: unknown) => refusalPage(error, layout, () => shownAgain(route, visit)))
      // The page of the form cannot show a refusal where its branch is gone.
      .catch((error: unknown) => refusalPage(error, layout))
      .catch((error: unknown) => {
        this.#onError(error);
        return this.broken(this.#context.ids.uuid());
      });
    return { status: 202, headers: {}, later };
  }

  #act({ caller, at }: { caller: Caller; at: number }, method: string, path: string, body: unknown): Handled {
    const match = this.#api.match(method, path);
    if (!match) throw refusals.noSuchRoute();
    const { route, params } = match;
    return this.#change(() => route.run({ context: this.#context, at, params, query: {}, body, caller }));
  }
}

/** A person has the rights of the account's personal keys. */
function callerOf(accountId: string): Caller {
  return { scope: { kind: "personal", accountId }, limitedAs: accountId };
}

interface SignedIn {
  session: Session;
  account: Account;
  layout: Layout;
}

/** Carries out a form and redirects the browser; a refusal is shown on the page of the form. */
function submitted(route: FormRoute, visit: Visit, layout: Layout): ServiceReply {
  try {
    const { to, notice } = route.submit(visit);
    if (notice !== undefined) visit.session.notice = notice;
    return redirect(to);
  } catch (error) {
    return refusalPage(error, layout, () => shownAgain(route, visit));
  }
}

/** The page of a form, as it is at its own path. */
function shownAgain({ again }: FormRoute | AskRoute, visit: Visit): Page {
  const path = again.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(param(visit, name)));
  return again.show({ ...visit, path });
}

/** A page with a refusal, that of the form which was sent where it can be shown; throws again what is none. */
function refusalPage(error: unknown, layout: Layout, page = () => nothingHere): ServiceReply {
  if (!(error instanceof Refusal)) throw error;
  return pageReply(error.status, page(), { ...layout, problem: problemOf(error) });
}

/**
 * True if the person sees the page. A secret that is shown once is not spent by a HEAD request, the page's own script,
 * a browser that looks ahead, or another site's page.
 */
function isSeen(call: ServiceCall): boolean {
  const { [refreshHeader]: refresh, "sec-purpose": purpose } = call.headers ?? {};
  return call.head !== true && refresh === undefined && purpose === undefined && !isFromElsewhere(call);
}

const assets = [stylesheet, script];

const unknownVisitor = { account: undefined, token: "", path: "" };

const nothingHere: Page = {
  title: "Nothing here",
  main: html`<h1>Nothing here</h1><p><a href="/app/projects">All projects</a></p>`,
};
