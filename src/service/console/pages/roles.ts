import type { Branch } from "../../store/branches.ts";
import type { BranchDatabase, Role } from "../../store/catalog.ts";
import { type Html, html } from "../html.ts";
import { moment } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { listControls, listed, mostChoices, pageLinks, pageNumber, partOf } from "./paging.ts";
import { confirmedForm, lineForm, none, table } from "./parts.ts";
import { branchPath, rolesPath } from "./paths.ts";
import { placeOf, trail } from "./place.ts";

/** The roles and databases of a branch. */
export function rolesPage(visit: Visit): Page {
  const place = placeOf(visit);
  const { catalog } = visit.context;
  const part = partOf(visit);
  const [allRoles, allDatabases] = [catalog.roles(place.branch.id), catalog.databases(place.branch.id)];
  const sought = part.search.toLowerCase();
  const isSought = ({ name }: { name: string }) => name.toLowerCase().includes(sought);
  const wanted = allRoles.filter(
    (role) => isSought(role) && (part.state === "" || role.login === (part.state === "login")),
  );
  const roles = listed(inOrder(wanted, part.sort), part.page);
  const ofSought = allDatabases.filter((one) => isSought(one) || one.ownerName.toLowerCase().includes(sought));
  const databases = listed(inOrder(ofSought, part.sort), pageNumber(visit.query, databasesPage));
  return {
    title: `Roles and databases of ${place.branch.name}`,
    main: html`${trail(place.project, place.branch)}<h1>Roles and databases</h1>
${listControls(visit, { search: "Name or owner", states, sorts })}
<section id="databases" data-live><h2>Databases</h2>
${databases.total === 0 ? none({ search: sought, state: "" }, "yet: make one below, for a role that owns it") : databaseTable(visit, place.branch, databases.rows)}
${pageLinks(visit.query, databases, ["database", "databases"], { name: databasesPage, title: "databases" })}
${databaseForm(visit, place.branch, allRoles)}</section>
<section id="roles" data-live><h2>Roles</h2>
${roles.total === 0 ? none(part, "yet: make one below") : roleTable(visit, place.branch, roles.rows)}
${pageLinks(visit.query, roles, ["role", "roles"], { name: "page", title: "roles" })}
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

/** Rows that come oldest first, in the wanted order. */
function inOrder<Row extends { name: string }>(rows: readonly Row[], sort: string): readonly Row[] {
  if (sort === "newest") return rows.toReversed();
  if (sort === "name") return rows.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return rows;
}

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
  return html`<input type="hidden" name="name" value="${name}">`;
}

function roleForm({ token, form }: Visit, { projectId, id }: Branch): Html {
  const content = html`<label>Name <input name="name" required maxlength="63" value="${form["login"] !== undefined && form["name"]}"></label>
<label><input type="checkbox" name="login" value="true" checked> with a password</label> <button>Create role</button>`;
  return lineForm(token, rolesPath(projectId, id), "New role", content);
}

function databaseForm({ token }: Visit, { projectId, id }: Branch, roles: readonly Role[]): Html | undefined {
  if (roles.length === 0) return undefined;
  const content = html`<label>Name <input name="name" required maxlength="63"></label>
<label>Owner <select name="owner">${roles.slice(0, mostChoices).map(({ name }) => html`<option>${name}</option>`)}</select></label>
<button>Create database</button>`;
  return lineForm(token, `${branchPath(projectId, id)}/databases`, "New database", content);
}
