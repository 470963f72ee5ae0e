import { connectionUri } from "../../domain/connection-view.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { Project } from "../../store/projects.ts";
import { copyButton } from "../copy.ts";
import { nameOf, valueOf } from "../form.ts";
import { type Html, html } from "../html.ts";
import { quotable, snippets } from "../snippets.ts";
import type { Visit } from "../visit.ts";
import { databasesToChoose, rolesToChoose } from "./choices.ts";
import { option } from "./parts.ts";

/** The text in place of a password that was not asked for. */
const mask = "********";

/**
 * The connection string of a compute and code for the usual clients, of the chosen database and role; by default the
 * first database and its owner. The password is on the page only after it was asked for.
 */
export function connectPanel({ context, path, query }: Visit, project: Project, compute: StoredEndpoint): Html {
  const { branchId } = compute;
  const { catalog } = context;
  const named = catalog.database(branchId, nameOf(query["database"]));
  const databases = databasesToChoose(context, branchId, named);
  const database = named ?? databases[0];
  const owner = catalog.role(branchId, nameOf(query["role"]) || (database?.ownerName ?? ""));
  const roles = rolesToChoose(context, branchId, "", owner);
  const role = owner ?? roles[0];
  if (!database || !role) return html`<p>This branch has no role or no database to connect with.</p>`;
  const pooled = query["pooled"] === "true";
  const isShown = query["password"] === "shown";
  // A password that is not stored shows where it was made or reset alone, as in the API.
  const shows = role.login && project.details.store_passwords;
  const whole = quotable(connectionUri(context, project, compute, { database: database.name, role, pooled, shows }));
  const uri = isShown || !shows ? whole : whole.replace(`:${catalog.passwordOf(role)}@`, `:${mask}@`);
  const snippet = snippets.find(({ name }) => name === query["for"]) ?? snippets[0];
  const at = (changed: Readonly<Record<string, string>>) => {
    const names = { database: valueOf(database.name), role: valueOf(role.name) };
    const chosen = { ...names, pooled: String(pooled), for: snippet?.name ?? "" };
    const shown = isShown ? { password: "shown" } : {};
    return `${path}?${new URLSearchParams({ ...chosen, ...shown, ...changed }).toString()}`;
  };
  const source = uri === whole ? undefined : at({ password: "shown" });
  return html`<form class="search" method="get" action="${path}" aria-label="Connection">
<input type="hidden" name="for" value="${snippet?.name}">${isShown && html`<input type="hidden" name="password" value="shown">`}
<label>Database <select name="database">${databases.map(({ name }) => option(valueOf(name), name, name === database.name))}</select></label>
<label>Role <select name="role">${roles.map(({ name }) => option(valueOf(name), name, name === role.name))}</select></label>
<label><input type="checkbox" name="pooled" value="true"${pooled && html` checked`}> Pooled</label>
<button>Show</button></form>
<p class="secret value"><label>Connection string <input id="uri" readonly value="${uri}"></label>
${copyButton("uri", "connection string", source)}</p>
${shows && html`<p><a href="${at({ password: isShown ? "" : "shown" })}#connect">${isShown ? "Hide" : "Show"} the password</a></p>`}
<nav aria-label="Clients" class="tabs">${snippets.map(
    ({ name, title }) =>
      html`<a href="${at({ for: name })}#connect"${name === snippet?.name && html` aria-current="true"`}>${title}</a> `,
  )}</nav>
<div class="snippet"><pre id="snippet">${snippet?.code(uri)}</pre>${copyButton("snippet", `code for ${snippet?.title}`, source)}</div>`;
}
