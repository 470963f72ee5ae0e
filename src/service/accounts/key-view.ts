import { timestamp } from "../clock.ts";
import type { ServiceContext } from "../context.ts";
import { madeOnce } from "../made-once.ts";
import { required } from "../refusal.ts";
import type { Account } from "../store/accounts.ts";
import type { ApiKey } from "../store/keys.ts";

/** The fields that every answer about a key has. */
function commonView(key: ApiKey) {
  return {
    id: key.id,
    name: key.name,
    created_at: timestamp(key.createdAt),
    ...(key.scope.kind === "project" && { project_id: key.scope.projectId }),
  };
}

function useView(key: ApiKey) {
  return {
    ...(key.lastUsedAt !== undefined && { last_used_at: timestamp(key.lastUsedAt) }),
    last_used_from_addr: key.lastUsedFrom ?? "",
  };
}

/** The only answer that contains the secret. */
export function createdView(context: ServiceContext, key: ApiKey, secret: string) {
  return { ...commonView(key), key: secret, created_by: creator(context, key).uuid };
}

/** Shows keys in a list: a few accounts have made thousands of them. */
export function listedViews(context: ServiceContext) {
  const creators = new Map<string, Account>();
  return (key: ApiKey) => {
    const { uuid, name } = madeOnce(creators, key.createdBy, () => creator(context, key));
    return { ...commonView(key), created_by: { id: uuid, name, image: "" }, ...useView(key) };
  };
}

/** A key that was just revoked. */
export function revokedView(context: ServiceContext, key: ApiKey) {
  return { ...commonView(key), created_by: creator(context, key).uuid, ...useView(key), revoked: true };
}

/** The account that made a key; accounts are never removed. */
function creator({ store: { accounts } }: ServiceContext, { createdBy }: ApiKey): Account {
  return required(`account ${createdBy}`, accounts.get(createdBy));
}
