import { z } from "zod";
import { AuthAnswer } from "../../api/auth.ts";
import { Id } from "../../api/ids.ts";
import { type Caller, newOwnerFor } from "../accounts/caller.ts";
import { timestamp } from "../clock.ts";
import { largestFreeSize } from "../computes/limits.ts";
import { mostProjects } from "../domain/limits.ts";
import { regions } from "../domain/regions.ts";
import { transferProjects } from "../domain/transfer.ts";
import { required } from "../refusal.ts";
import { plans } from "../rules.ts";
import type { Account, Organization } from "../store/accounts.ts";
import type { Owner } from "../store/projects.ts";
import { nothing } from "./check.ts";
import { anyKeyRoute, noInput, organizationRoute, personalRoute, type Request, type Route } from "./route.ts";
import { Empty } from "./shapes.ts";

/** The projects to move and their destination. */
const Transfer = z.strictObject({
  destination_org_id: Id,
  project_ids: z.array(Id).min(1).max(400),
});

/** The calls on the account, its organizations and regions. */
export const accountRoutes: readonly Route[] = [
  anyKeyRoute(
    {
      method: "GET",
      path: "/auth",
      operationId: "getAuthDetails",
      summary: "Whom the key speaks for.",
      ...noInput,
      answers: { 200: AuthAnswer },
    },
    ({ caller: { scope } }) => ({
      status: 200,
      body:
        scope.kind === "personal"
          ? { account_id: scope.accountId, auth_method: "api_key_user" }
          : { account_id: scope.organizationId, auth_method: "api_key_org" },
    }),
  ),
  personalRoute(
    {
      method: "GET",
      path: "/users/me",
      operationId: "getCurrentUserInfo",
      summary: "The account of the key.",
      ...noInput,
      answers: { 200: z.looseObject({ id: z.string(), email: z.string(), plan: z.enum(plans).or(z.string()) }) },
    },
    ({ context, accountId, at }) => {
      const account = required("user", context.store.accounts.get(accountId));
      return {
        status: 200,
        body: {
          id: account.id,
          email: account.email,
          login: account.email,
          name: account.name,
          last_name: "",
          image: "",
          plan: account.plan,
          auth_accounts: [],
          billing_account: billingAccount(account, at),
          active_seconds_limit: 0,
          projects_limit: mostProjects(account.plan),
          branches_limit: 0,
          max_autoscaling_limit: account.plan === "free" ? largestFreeSize : 0,
        },
      };
    },
  ),
  anyKeyRoute(
    {
      method: "GET",
      path: "/users/me/organizations",
      operationId: "getCurrentUserOrganizations",
      summary: "The organizations that the key reaches.",
      ...noInput,
      answers: { 200: z.looseObject({ organizations: z.array(z.looseObject({ id: z.string() })) }) },
    },
    ({ context, caller: { scope } }) => {
      const { accounts } = context.store;
      const organizations =
        scope.kind === "personal"
          ? accounts.organizationsOf(scope.accountId)
          : [accounts.organization(scope.organizationId)].filter((found) => found !== undefined);
      return { status: 200, body: { organizations: organizations.map(organizationView) } };
    },
  ),
  anyKeyRoute(
    {
      method: "GET",
      path: "/regions",
      operationId: "getActiveRegions",
      summary: "The regions that projects can be in.",
      ...noInput,
      answers: { 200: z.looseObject({ regions: z.array(z.looseObject({ region_id: z.string() })) }) },
    },
    () => ({ status: 200, body: { regions } }),
  ),
  organizationRoute(
    { right: "member", personalKey: false },
    {
      method: "GET",
      path: "/organizations/{org_id}",
      operationId: "getOrganization",
      summary: "One organization.",
      ...noInput,
      answers: { 200: z.looseObject({ id: z.string(), name: z.string(), plan: z.string() }) },
    },
    ({ organization }) => ({ status: 200, body: organizationView(organization) }),
  ),
  organizationRoute(
    { right: "admin", personalKey: true },
    {
      method: "POST",
      path: "/organizations/{org_id}/projects/transfer",
      operationId: "transferProjectsFromOrgToOrg",
      summary: "Moves projects to another organization; keys scoped to them end.",
      body: Transfer,
      query: nothing,
      answers: { 200: Empty },
    },
    (request) => moved(request, { kind: "organization", id: request.organization.id }),
  ),
  personalRoute(
    {
      method: "POST",
      path: "/users/me/projects/transfer",
      operationId: "transferProjectsFromUserToOrg",
      summary: "Moves projects of the account to an organization of which it is a member.",
      body: Transfer,
      query: nothing,
      answers: { 200: Empty },
    },
    (request) => moved(request, { kind: "account", id: request.accountId }),
  ),
];

/** Moves projects that belong to `from`. */
function moved(
  { context, caller, body, at }: Request<z.infer<typeof Transfer>, unknown> & { caller: Caller },
  from: Owner,
) {
  const to = newOwnerFor(context.store, caller, body.destination_org_id, "destination organization");
  transferProjects(context, { ids: body.project_ids, from, to }, at);
  return { status: 200, body: {} };
}

/** There is no billing here; an account shows only its plan. */
function billingAccount({ name, email, plan }: Account, at: number) {
  const now = new Date(at);
  return {
    state: "active",
    payment_source: { type: "" },
    subscription_type: plan === "free" ? "free_v3" : "UNKNOWN",
    payment_method: "none",
    quota_reset_at_last: timestamp(Date.UTC(now.getUTCFullYear(), now.getUTCMonth())),
    name,
    email,
    address_city: "",
    address_country: "",
    address_line1: "",
    address_line2: "",
    address_postal_code: "",
    address_state: "",
    plan_details: { name: plan },
  };
}

function organizationView(organization: Organization) {
  return {
    id: organization.id,
    name: organization.name,
    handle: organization.id,
    plan: organization.plan,
    managed_by: "console",
    created_at: timestamp(organization.createdAt),
    updated_at: timestamp(organization.createdAt),
  };
}
