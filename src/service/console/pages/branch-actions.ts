import { noteOf } from "../../domain/branch-note.ts";
import type { Branch } from "../../store/branches.ts";
import { type Html, html } from "../html.ts";
import { durationInWords } from "../labels.ts";
import type { Visit } from "../visit.ts";
import { lineForm, option } from "./parts.ts";
import { branchPath } from "./paths.ts";

/** The ends that the page offers, in seconds from now. */
const offeredEnds = [3600, 86_400, 604_800, 2_592_000];

/** Actions on a branch. Each is a form; the API decides whether it is allowed. */
export function branchActions(visit: Visit, branch: Branch): Html {
  const { branches } = visit.context.store;
  const parent = branch.parentId === undefined ? undefined : branches.get(branch.projectId, branch.parentId);
  const hasChildren = branches.hasChildren(branch);
  const path = branchPath(branch.projectId, branch.id);
  const form = (verb: string, content: Html) =>
    lineForm(visit.token, `${path}/${verb}`, `${verb} ${branch.name}`, content);
  const mayGo = !branch.isDefault && !branch.isProtected && !hasChildren;
  const mayReset = parent && !branch.isProtected && !hasChildren;
  if (!mayGo && !mayReset) return html`<p>${whyNone(branch)}</p>`;
  return html`<div class="actions">
${mayGo && form("end", endChoice(branch))}
${mayReset && reset(branch, parent, form)}
${mayGo && deletion(visit, branch, form)}</div>`;
}

function whyNone({ isDefault, isProtected }: Branch): string {
  if (isDefault) return "The default branch of a project stays: it cannot end or be deleted.";
  return `The branch ${isProtected ? "is protected" : "has child branches"}: it cannot end, be reset or be deleted.`;
}

function endChoice({ expiresAt }: Branch): Html {
  return html`<label>Ends <select name="seconds">${offeredEnds.map((seconds) => option(seconds, `in ${durationInWords(seconds)}`))}${expiresAt !== undefined && option("", "never")}</select></label>
<button class="quiet">Set</button>`;
}

type Form = (verb: string, content: Html) => Html;

function reset({ name }: Branch, parent: Branch, form: Form): Html {
  return html`<details><summary>Reset to its parent…</summary>${form(
    "reset",
    html`<input type="hidden" name="parent" value="${parent.id}"><p>It gets the data, roles and databases that ${parent.name} has now, and loses its own. Its computes keep their
addresses, and their connections are cut.</p><button class="danger">Reset ${name} to ${parent.name}</button>`,
  )}</details>`;
}

function deletion({ context }: Visit, { name, details }: Branch, form: Form): Html {
  const back = context.options.branchRecovery ? ", and can be recovered for 7 days" : ", for good";
  return html`<details><summary>Delete this branch…</summary>${form(
    "delete",
    html`<p>Its computes, roles and databases go with it${back}.${
      noteOf(details) && " Its operator will report it as lost, and not make it again."
    }</p>
<button class="danger">Delete ${name}${!context.options.branchRecovery && " for good"}</button>`,
  )}</details>`;
}
