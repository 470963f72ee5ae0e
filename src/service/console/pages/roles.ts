import type { Branch } from "../../store/branches.ts";
import type { BranchDatabase, Role } from "../../store/catalog.ts";
import { valueOf } from "../form.ts";
import { type Html, html } from "../html.ts";
import { moment } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { rolesToChoose } from "./choices.ts";
import { listControls, pageLinks, pageNumber, partOf, perPage } from "./paging.ts";
import { confirmedForm, lineForm, none, option, table } from "./parts.ts";
import { branchPath, rolesPath } from "./paths.ts";
import { placeOf, trail } from "./place.ts";

/** The roles and databases of a branch. */
export function rolesPage(visit: Visit): Page {
  const place = placeOf(visit);
  const { catalogs } = visit.context.store;
  const part = partOf(visit);
  const roles = catalogs.findRoles(place.branch.id, part, { page: part.page, size: perPage });
  const pageOfDatabases = { page: pageNumber(visit.query, databasesPage), size: perPage };
  const databases = catalogs.findDatabases(place.branch.id, part, pageOfDatabases);
  return {
    title: `Roles and databases of ${place.branch.name}`,
    main: html`${trail(place.project, place.branch)}<h1>Roles and databases</h1>
${listControls(visit, { search: "Name or owner", states, sorts })}
<section id="databases" data-live><h2>Databases</h2>
${databases.total === 0 ? none({ search: part.search, state: "" }, "yet: make one below, for a role that owns it") : databaseTable(visit, place.branch, databases.rows)}
${pageLinks(visit, databases, ["database", "databases"], { name: databasesPage, title: "databases" })}
${databaseForm(visit, place.branch)}</section>
<section id="roles" data-live><h2>Roles</h2>
${roles.total === 0 ? none(part, "yet: make one below") : roleTable(visit, place.branch, roles.rows)}
${pageLinks(visit, roles, ["role", "roles"], { name: "page", title: "roles" })}
${roleForm(visit, place.branch)}</section>
<p class="hint">A change is applied in the branch's primary compute: its connections are cut, and an idle one is woken.
The page of a compute shows how to connect as a role.</p>`,
  };
}

const databasesPage = "page-databases";

/** Of roles; databases have none. */
const states = [
  ["", "any role"],
  ["login", "roles that log in"],
  ["none", "roles that cannot"],
] as const;

const sorts = [
  ["", "oldest first"],
  ["newest", "newest first"],
  ["name", "name"],
] as const;

function databaseTable(visit: Visit, branch: Branch, databases: readonly BranchDatabase[]): Html {
  const row = ({ name, ownerName, createdAt }: BranchDatabase) =>
    html`<tr><th scope="row"><code>${name}</code></th><td data-label="Owner">${ownerName}</td>
<td>${moment(createdAt, visit.at)}</td><td>${deletion(visit, branch, "databases", name, "Its data goes with it, for good.")}</td></tr>
`;
  return table("Databases", ["Database", "Owner", "Made", "Delete"], databases.map(row));
}

function roleTable(visit: Visit, branch: Branch, roles: readonly Role[]): Html {
  const row = ({ name, login, createdAt }: Role) => html`<tr><th scope="row"><code>${name}</code></th>
<td>${login ? resetForm(visit, branch, name) : "cannot log in"}</td><td>${moment(createdAt, visit.at)}</td>
<td>${deletion(visit, branch, "roles", name, "Nobody connects as it from then on.")}</td></tr>
`;
  return table("Roles", ["Role", "Password", "Made", "Delete"], roles.map(row));
}

function resetForm({ token }: Visit, { projectId, id }: Branch, name: string): Html {
  const content = html`${nameField(name)}<p>The old password fails from then on.</p>`;
  return confirmedForm(
    token,
    `${rolesPath(projectId, id)}/reset`,
    ["Reset", `the password of ${name}`, "now"],
    content,
  );
}

function deletion({ token }: Visit, branch: Branch, what: "roles" | "databases", name: string, warning: string): Html {
  const path = `${branchPath(branch.projectId, branch.id)}/${what}/delete`;
  return confirmedForm(token, path, ["Delete", name, "for good"], html`${nameField(name)}<p>${warning}</p>`);
}

function nameField(name: string): Html {
  return html`<input type="hidden" name="name" value="${valueOf(name)}">`;
}

function roleForm({ token, form }: Visit, { projectId, id }: Branch): Html {
  const content = html`<label>Name <input name="name" required maxlength="63" value="${form["login"] !== undefined && form["name"]}"></label>
<label><input type="checkbox" name="login" value="true" checked> with a password</label> <button>Create role</button>`;
  return lineForm(token, rolesPath(projectId, id), "New role", content);
}

function databaseForm({ context, token }: Visit, { projectId, id }: Branch): Html | undefined {
  const roles = rolesToChoose(context, id);
  if (roles.length === 0) return undefined;
  const content = html`<label>Name <input name="name" required maxlength="63"></label>
<label>Owner <select name="owner">${roles.map(({ name }) => option(valueOf(name), name))}</select></label>
<button>Create database</button>`;
  return lineForm(token, `${branchPath(projectId, id)}/databases`, "New database", content);
}
