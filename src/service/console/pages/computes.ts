import { visibleOwners } from "../../accounts/caller.ts";
import { signaturePartsOf } from "../../domain/managed.ts";
import type { FoundCompute } from "../../store/compute-search.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { type Html, html } from "../html.ts";
import { counted, moment, progressInWords, sizeInWords, statusInWords, typeInWords } from "../labels.ts";
import { type Page, pathOf, type Visit } from "../visit.ts";
import { managementInWords } from "./management.ts";
import { mostFound, pageOf, positionIn } from "./paging.ts";
import { branchPath, computePath } from "./paths.ts";

/** The computes of all projects that the account reaches, found by a part of their id, name or branch. */
export function computesPage(visit: Visit): Page {
  const { context, caller, query } = visit;
  const search = (query["search"] ?? "").trim().slice(0, 256);
  const after = positionIn(visit);
  const filter = { owners: visibleOwners(context.store, caller), search, signature: signaturePartsOf(search), after };
  const found = context.store.computeSearch.find({ ...filter, limit: mostFound });
  const { shown, next } = pageOf(found, search);
  return {
    title: "Computes",
    main: html`<h1>Computes</h1>
<form class="search" method="get" action="/app/computes" role="search">
<label for="search">Id, name or branch</label> <input id="search" type="search" name="search" value="${search}" maxlength="256">
<button>Search</button></form>
<div id="computes" data-live>${shown.length === 0 ? nothingFound(search) : table(visit, shown)}</div>
${next !== undefined && html`<p><a href="/app/computes?${next}">More computes</a></p>`}
<p class="hint">A compute that an operator made is also found by its fleet, and by its Compute or Branch, as
<code>namespace/name</code> or by uid.</p>`,
  };
}

function nothingFound(search: string): Html {
  return search === ""
    ? html`<p>There are no computes yet: the page of a branch makes one.</p>`
    : html`<p>No compute has <q>${search}</q> in its id, its name or its branch.</p>`;
}

function table(visit: Visit, found: readonly FoundCompute[]): Html {
  return html`<div class="scroll"><table class="cards"><caption>${counted(found.length, "compute")}</caption>
<thead><tr><th scope="col">Compute id</th><th scope="col">Project</th><th scope="col">Branch</th><th scope="col">Type</th>
<th scope="col">Status</th><th scope="col">Size</th><th scope="col">Last active</th></tr></thead>
<tbody>${found.map((one) => {
    const compute = visit.context.store.endpoints.byId(one.id);
    return compute && row(visit, one, compute);
  })}</tbody></table></div>`;
}

function row(visit: Visit, { projectName, branchName }: FoundCompute, compute: StoredEndpoint): Html {
  const { id, name, projectId, branchId, lastActive, disabled } = compute;
  const [status, progress] = [statusInWords(compute), progressInWords(compute)];
  const management = managementInWords(visit, compute);
  return html`<tr id="${id}" data-live><th scope="row"><a href="${computePath(projectId, branchId, id)}"><code>${id}</code></a>
${management ?? (name !== undefined && html`<small>${name}</small>`)}</th>
<td><a href="${pathOf("app", "projects", projectId)}">${projectName}</a></td>
<td><a href="${branchPath(projectId, branchId)}">${branchName}</a></td><td class="whole">${typeInWords(compute)[0]}</td>
<td><span class="status ${status.toLowerCase()}">${status}</span>${disabled && html` <small>disabled</small>`}${
    progress && html`<small>${progress}…</small>`
  }</td>
<td class="whole">${sizeInWords(compute)}</td><td data-label="Last active">${moment(lastActive, visit.at)}</td></tr>
`;
}
