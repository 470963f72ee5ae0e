import { ApiKeyCreate, ApiKeyCreated, ApiKeyRevoked, OrganizationApiKeyCreate } from "../../api/api-keys.ts";
import { rightIn } from "../accounts/caller.ts";
import { createdView, listedViews, revokedView } from "../accounts/key-view.ts";
import { isSameOwner } from "../accounts/owner.ts";
import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { ApiKey, KeyScope } from "../store/keys.ts";
import { nothing } from "./check.ts";
import { type Handled, type Incoming, noInput, organizationRoute, param, personalRoute, type Route } from "./route.ts";
import { Rows } from "./rows.ts";
import { KeyList } from "./shapes.ts";

/** The calls on API keys: an account's own, and an organization's with those scoped to its projects. */
export const keyRoutes: readonly Route[] = [
  personalRoute(
    {
      method: "GET",
      path: "/api_keys",
      operationId: "listApiKeys",
      summary: "The account's personal keys.",
      ...noInput,
      answers: { 200: KeyList },
    },
    ({ context, accountId }) => listed(context, context.store.keys.ofAccount(accountId)),
  ),
  personalRoute(
    {
      method: "POST",
      path: "/api_keys",
      operationId: "createApiKey",
      summary: "Creates a personal key and shows its secret, once.",
      body: ApiKeyCreate,
      query: nothing,
      answers: { 200: ApiKeyCreated },
    },
    ({ context, accountId, body, at }) =>
      createKey(context, { name: body.key_name, scope: { kind: "personal", accountId }, createdBy: accountId, at }),
  ),
  personalRoute(
    {
      method: "DELETE",
      path: "/api_keys/{key_id}",
      operationId: "revokeApiKey",
      summary: "Revokes a personal key for good; only its owner can.",
      ...noInput,
      answers: { 200: ApiKeyRevoked },
    },
    (request) => {
      const { context, accountId, at } = request;
      const key = keyOf(request);
      if (key?.scope.kind !== "personal" || key.scope.accountId !== accountId) throw refusals.notFound("API key");
      return revoke(context, key, at);
    },
  ),
  organizationRoute(
    { right: "member", personalKey: false },
    {
      method: "GET",
      path: "/organizations/{org_id}/api_keys",
      operationId: "listOrgApiKeys",
      summary: "The organization's keys, and those scoped to the projects that the key reaches.",
      ...noInput,
      answers: { 200: KeyList },
    },
    ({ context, organization, caller }) => {
      const { keys } = context.store;
      const reaches = rightIn(context.store, caller, { kind: "organization", id: organization.id }) !== undefined;
      return listed(context, keys.ofOrganization(organization.id), ({ scope }) => reaches || scope.kind !== "project");
    },
  ),
  organizationRoute(
    { right: "member", personalKey: true },
    {
      method: "POST",
      path: "/organizations/{org_id}/api_keys",
      operationId: "createOrgApiKey",
      summary: "Creates a key for the organization, or with project_id for one project, and shows its secret, once.",
      body: OrganizationApiKeyCreate,
      query: nothing,
      answers: { 200: ApiKeyCreated },
    },
    ({ context, organization, right, caller, body, at }) => {
      if (caller.scope.kind !== "personal") throw refusals.notForOrganizationKeys();
      const byAdministrators = context.options.rules.projectKeysByAdministrators;
      if (right !== "admin" && (body.project_id === undefined || byAdministrators)) {
        const others = byAdministrators
          ? "create its keys"
          : "create keys for all of it; with project_id any member can";
        throw refusals.forbidden(`only administrators of organization ${organization.id} can ${others}`);
      }
      const scope = scopeOf(context, organization.id, body.project_id);
      return createKey(context, { name: body.key_name, scope, createdBy: caller.scope.accountId, at });
    },
  ),
  organizationRoute(
    { right: "admin", personalKey: false },
    {
      method: "DELETE",
      path: "/organizations/{org_id}/api_keys/{key_id}",
      operationId: "revokeOrgApiKey",
      summary: "Revokes a key of the organization for good.",
      ...noInput,
      answers: { 200: ApiKeyRevoked },
    },
    (request) => {
      const { context, organization, at } = request;
      const key = keyOf(request);
      if (!key || key.scope.kind === "personal" || key.scope.organizationId !== organization.id) {
        throw refusals.notFound("API key");
      }
      return revoke(context, key, at);
    },
  ),
];

function scopeOf(context: ServiceContext, organizationId: string, projectId: string | undefined): KeyScope {
  if (projectId === undefined) return { kind: "organization", organizationId };
  const owner = context.store.projects.get(projectId)?.owner;
  if (!isSameOwner(owner, { kind: "organization", id: organizationId })) throw refusals.notFound("project");
  return { kind: "project", organizationId, projectId };
}

/**
 * The most keys of an account, and of an organization with those scoped to its projects. The specification has no
 * strict limit and recommends fewer than 10,000; a list of keys is not paged.
 */
const mostKeys = 20_000;

function createKey(
  context: ServiceContext,
  { name, scope, createdBy, at }: { name: string; scope: KeyScope; createdBy: string; at: number },
): Handled {
  if (context.store.keys.count(scope) >= mostKeys) {
    const owner = scope.kind === "personal" ? "account" : "organization";
    throw refusals.limitExceeded("API keys", `an ${owner} has at most ${mostKeys} keys`, { remedy: "revoke one" });
  }
  const secret = context.ids.secret();
  const key = context.store.keys.insert(secret, { name, scope, createdBy, createdAt: at });
  return { status: 200, body: createdView(context, key, secret) };
}

function listed(context: ServiceContext, keys: Iterable<ApiKey>, isShown?: (key: ApiKey) => boolean): Handled {
  const view = listedViews(context);
  return { status: 200, body: new Rows(keys, (key) => (isShown?.(key) === false ? undefined : view(key))) };
}

function revoke(context: ServiceContext, key: ApiKey, at: number): Handled {
  context.store.keys.revoke(key.id, at);
  return { status: 200, body: revokedView(context, key) };
}

function keyOf(request: Pick<Incoming, "context" | "params">): ApiKey | undefined {
  const id = param(request, "key_id");
  return /^[0-9]{1,15}$/.test(id) ? request.context.store.keys.get(Number(id)) : undefined;
}
