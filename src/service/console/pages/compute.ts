import { planOf } from "../../accounts/owner.ts";
import { endpointHost } from "../../computes/hosts.ts";
import { param } from "../../http/route.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { Project } from "../../store/projects.ts";
import { copyable, copyButton } from "../copy.ts";
import { type Html, html } from "../html.ts";
import { memoryInWords, moment, progressInWords, sizeInWords, statusInWords, typeInWords } from "../labels.ts";
import type { Moved, Page, Visit } from "../visit.ts";
import { stateReason } from "./compute-state.ts";
import { connectPanel } from "./connect.ts";
import { dayCharts } from "./day.ts";
import { computeWarning } from "./management.ts";
import { operationTable } from "./operations.ts";
import { mostChoices } from "./paging.ts";
import { lineForm, option } from "./parts.ts";
import { computePath, operationsPath } from "./paths.ts";
import { computeAt, type Place, placeOf, projectOf, trail } from "./place.ts";
import { sizeForm } from "./size-form.ts";

/** A compute and what its page needs. */
interface Subject extends Place {
  compute: StoredEndpoint;
}

/** A compute's page at its current branch: a move changes the path. */
export function showCompute(visit: Visit): Page | Moved {
  const [projectId, endpointId] = [param(visit, "project_id"), param(visit, "endpoint_id")];
  const compute = visit.context.store.endpoints.get(projectId, endpointId);
  if (compute === undefined || compute.branchId === param(visit, "branch_id")) return computePage(visit);
  projectOf(visit);
  return { to: computePath(projectId, compute.branchId, endpointId) };
}

/** One compute: how to connect, its actions and its operations. */
export function computePage(visit: Visit): Page {
  const subject = subjectOf(visit);
  const { project, branch, compute } = subject;
  const [role, access] = typeInWords(compute);
  const progress = progressInWords(compute);
  const reason = stateReason(visit, compute);
  const operations = visit.context.store.operations.ofEndpoint(project.id, compute.id, 20);
  return {
    title: compute.id,
    main: html`${trail(project, branch)}
<div class="title"><h1 id="id">${compute.id}</h1>${copyButton("id", "compute id")}</div>
<p class="about" id="about" data-live>${role}, ${access} · <span class="status ${statusInWords(compute).toLowerCase()}">
${statusInWords(compute)}</span>${progress && html`, ${progress}… <a class="again" href="${visit.path}?${new URLSearchParams(visit.query).toString()}">Look again</a>`} ·
${sizeInWords(compute)}, ${memoryInWords(compute)} · last active ${moment(compute.lastActive, visit.at)}</p>
${reason && html`<p class="about" id="why" data-live>${reason}</p>`}
${hostOf(visit, project, compute)}
${computeWarning(visit, compute)}
<section id="connect" data-live><h2>Connect</h2>${connectPanel(visit, project, compute)}</section>
<section id="size" data-live><h2>Size</h2>${sizeForm(visit, compute, planOf(visit.context.store, project.owner) === "free")}
<p class="hint">A fixed size has the same number at both ends. A new size restarts a running compute: its connections are cut
for a moment.</p></section>
<section id="day" data-live><h2>Last 24 hours</h2>${dayCharts(visit, compute)}
<p class="hint">By the quarter of an hour, in UTC.</p></section>
<section id="actions" data-live><h2>Actions</h2>${actions(visit, subject)}</section>
<section id="operations" data-live><h2>Operations</h2>${operationTable(visit, operations)}
${operations.length > 0 && html`<p><a href="${operationsPath(project.id, compute.id)}">All operations of this compute</a></p>`}</section>`,
  };
}

/** The host of a compute, where it leads to the compute: real servers have one only in a domain. */
function hostOf({ context: { backend, options } }: Visit, { regionId }: Project, { id }: StoredEndpoint) {
  if (backend.address && options.domain === undefined) return undefined;
  return html`<p class="about">${copyable("host", endpointHost(options, id, regionId), "host")}</p>`;
}

/** The compute of the path, on the branch of the path. */
function subjectOf(visit: Visit): Subject {
  const place = placeOf(visit);
  return { ...place, compute: computeAt(visit, place, param(visit, "endpoint_id")) };
}

/** The actions that are possible now. Each is a form, so no script is needed. */
function actions(visit: Visit, { project, branch, compute }: Subject): Html {
  const { id, currentState, pendingState, disabled } = compute;
  const running = currentState === "active" && pendingState !== "idle";
  const { branches } = visit.context.store;
  const others = branches.oldest(project.id, mostChoices).filter(({ id: other }) => other !== branch.id);
  const form = (verb: string, content: Html) =>
    lineForm(visit.token, `${computePath(project.id, branch.id, id)}/${verb}`, `${verb} ${id}`, content);
  return html`<div class="actions">
${form(disabled ? "enable" : "disable", html`<button class="quiet">${disabled ? "Enable" : "Disable"}</button>`)}
${running ? form("suspend", html`<button class="quiet">Suspend</button>`) : !disabled && form("start", html`<button>Start</button>`)}
${!disabled && form("restart", html`<button class="quiet">Restart</button> <small>cuts its connections</small>`)}
${
  others.length > 0 &&
  form(
    "move",
    html`<label>Move to <select name="to">${others.map((other) => option(other.id, other.name))}</select></label>
<button class="quiet">Move</button> <small>leaves it idle there</small>`,
  )
}
${branch.isProtected ? html`<p class="hint">The branch is protected: its computes cannot be deleted.</p>` : deletion(id, form)}</div>`;
}

function deletion(id: string, form: (verb: string, content: Html) => Html): Html {
  return html`<details><summary>Delete…</summary>${form(
    "delete",
    html`<p>Nobody can connect to it from then on. A compute added later has another address.</p>
<button class="danger">Delete ${id} for good</button>`,
  )}</details>`;
}
