import { planOf } from "../../accounts/owner.ts";
import { usageOfBranch } from "../../computes/usage.ts";
import type { Branch } from "../../store/branches.ts";
import type { FoundCompute } from "../../store/compute-search.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { copyable } from "../copy.ts";
import { type Html, html } from "../html.ts";
import {
  memoryInWords,
  moment,
  progressInWords,
  sizeInWords,
  statusInWords,
  typeInWords,
  usageInWords,
  usedInWords,
} from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { branchActions } from "./branch-actions.ts";
import { branchFacts, branchWarning } from "./branch-facts.ts";
import { computeSorts, computeStates, findComputes, noComputes } from "./computes.ts";
import { managementInWords } from "./management.ts";
import { operationTable } from "./operations.ts";
import { sizeOptions } from "./options.ts";
import { keptQuery, listControls, pageLinks, partOf } from "./paging.ts";
import { lineForm, option, table } from "./parts.ts";
import { branchPath, computePath, rolesPath } from "./paths.ts";
import { placeOf, trail } from "./place.ts";
import { sizeForm } from "./size-form.ts";

/** A branch: its computes, whose size and scale to zero can be changed in place, its actions and its operations. */
export function branchPage(visit: Visit): Page {
  const { context } = visit;
  const { project, branch } = placeOf(visit);
  const computes = context.store.endpoints.countsOf(branch.id);
  const free = planOf(context.store, project.owner) === "free";
  const operations = context.store.operations.ofBranch(project.id, branch.id, 20);
  const part = partOf(visit);
  const found = findComputes(visit, part, { branchId: branch.id });
  return {
    title: `Computes of ${branch.name}`,
    main: html`${trail(project)}
<h1>${branch.name}</h1>
<p class="about" id="about" data-live>${copyable("id", branch.id, "branch id")}${branch.isDefault && html` <span class="badge">default</span>`}${branch.isProtected && html` <span class="badge">protected</span>`}
· used ${usageInWords(usageOfBranch(context, branch, visit.at))} · <a href="${rolesPath(project.id, branch.id)}">Roles and databases</a>${context.queries && html` · <a href="${branchPath(project.id, branch.id)}/query">Query</a>`}</p>
<div id="facts" data-live>${branchWarning(branch)}${branchFacts(visit, branch)}</div>
${computes.all > 1 && listControls(visit, { search: "Id or name", states: computeStates, sorts })}
<div id="computes" data-live>${computes.all === 0 ? noCompute : found.total === 0 ? noComputes(part) : computeTable(visit, found.rows, free)}</div>
<div id="pages" data-live>${pageLinks(visit, found, ["compute", "computes"])}</div>
<p class="hint">A fixed size has the same number at both ends. Autoscaling reaches up to 16 vCPU; larger sizes are fixed.
Changes take effect at once. A new size restarts a running compute: its connections are cut for a moment.</p>
<section id="new" data-live><h2>New compute</h2>${createForm(visit, branch, computes, free)}</section>
<section id="actions" data-live><h2>Branch</h2>${branchActions(visit, branch)}</section>
<section id="operations" data-live><h2>Operations</h2>${operationTable(visit, operations)}</section>`,
  };
}

const sorts = [["", "primary first"], ...computeSorts] as const;

function createForm({ token }: Visit, branch: Branch, { primaries }: { primaries: number }, free: boolean): Html {
  const content = html`
<label>Type <select name="type">${primaries === 0 && option("read_write", "Primary")}
${option("read_only", "Read Replica")}</select></label>
<label>Size <select name="size">${sizeOptions(1, free)}</select> vCPU</label> <button>Create compute</button>`;
  const action = `${branchPath(branch.projectId, branch.id)}/computes`;
  return lineForm(token, action, "New compute", content);
}

const noCompute = html`<p>This branch has no computes: nobody can connect to it.</p>`;

function computeTable(visit: Visit, found: readonly FoundCompute[], free: boolean): Html {
  const columns = ["Type", "Status", "Compute id", "Size", "Last active", "Change"];
  const rows = found.map((one) => {
    const compute = visit.context.store.endpoints.byId(one.id);
    return compute && row(visit, compute, one, free);
  });
  return table("Computes of this branch", columns, rows);
}

function row(visit: Visit, compute: StoredEndpoint, { usedMs }: FoundCompute, free: boolean): Html {
  const { id, lastActive, disabled } = compute;
  const progress = progressInWords(compute);
  const status = statusInWords(compute);
  const [role, access] = typeInWords(compute);
  const again = html`<a class="again" href="${visit.path}?${keptQuery(visit.query)}#${id}">Look again</a>`;
  return html`<tr id="${id}" data-live><td class="whole">${role} <small>${access}</small></td>
<td id="status-${id}" data-live><span class="status ${status.toLowerCase()}">${status}</span>${disabled && html` <small>disabled</small>`}
${progress && html`<small>${progress}… ${again}</small>`}</td>
<th scope="row" id="name-${id}" data-live><a href="${computePath(compute.projectId, compute.branchId, id)}"><code>${id}</code></a>
${managementInWords(visit, compute)}</th>
<td class="whole" id="size-${id}" data-live><strong>${sizeInWords(compute)}</strong><small>${memoryInWords(compute)}</small></td>
<td id="active-${id}" data-live>${moment(lastActive, visit.at)}${usedMs > 0 && html`<small>${usedInWords(usedMs)} this week</small>`}</td>
<td id="change-${id}" data-live>${sizeForm(visit, compute, free)}</td></tr>
`;
}
