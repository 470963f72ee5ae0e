import type { ServiceReply } from "../http/message.ts";
import type { Account } from "../store/accounts.ts";
import { type Html, html } from "./html.ts";
import { script } from "./script.ts";
import { stylesheet } from "./stylesheet.ts";
import type { Page } from "./visit.ts";

/** The parts of a page around its content. */
export interface Layout {
  account: Account | undefined;
  token: string;
  /** The page's path, to mark its place in the menu. */
  path: string;
  /** The success message of the previous action. */
  notice?: string | undefined;
  /** The refusal of the previous action. */
  problem?: Problem | undefined;
  /** The number of changes when the page was made, if the page follows later ones. */
  changes?: number | undefined;
}

export interface Problem {
  title: string;
  /** A sentence about what happened, and what is allowed. */
  message: string;
  advice?: string | undefined;
}

/** Only our own stylesheet, script and forms, and no embedding in frames. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": contentSecurityPolicy,
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

/** The reply with a complete page. */
export function pageReply(status: number, page: Page, layout: Layout): ServiceReply {
  return { status, headers: pageHeaders, body: documentOf(page, layout).toString() };
}

/** Redirects the browser to another page, which it fetches with GET. */
export function redirect(to: string): ServiceReply {
  return { status: 303, headers: { location: to, "cache-control": "no-store" } };
}

function documentOf({ title, main }: Page, layout: Layout): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${layout.problem && "Refused: "}${title} · Compute console</title>
<link rel="stylesheet" href="${stylesheet.path}">
<script src="${script.path}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<a class="brand" href="/">Compute console</a>
${layout.account && menu(layout.account, layout)}
</header>
<main id="main" tabindex="-1"${layout.changes !== undefined && html` data-changes="${layout.changes}"`}>
${layout.problem && alert(layout.problem)}
${layout.notice !== undefined && html`<p class="notice" role="status">${layout.notice}</p>`}
<div id="page" data-live>${main}</div>
</main>
</body>
</html>
`;
}

function menu(account: Account, { token, path }: Layout): Html {
  const link = (to: string, text: string, here: boolean) =>
    html`<a href="${to}"${here && html` aria-current="page"`}>${text}</a>`;
  return html`<nav aria-label="Console">${link("/", "Home", path === "/")}
${link("/app/projects", "Projects", path.startsWith("/app/projects"))}
${link("/app/computes", "Computes", path.startsWith("/app/computes"))}
${link("/app/keys", "API keys", path.startsWith("/app/keys"))}</nav>
<form method="post" action="/app/sign-out"><span class="who">${account.name}</span>
${tokenField(token)}<button class="quiet">Sign out</button></form>`;
}

function alert({ title, message, advice }: Problem): Html {
  return html`<div class="problem" role="alert" tabindex="-1" autofocus>
<strong>${title}</strong><p>${message}</p>${advice !== undefined && html`<p>${advice}</p>`}</div>`;
}

/** The field that every form must contain. */
export function tokenField(token: string): Html {
  return html`<input type="hidden" name="token" value="${token}">`;
}
