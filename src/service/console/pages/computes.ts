import { visibleOwners } from "../../accounts/caller.ts";
import { weekOf } from "../../computes/meter.ts";
import { lookAt } from "../../computes/usage.ts";
import { signaturePartsOf } from "../../domain/managed.ts";
import type { FoundCompute } from "../../store/compute-search.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { PageFound } from "../../store/table.ts";
import { type Html, html } from "../html.ts";
import { counted, moment, progressInWords, sizeInWords, statusInWords, typeInWords, usedInWords } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { managementInWords } from "./management.ts";
import { listControls, type Part, pageLinks, partOf, perPage } from "./paging.ts";
import { nothingFound, table } from "./parts.ts";
import { branchPath, computePath, projectPath } from "./paths.ts";

/** The computes of all projects that the account reaches, found by a part of their id, name or branch. */
export function computesPage(visit: Visit): Page {
  const part = partOf(visit);
  const found = findComputes(visit, part);
  return {
    title: "Computes",
    main: html`<h1>Computes</h1>
${listControls(visit, { search: "Id, name or branch", states: computeStates, sorts })}
<div id="computes" data-live>${found.total === 0 ? noComputes(part) : computeTable(visit, found.rows)}</div>
<div id="pages" data-live>${pageLinks(visit, found, ["compute", "computes"])}</div>
<p class="hint">A compute that an operator made is also found by its fleet, and by its Compute or Branch, as
<code>namespace/name</code> or by uid.</p>`,
  };
}

/** The computes of a page of a list, of one branch or of all that the account reaches, each with its use this week. */
export function findComputes(
  { context, caller, at }: Visit,
  part: Part,
  { branchId, size = perPage }: { branchId?: string; size?: number } = {},
): PageFound<FoundCompute> {
  const owners = visibleOwners(context.store, caller);
  const filter = {
    ...part,
    owners,
    signature: signaturePartsOf(part.search),
    used: { since: weekOf(at), look: lookAt(context, at) },
  };
  const page = { page: part.page, size };
  if (branchId === undefined) return context.store.computeSearch.find(filter, page);
  const sort = part.sort === "" ? "primary" : part.sort;
  return context.store.computeSearch.find({ ...filter, branchId, sort }, page);
}

/** The states by which computes are filtered. */
export const computeStates = [
  ["", "any"],
  ["active", "active"],
  ["idle", "idle"],
  ["starting", "starting"],
  ["disabled", "disabled"],
] as const;

/** The orders of computes, except the first one. */
export const computeSorts = [
  ["newest", "newest first"],
  ["used", "most used this week first"],
  ["size", "largest first"],
  ["active", "last active first"],
] as const;

const sorts = [["", "oldest first"], ["branch", "branch"], ...computeSorts] as const;

export function noComputes(part: Part): Html {
  const yet = html`<p>There are no computes yet. <a href="/app/projects">Choose a project</a>, then a branch: its page makes one.</p>`;
  return nothingFound(part, "compute", "its id, its name or its branch", yet);
}

/** A table of computes of any project. `prefix`: of the ids of rows, where a page has several tables. */
export function computeTable(visit: Visit, found: readonly FoundCompute[], prefix = ""): Html {
  const columns = ["Compute id", "Project", "Branch", "Type", "Status", "Size", "Used this week", "Last active"];
  const rows = found.map((one) => {
    const compute = visit.context.store.endpoints.byId(one.id);
    return compute && row(visit, one, compute, prefix);
  });
  return table(counted(found.length, "compute"), columns, rows);
}

function row(
  visit: Visit,
  { projectName, branchName, usedMs }: FoundCompute,
  compute: StoredEndpoint,
  prefix: string,
): Html {
  const { id, name, projectId, branchId, lastActive, disabled } = compute;
  const [status, progress] = [statusInWords(compute), progressInWords(compute)];
  const management = managementInWords(visit, compute);
  return html`<tr id="${prefix}${id}" data-live><th scope="row"><a href="${computePath(projectId, branchId, id)}"><code>${id}</code></a>
${management ?? (name !== undefined && html`<small>${name}</small>`)}</th>
<td><a href="${projectPath(projectId)}">${projectName}</a></td>
<td><a href="${branchPath(projectId, branchId)}">${branchName}</a></td><td class="whole">${typeInWords(compute)[0]}</td>
<td><span class="status ${status.toLowerCase()}">${status}</span>${disabled && html` <small>disabled</small>`}${
    progress && html`<small>${progress}…</small>`
  }</td>
<td class="whole">${sizeInWords(compute)}</td><td class="whole" data-label="This week">${usedInWords(usedMs)}</td><td data-label="Last active">${moment(lastActive, visit.at)}</td></tr>
`;
}
