import { visibleOwners } from "../../accounts/caller.ts";
import type { Owner, Project } from "../../store/projects.ts";
import { type Html, html } from "../html.ts";
import { counted } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { listControls, pageLinks, partOf, perPage } from "./paging.ts";
import { lineForm, nothingFound, option, table } from "./parts.ts";
import { projectPath } from "./paths.ts";

/** The projects that the account reaches: its own, and those of its organizations. */
export function projectsPage(visit: Visit): Page {
  const { context, caller } = visit;
  const part = partOf(visit);
  const owners = visibleOwners(context.store, caller);
  const found = context.store.projects.find(owners, part, { page: part.page, size: perPage });
  return {
    title: "Projects",
    main: html`<h1>Projects</h1>
${listControls(visit, { search: "Name or id", states, sorts })}
${found.total === 0 ? nothingFound(part, "project", "its name or id", noneYet) : projectTable(visit, found.rows)}
${pageLinks(visit, found, ["project", "projects"])}
<section><h2>New project</h2>${projectForm(visit)}</section>`,
  };
}

const states = [
  ["", "any"],
  ["active", "active"],
  ["idle", "idle"],
] as const;

const sorts = [
  ["", "oldest first"],
  ["newest", "newest first"],
  ["name", "name"],
  ["used", "most used first"],
] as const;

const noneYet = html`<p>There are no projects yet: make one below.</p>`;

/** Makes a project of the account or of one of its organizations. */
export function projectForm({ context, account, token, form }: Visit): Html {
  const organizations = context.store.accounts.organizationsOf(account.id);
  const content = html`<label>Name <input name="name" maxlength="64" value="${form["name"]}"></label>
${organizations.length > 0 && html`<label>Owner <select name="owner">${option("", "You")}${organizations.map(({ id, name }) => option(id, name))}</select></label>`}
<button>Create project</button>`;
  return lineForm(token, "/app/projects", "New project", content);
}

function projectTable(visit: Visit, projects: readonly Project[]): Html {
  const columns = ["Project", "Id", "Owner", "Region", "Postgres"];
  const rows = projects.map((project) => row(visit, project));
  return table(counted(projects.length, "project"), columns, rows);
}

function row(visit: Visit, { id, name, owner, regionId, pgVersion }: Project): Html {
  return html`<tr><th scope="row"><a href="${projectPath(id)}">${name}</a></th><td><code>${id}</code></td>
<td data-label="Owner">${ownerName(visit, owner)}</td><td>${regionId}</td><td data-label="Postgres">${pgVersion}</td></tr>
`;
}

/** Projects of other accounts are not listed. */
function ownerName({ context }: Visit, { kind, id }: Owner): string {
  return kind === "account" ? "You" : (context.store.accounts.organization(id)?.name ?? id);
}
