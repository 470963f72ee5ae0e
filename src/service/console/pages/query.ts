import { reachProject } from "../../accounts/caller.ts";
import { mostRows, type QueryAnswer, queryLimitMs } from "../../domain/queries.ts";
import { refusals, required } from "../../refusal.ts";
import { nameOf, valueOf } from "../form.ts";
import { type Html, html } from "../html.ts";
import { counted, typeInWords } from "../labels.ts";
import { tokenField } from "../layout.ts";
import type { Page, Visit } from "../visit.ts";
import { databasesToChoose, rolesToChoose } from "./choices.ts";
import { mostChoices } from "./paging.ts";
import { option } from "./parts.ts";
import { branchPath } from "./paths.ts";
import { computeAt, placeOf, trail } from "./place.ts";

/** The query box of a branch: one statement, in one of its databases, as one of its roles. */
export function queryPage(visit: Visit): Page {
  return pageWith(visit, undefined);
}

/** Runs the statement of the form; the page shows its answer. */
export async function askQuery(visit: Visit): Promise<Page> {
  const { context, caller, form, account, gone } = visit;
  const place = placeOf(visit);
  const { project, branch } = place;
  reachProject(context.store, caller, project.id, "member");
  if (!context.queries) throw refusals.unprocessable("the computes of this service have no databases to ask");
  // Browsers send each line break of a field as CR LF.
  const sql = (form["sql"] ?? "").replaceAll("\r\n", "\n").trim();
  if (sql.includes("\0")) throw refusals.invalid("the statement has a NUL character, which Postgres does not take");
  if (sql === "") throw refusals.invalid("there is no statement to run");
  const compute = computeAt(visit, place, form["compute"] ?? "");
  const role = required("role", context.catalog.role(branch.id, nameOf(form["role"])));
  const database = required("database", context.catalog.database(branch.id, nameOf(form["database"])));
  if (!role.login) throw refusals.unprocessable(`role ${role.name} cannot log in`);
  const answer = await context.queries.run({
    accountId: account.id,
    endpointId: compute.id,
    database: database.name,
    role: { name: role.name, password: context.catalog.passwordOf(role) },
    sql,
    writes: form["writes"] === "true",
    gone,
  });
  return pageWith(visit, answer);
}

function pageWith(visit: Visit, answer: QueryAnswer | undefined): Page {
  const place = placeOf(visit);
  return {
    title: `Query of ${place.branch.name}`,
    main: html`${trail(place.project, place.branch)}<h1>Query</h1>
${visit.context.queries ? queryForm(visit, place.branch) : html`<p>This service models its computes: there are no databases to ask. Start it with <code>--postgres</code>.</p>`}
${answer && answerSection(answer)}`,
  };
}

function queryForm(visit: Visit, { id, projectId }: { id: string; projectId: string }): Html {
  const { context, path, form, token } = visit;
  const computes = context.store.endpoints.ofBranch(id, mostChoices);
  const roles = rolesToChoose(context, id, "login");
  const databases = databasesToChoose(context, id);
  if (computes.length === 0) {
    return html`<p>This branch has no compute to ask: <a href="${branchPath(projectId, id)}">make one</a>.</p>`;
  }
  const owner = nameOf(form["role"]) || databases[0]?.ownerName;
  const named =
    (chosen: string | undefined) =>
    ({ name }: { name: string }) =>
      option(valueOf(name), name, name === chosen);
  return html`<form class="query" method="post" action="${path}" aria-label="Query">${tokenField(token)}
<p class="search"><label>Compute <select name="compute">${computes.map((one) => option(one.id, `${one.id}, ${typeInWords(one)[1]}`, one.id === form["compute"]))}</select></label>
<label>Database <select name="database">${databases.map(named(nameOf(form["database"])))}</select></label>
<label>Role <select name="role">${roles.map(named(owner))}</select></label></p>
<label for="sql">Statement</label>
<textarea id="sql" name="sql" rows="6" maxlength="20000" spellcheck="false" required>${form["sql"]}</textarea>
<p><button>Run</button> <label><input type="checkbox" name="writes" value="true"> allow changes</label></p>
<p class="hint">One statement, in a session of its own, for at most ${counted(queryLimitMs / 1000, "second")}; the first ${mostRows} rows
are shown, or fewer where they are wide. It only reads, unless changes are allowed: as in any read-only transaction,
functions still act on replication slots and on the role's other sessions. An idle compute is woken.</p></form>`;
}

function answerSection({ columns, rows, more, tag }: QueryAnswer): Html {
  const words = more ? `The first ${rows.length} rows: there are more` : counted(rows.length, "row");
  if (columns.length === 0)
    return html`<section><h2>Answer</h2><p role="status">${tag === "" ? "Nothing to run" : tag}</p></section>`;
  return html`<section><h2>Answer</h2><p role="status">${words}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Rows"><table class="rows"><caption>Rows</caption>
<thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr>${row.map((value) => html`<td>${value === null ? html`<em>null</em>` : value}</td>`)}</tr>
`,
  )}</tbody></table></div></section>`;
}
