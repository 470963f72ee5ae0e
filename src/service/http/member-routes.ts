import { z } from "zod";
import { permissionOf } from "../accounts/caller.ts";
import { putMember, removeMember } from "../accounts/membership.ts";
import { timestamp } from "../clock.ts";
import type { ServiceContext } from "../context.ts";
import { uuidOf } from "../ids.ts";
import { required } from "../refusal.ts";
import { type Member, memberRoles, type Organization } from "../store/accounts.ts";
import { nothing } from "./check.ts";
import { type Incoming, noInput, organizationRoute, param, projectRoute, type Route } from "./route.ts";
import { Empty, type Mark, markedPageOf, pageAt } from "./shapes.ts";

const MemberShape = z.looseObject({
  id: z.string(),
  user_id: z.string(),
  org_id: z.string(),
  role: z.string(),
  joined_at: z.string(),
});

/** The members of the organization that a project belongs to, each with the permission that its role gives. */
const projectMembersRoute: Route = projectRoute(
  "member",
  {
    method: "GET",
    path: "/projects/{project_id}/members",
    operationId: "listProjectMembers",
    summary: "Who reaches a project, with which permission: the members of its organization.",
    body: nothing,
    query: z.object(markedPageOf(500)),
    answers: { 200: z.looseObject({ project_members: z.array(z.looseObject({ member_id: z.string() })) }) },
  },
  ({ context, project, query }) => {
    const { accounts } = context.store;
    const all = project.owner.kind === "organization" ? accounts.members(project.owner.id) : [];
    const { page, pagination } = pageAt(all, query, ({ joinedAt, accountId }) => [joinedAt, accountId], [1, 1]);
    return { status: 200, body: { project_members: page.map((one) => projectMemberView(context, one)), pagination } };
  },
);

/** The calls on the members of an organization. */
export const memberRoutes: readonly Route[] = [
  organizationRoute(
    { right: "member", personalKey: false },
    {
      method: "GET",
      path: "/organizations/{org_id}/members",
      operationId: "getOrganizationMembers",
      summary: "The members of an organization.",
      body: nothing,
      query: z.object({
        sort_by: z.enum(["email", "role", "joined_at"]).default("joined_at"),
        sort_order: z.enum(["asc", "desc"]).default("desc"),
        ...markedPageOf(500),
      }),
      answers: { 200: z.looseObject({ members: z.array(z.looseObject({ member: MemberShape })) }) },
    },
    ({ context, organization, query }) => {
      const { sort_by, sort_order } = query;
      const sign = sort_order === "asc" ? 1 : -1;
      const all = context.store.accounts.members(organization.id).map((member) => ({
        member: memberView(context, member),
        user: { email: context.store.accounts.get(member.accountId)?.email ?? "" },
      }));
      const markOf = (one: (typeof all)[number]): Mark => [sortKey(one, sort_by), one.user.email];
      const { page, pagination } = pageAt(all, query, markOf, [sign, 1]);
      return { status: 200, body: { members: page, pagination: { ...pagination, sort_by, sort_order } } };
    },
  ),
  organizationRoute(
    { right: "member", personalKey: false },
    {
      method: "GET",
      path: "/organizations/{org_id}/members/{member_id}",
      operationId: "getOrganizationMember",
      summary: "One member of an organization.",
      ...noInput,
      answers: { 200: MemberShape },
    },
    (request) => ({ status: 200, body: memberView(request.context, memberOf(request)) }),
  ),
  organizationRoute(
    { right: "member", personalKey: false },
    {
      method: "GET",
      path: "/organizations/{org_id}/invitations",
      operationId: "getOrganizationInvitations",
      summary: "The invitations to an organization: nobody is invited here, so none.",
      ...noInput,
      answers: { 200: z.looseObject({ invitations: z.array(z.unknown()) }) },
    },
    () => ({ status: 200, body: { invitations: [] } }),
  ),
  organizationRoute(
    { right: "admin", personalKey: false },
    {
      method: "PATCH",
      path: "/organizations/{org_id}/members/{member_id}",
      operationId: "updateOrganizationMember",
      summary: "Changes the role of a member.",
      body: z.strictObject({ role: z.enum(memberRoles) }),
      query: nothing,
      answers: { 200: MemberShape },
    },
    (request) => {
      const { context, organization, body, at } = request;
      const member = memberOf(request);
      putMember(context, organization.id, member.accountId, body.role, at);
      return { status: 200, body: memberView(context, { ...member, role: body.role }) };
    },
  ),
  organizationRoute(
    { right: "admin", personalKey: false },
    {
      method: "DELETE",
      path: "/organizations/{org_id}/members/{member_id}",
      operationId: "removeOrganizationMember",
      summary: "Takes a member out of an organization.",
      ...noInput,
      answers: { 200: Empty },
    },
    (request) => {
      removeMember(request.context, request.organization.id, memberOf(request).accountId);
      return { status: 200, body: {} };
    },
  ),
  projectMembersRoute,
];

function projectMemberView(context: ServiceContext, member: Member) {
  const { email, name, uuid = "" } = context.store.accounts.get(member.accountId) ?? {};
  const permission = permissionOf(member.role);
  return {
    member_id: idOf(member),
    user_id: uuid,
    email,
    name,
    org_role: member.role,
    ...(permission && { org_default_project_permission: permission, effective_project_permission: permission }),
    grant_source: permission === undefined ? "unassigned" : "org_role_default",
  };
}

function sortKey(
  { member, user }: { member: { role: string; joined_at: string }; user: { email: string } },
  by: "email" | "role" | "joined_at",
): string {
  return by === "email" ? user.email : member[by];
}

function memberOf(request: Pick<Incoming, "context" | "params"> & { organization: Organization }): Member {
  const members = request.context.store.accounts.members(request.organization.id);
  return required(
    "member",
    members.find((member) => idOf(member) === param(request, "member_id")),
  );
}

function memberView(context: ServiceContext, member: Member) {
  return {
    id: idOf(member),
    user_id: context.store.accounts.get(member.accountId)?.uuid ?? "",
    org_id: member.organizationId,
    role: member.role,
    joined_at: timestamp(member.joinedAt),
  };
}

function idOf({ organizationId, accountId }: Member): string {
  return uuidOf(`member:${organizationId}/${accountId}`);
}
