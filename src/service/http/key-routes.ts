import { ApiKeyCreate, OrganizationApiKeyCreate } from "../../api/api-keys.ts";
import { createdView, listedView, revokedView } from "../accounts/key-view.ts";
import { refusals } from "../refusal.ts";
import type { ApiKey, KeyScope } from "../store/keys.ts";
import type { World } from "../world.ts";
import { nothing } from "./check.ts";
import { type Handled, noInput, organizationRoute, param, personalRoute, type Route } from "./route.ts";
import { Created, KeyList, Revoked } from "./shapes.ts";

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
    ({ world, accountId }) => listed(world, world.store.keys.ofAccount(accountId)),
  ),
  personalRoute(
    {
      method: "POST",
      path: "/api_keys",
      operationId: "createApiKey",
      summary: "Creates a personal key and shows its secret, once.",
      body: ApiKeyCreate,
      query: nothing,
      answers: { 200: Created },
    },
    ({ world, accountId, body, at }) =>
      createKey(world, { name: body.key_name, scope: { kind: "personal", accountId }, createdBy: accountId, at }),
  ),
  personalRoute(
    {
      method: "DELETE",
      path: "/api_keys/{key_id}",
      operationId: "revokeApiKey",
      summary: "Revokes a personal key for good; only its owner can.",
      ...noInput,
      answers: { 200: Revoked },
    },
    (request) => {
      const { world, accountId, at } = request;
      const key = keyOf(request);
      if (key?.scope.kind !== "personal" || key.scope.accountId !== accountId) throw refusals.notFound("API key");
      return revoke(world, key, at);
    },
  ),
  organizationRoute(
    { right: "member", personalKey: false },
    {
      method: "GET",
      path: "/organizations/{org_id}/api_keys",
      operationId: "listOrgApiKeys",
      summary: "The organization's keys, project-scoped ones among them.",
      ...noInput,
      answers: { 200: KeyList },
    },
    ({ world, organization }) => listed(world, world.store.keys.ofOrganization(organization.id)),
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
      answers: { 200: Created },
    },
    ({ world, organization, right, caller, body, at }) => {
      if (caller.scope.kind !== "personal") throw refusals.notForOrganizationKeys();
      if (body.project_id === undefined && right !== "admin") {
        throw refusals.forbidden(
          `only administrators of organization ${organization.id} can create keys for all of it; with project_id any member can`,
        );
      }
      const scope = scopeOf(world, organization.id, body.project_id);
      return createKey(world, { name: body.key_name, scope, createdBy: caller.scope.accountId, at });
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
      answers: { 200: Revoked },
    },
    (request) => {
      const { world, organization, at } = request;
      const key = keyOf(request);
      if (!key || key.scope.kind === "personal" || key.scope.organizationId !== organization.id) {
        throw refusals.notFound("API key");
      }
      return revoke(world, key, at);
    },
  ),
];

function scopeOf(world: World, organizationId: string, projectId: string | undefined): KeyScope {
  if (projectId === undefined) return { kind: "organization", organizationId };
  const owner = world.store.projects.get(projectId)?.owner;
  if (owner?.kind !== "organization" || owner.id !== organizationId) throw refusals.notFound("project");
  return { kind: "project", organizationId, projectId };
}

function createKey(
  world: World,
  { name, scope, createdBy, at }: { name: string; scope: KeyScope; createdBy: string; at: number },
): Handled {
  const secret = world.ids.secret();
  const key = world.store.keys.insert(secret, { name, scope, createdBy, createdAt: at });
  return { status: 200, body: createdView(world, key, secret) };
}

function listed(world: World, keys: readonly ApiKey[]): Handled {
  return { status: 200, body: keys.map((key) => listedView(world, key)) };
}

function revoke(world: World, key: ApiKey, at: number): Handled {
  world.store.keys.revoke(key.id, at);
  return { status: 200, body: revokedView(world, key) };
}

function keyOf(request: { world: World; params: Readonly<Record<string, string>> }): ApiKey | undefined {
  const id = param(request, "key_id");
  return /^[0-9]{1,15}$/.test(id) ? request.world.store.keys.get(Number(id)) : undefined;
}
