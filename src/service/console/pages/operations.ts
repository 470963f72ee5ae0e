import { operationStatuses } from "../../../api/operation.ts";
import type { StoredOperation } from "../../store/operations.ts";
import { type Html, html } from "../html.ts";
import { counted, moment, tookInWords } from "../labels.ts";
import type { Page, Visit } from "../visit.ts";
import { listControls, pageLinks, partOf, perPage } from "./paging.ts";
import { none, table } from "./parts.ts";
import { computePath } from "./paths.ts";
import { projectOf, trail } from "./place.ts";

/** The operations of a project, newest first. */
export function operationsPage(visit: Visit): Page {
  const project = projectOf(visit);
  const part = partOf(visit);
  const found = visit.context.store.operations.find(project.id, part, { page: part.page, size: perPage });
  return {
    title: `Operations of ${project.name}`,
    main: html`${trail(project)}
<h1>Operations</h1>
${listControls(visit, { search: "Action or compute", states, sorts })}
<div id="operations" data-live>${operationTable(visit, found.rows)}</div>
<div id="pages" data-live>${pageLinks(visit, found, ["operation", "operations"])}</div>`,
  };
}

const states = [["", "any"], ...operationStatuses.map((status) => [status, status] as const)] as const;

const sorts = [
  ["", "newest first"],
  ["oldest", "oldest first"],
] as const;

export function operationTable(visit: Visit, operations: readonly StoredOperation[]): Html {
  if (operations.length === 0) return none(partOf(visit));
  const columns = ["Action", "Status", "Compute", "Began", "Took"];
  const rows = operations.map((operation) => row(visit, operation));
  return table(counted(operations.length, "operation"), columns, rows);
}

/** A compute's id, with a link where it still is. */
export function computeLink({ context }: Visit, projectId: string, endpointId: string): Html {
  const compute = context.store.endpoints.get(projectId, endpointId);
  const id = html`<code>${endpointId}</code>`;
  return compute ? html`<a href="${computePath(projectId, compute.branchId, endpointId)}">${id}</a>` : id;
}

function row(visit: Visit, operation: StoredOperation): Html {
  const { action, status, projectId, endpointId, createdAt, updatedAt, error } = operation;
  const over = status !== "running" && status !== "scheduling";
  return html`<tr><th scope="row">${action.replaceAll("_", " ")}</th>
<td>${status}${status === "failed" && error !== undefined && html` <small>${error}</small>`}</td>
<td>${endpointId !== undefined && computeLink(visit, projectId, endpointId)}</td>
<td>${moment(createdAt, visit.at)}</td><td data-label="Took">${over && tookInWords(updatedAt - createdAt)}</td></tr>
`;
}
