import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { Role } from "../store/accounts.ts";

/** Makes an account a member of an organization, or changes its role. The last administrator cannot be demoted. */
export function putMember(
  context: ServiceContext,
  organizationId: string,
  accountId: string,
  role: Role,
  at: number,
): void {
  const { accounts } = context.store;
  if (!accounts.organization(organizationId)) throw refusals.notFound(`organization ${organizationId}`);
  if (!accounts.get(accountId)) throw refusals.notFound(`account ${accountId}`);
  if (role !== "admin") refuseLastAdmin(context, organizationId, accountId);
  accounts.putMember({ organizationId, accountId, role, joinedAt: at });
}

/** Removes an account from an organization; its personal keys no longer reach the organization's projects. */
export function removeMember(context: ServiceContext, organizationId: string, accountId: string): void {
  refuseLastAdmin(context, organizationId, accountId);
  if (!context.store.accounts.removeMember(organizationId, accountId)) {
    throw refusals.notFound(`member ${accountId} of organization ${organizationId}`);
  }
}

function refuseLastAdmin(context: ServiceContext, organizationId: string, accountId: string): void {
  const { accounts } = context.store;
  const isAdmin = accounts.member(organizationId, accountId)?.role === "admin";
  if (isAdmin && accounts.countAdministrators(organizationId) === 1) {
    throw refusals.conflict(
      `${accountId} is the last administrator of organization ${organizationId}: make another member one first`,
    );
  }
}
