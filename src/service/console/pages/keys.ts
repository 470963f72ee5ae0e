import type { Organization, Role } from "../../store/accounts.ts";
import type { ApiKey, KeyScope } from "../../store/keys.ts";
import { copyButton } from "../copy.ts";
import { type Html, html } from "../html.ts";
import { moment } from "../labels.ts";
import { type Page, pathOf, type Visit } from "../visit.ts";
import { listControls, mostChoices, pageLinks, pageNumber, partOf, perPage } from "./paging.ts";
import { confirmedForm, lineForm, none, option, table } from "./parts.ts";

/** The account's personal keys, and the keys of its organizations that it may see. */
export function keysPage(visit: Visit): Page {
  const { context, account } = visit;
  const organizations = context.store.accounts.organizationsOf(account.id);
  const scope = { kind: "personal", accountId: account.id } as const;
  return {
    title: "API keys",
    main: html`<h1>API keys</h1>
${newSecret(visit)}
${listControls(visit, { search: "Name", states, sorts })}
<section aria-labelledby="personal"><h2 id="personal">Personal keys</h2>
<p class="about">For your own projects, and those of the organizations that you belong to.</p>
${keyList(visit, scope, { title: "personal keys", path: "app/keys", revocable: true })}
${createForm(visit, { action: "/app/keys", name: "New personal key" })}</section>
${organizations.map((organization) => organizationSection(visit, organization))}`,
  };
}

const states = [
  ["", "any"],
  ["used", "used"],
  ["unused", "never used"],
] as const;

const sorts = [
  ["", "oldest first"],
  ["newest", "newest first"],
  ["name", "name"],
  ["used", "last used first"],
  ["unused", "longest unused first"],
] as const;

/** One of the page's lists, with pages of its own. */
interface KeyList {
  title: string;
  /** The path below which a key is revoked, without a slash before it. */
  path: string;
  revocable: boolean;
}

function keyList(visit: Visit, scope: KeyScope, list: KeyList): Html {
  const { query, context } = visit;
  const name = scope.kind === "personal" ? "page" : `page-${scope.organizationId}`;
  const part = partOf(visit);
  const found = context.store.keys.find(scope, part, { page: pageNumber(query, name), size: perPage });
  if (found.total === 0) return none(part);
  return html`${keyTable(visit, found.rows, list)}
${pageLinks(visit, found, ["key", "keys"], { name, title: list.title })}`;
}

/** The secret of a new key. It is removed from the session, so it is shown only once. */
function newSecret({ session }: Visit): Html | undefined {
  const { created } = session;
  session.created = undefined;
  if (!created) return undefined;
  return html`<div class="notice secret" role="status"><label for="secret">The secret of <b>${created.name}</b>: copy it
now, it is not shown again.</label>
<input id="secret" readonly value="${created.secret}" autocomplete="off" spellcheck="false" autofocus>
${copyButton("secret", "API key")}</div>`;
}

function organizationSection(visit: Visit, { id, name }: Organization): Html {
  const { context, account } = visit;
  const role = context.store.accounts.member(id, account.id)?.role ?? "member";
  const creates = role === "admin" || (isEditor(role) && !context.options.rules.projectKeysByAdministrators);
  const path = `app/organizations/${id}/keys`;
  return html`<section aria-labelledby="${id}"><h2 id="${id}">${name}</h2>
<p class="about">${isEditor(role) && !creates ? onlyAdministrators : rightsInWords[role]}</p>
${
  role !== "collaborator" &&
  keyList(
    visit,
    { kind: "organization", organizationId: id },
    { title: `the keys of ${name}`, path, revocable: role === "admin" },
  )
}
${creates && createForm(visit, { action: `/${path}`, name: `New key of ${name}`, scopes: scopes(visit, id, role) })}</section>`;
}

function asMember(as: string): string {
  return `You are ${as}: you create keys for one project. Keys for all of it, and revoking, are for administrators.`;
}

const rightsInWords: Record<Role, string> = {
  admin: "You administer this organization: you create and revoke its keys.",
  member: asMember("a member"),
  editor: asMember("an editor"),
  viewer: "You are a viewer: your keys read this organization's projects and change nothing.",
  collaborator: "You are a collaborator: you reach the projects in which you are given a role.",
};

const onlyAdministrators = "You are an editor: to create and revoke this organization's keys is for administrators.";

function isEditor(role: Role): boolean {
  return role === "member" || role === "editor";
}

function scopes({ context }: Visit, organizationId: string, role: Role): Html {
  const owners = [{ kind: "organization" as const, id: organizationId }];
  const projects = context.store.projects.list({ owners, limit: mostChoices });
  return html`<label>for <select name="project">${role === "admin" && option("", "all of it")}
${projects.map(({ id, name }) => option(id, `project ${name} (${id})`))}</select></label>`;
}

function createForm({ token }: Visit, form: { action: string; name: string; scopes?: Html }): Html {
  const content = html`<label>Name <input name="name" required maxlength="64"></label>
${form.scopes} <button>Create key</button>`;
  return lineForm(token, form.action, form.name, content);
}

function keyTable(visit: Visit, keys: readonly ApiKey[], { path, revocable }: KeyList): Html {
  const columns = ["Name", "For", "Created by", "Created", "Last used", ...(revocable ? ["Revoke"] : [])];
  const rows = keys.map((key) => keyRow(visit, key, path, revocable));
  return table(undefined, columns, rows);
}

function keyRow(visit: Visit, key: ApiKey, path: string, revocable: boolean): Html {
  const { context, account, at } = visit;
  const creator =
    key.createdBy === account.id ? "You" : (context.store.accounts.get(key.createdBy)?.name ?? key.createdBy);
  const from = key.lastUsedFrom && html`<small>from ${key.lastUsedFrom}</small>`;
  return html`<tr><th scope="row">${key.name}</th><td data-label="For">${scopeInWords(visit, key)}</td>
<td data-label="Created by">${creator}</td><td data-label="Created">${moment(key.createdAt, at)}</td>
<td data-label="Last used">${moment(key.lastUsedAt, at)} ${from}</td>
${revocable && html`<td>${revokeForm(visit, key, path)}</td>`}</tr>
`;
}

function scopeInWords({ context }: Visit, { scope }: ApiKey): string {
  switch (scope.kind) {
    case "personal":
      return "You";
    case "organization":
      return "All projects";
    case "project":
      return `Project ${context.store.projects.get(scope.projectId)?.name ?? scope.projectId}`;
  }
}

function revokeForm({ token }: Visit, { id, name }: ApiKey, path: string): Html {
  const action = pathOf(...path.split("/"), String(id), "revoke");
  const warning = html`<p>Requests with it fail from then on, for good.</p>`;
  return confirmedForm(token, action, ["Revoke", name, "for good"], warning);
}
