import { visibleOwners } from "../../accounts/caller.ts";
import type { Owner, Project } from "../../store/projects.ts";
import { type Html, html } from "../html.ts";
import { counted } from "../labels.ts";
import { type Page, pathOf, type Visit } from "../visit.ts";
import { mostFound, pageOf, positionIn } from "./paging.ts";

/** The projects that the account reaches: its own, and those of its organizations. */
export function projectsPage(visit: Visit): Page {
  const { context, caller, query } = visit;
  const search = (query["search"] ?? "").slice(0, 256);
  const afterSeq = positionIn(visit);
  const filter = { owners: visibleOwners(context.store, caller), search, afterSeq };
  const found = context.store.projects.list({ ...filter, limit: mostFound });
  const { shown, next } = pageOf(found, search);
  return {
    title: "Projects",
    main: html`<h1>Projects</h1>
<form class="search" method="get" action="/" role="search">
<label for="search">Name or id</label> <input id="search" type="search" name="search" value="${search}" maxlength="256">
<button>Search</button></form>
${shown.length === 0 ? nothingFound(search) : table(visit, shown)}
${next !== undefined && html`<p><a href="/?${next}">More projects</a></p>`}`,
  };
}

function nothingFound(search: string): Html {
  return search === ""
    ? html`<p>There are no projects yet. <code>POST /api/v2/projects</code> creates one.</p>`
    : html`<p>No project has <q>${search}</q> in its name or id.</p>`;
}

function table(visit: Visit, projects: readonly Project[]): Html {
  return html`<div class="scroll"><table class="cards">
<caption>${counted(projects.length, "project")}</caption>
<thead><tr><th scope="col">Project</th><th scope="col">Id</th><th scope="col">Owner</th><th scope="col">Region</th>
<th scope="col">Postgres</th></tr></thead>
<tbody>${projects.map((project) => row(visit, project))}</tbody></table></div>`;
}

function row(visit: Visit, { id, name, owner, regionId, pgVersion }: Project): Html {
  return html`<tr><th scope="row"><a href="${pathOf("app", "projects", id)}">${name}</a></th><td><code>${id}</code></td>
<td data-label="Owner">${ownerName(visit, owner)}</td><td>${regionId}</td><td data-label="Postgres">${pgVersion}</td></tr>
`;
}

function ownerName({ context, account }: Visit, { kind, id }: Owner): string {
  if (kind === "organization") return context.store.accounts.organization(id)?.name ?? id;
  return id === account.id ? "You" : id;
}
