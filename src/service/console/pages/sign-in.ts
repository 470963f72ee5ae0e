import type { Account } from "../../store/accounts.ts";
import { type Html, html } from "../html.ts";
import { tokenField } from "../layout.ts";
import type { Page } from "../visit.ts";

/** The content of the sign-in page. */
export interface SignIn {
  token: string;
  /** The requested page, shown after the sign-in. */
  next: string;
  /** Accounts to choose from without a key; empty if the browser is not on this machine. */
  accounts: readonly Account[];
}

export function signInPage({ token, next, accounts }: SignIn): Page {
  const hidden = html`${tokenField(token)}<input type="hidden" name="next" value="${next}">`;
  return {
    title: "Sign in",
    main: html`<div class="narrow"><h1>Sign in</h1>
${accounts.length > 0 && accountForm(hidden, accounts)}
<form method="post" action="/app/sign-in" autocomplete="off"><h2>With an API key</h2>
${hidden}<label for="key">Personal API key</label>
<p><input id="key" name="key" type="password" required maxlength="200" autocomplete="off"> <button>Sign in</button></p>
</form></div>`,
  };
}

function accountForm(hidden: Html, accounts: readonly Account[]): Html {
  return html`<form method="post" action="/app/sign-in"><h2>As an account of this machine</h2>
${hidden}<ul class="accounts">${accounts.map(
    ({ id, name, email, plan }) => html`<li><button name="account" value="${id}">${name}
<small>${email !== name && `${email}, `}${plan} plan</small></button></li>`,
  )}</ul></form>`;
}
