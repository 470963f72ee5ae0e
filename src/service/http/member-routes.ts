import { z } from "zod";
import { permissionOf } from "../accounts/caller.ts";
import { putMember, removeMember } from "../accounts/membership.ts";
import { timestamp } from "../clock.ts";
import type { ServiceContext } from "../context.ts";
import { uuidOf } from "../ids.ts";
import { required } from "../refusal.ts";
import { type Member, type MemberOrder, memberRoles, type NamedMember, type Organization } from "../store/accounts.ts";
import { nothing } from "./check.ts";
import { type Incoming, noInput, organizationRoute, param, projectRoute, type Route } from "./route.ts";
import { cursorAt, Empty, type Mark, markedPageOf } from "./shapes.ts";

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
    const { kind, id } = project.owner;
    if (kind === "account") return { status: 200, body: { project_members: [], pagination: {} } };
    const { page, pagination } = pageOf(context, id, { ...query, sort_by: "joined_at", sort_order: "asc" });
    return { status: 200, body: { project_members: page.map(projectMemberView), pagination } };
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
      const { page, pagination } = pageOf(context, organization.id, query);
      const members = page.map((one) => ({ member: memberView(one, one.uuid), user: { email: one.email } }));
      return { status: 200, body: { members, pagination: { ...pagination, sort_by, sort_order } } };
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
    (request) => ({ status: 200, body: viewOf(request.context, memberOf(request)) }),
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
      return { status: 200, body: viewOf(context, { ...member, role: body.role }) };
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

/** A page of members, and the cursor of the next one where there is one. */
function pageOf(
  { store }: ServiceContext,
  organizationId: string,
  query: { sort_by: MemberOrder; sort_order: "asc" | "desc"; cursor?: Mark | undefined; limit: number },
) {
  const { sort_by: by, sort_order, cursor: after, limit } = query;
  const wanted = { by, descending: sort_order === "desc", after, limit: limit + 1 };
  const found = store.accounts.memberPage(organizationId, wanted);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { page, pagination: last === undefined ? {} : { next: cursorAt([sortKey(last, by), last.email]) } };
}

function projectMemberView(member: NamedMember) {
  const permission = permissionOf(member.role);
  return {
    member_id: idOf(member),
    user_id: member.uuid,
    email: member.email,
    name: member.name,
    org_role: member.role,
    ...(permission && { org_default_project_permission: permission, effective_project_permission: permission }),
    grant_source: permission === undefined ? "unassigned" : "org_role_default",
  };
}

function sortKey({ email, role, joinedAt }: NamedMember, by: MemberOrder): string | number {
  return { email, role, joined_at: joinedAt }[by];
}

function memberOf(request: Pick<Incoming, "context" | "params"> & { organization: Organization }): Member {
  const members = request.context.store.accounts.members(request.organization.id);
  return required(
    "member",
    members.find((member) => idOf(member) === param(request, "member_id")),
  );
}

function viewOf(context: ServiceContext, member: Member) {
  return memberView(member, context.store.accounts.get(member.accountId)?.uuid ?? "");
}

function memberView(member: Member, uuid: string) {
  return {
    id: idOf(member),
    user_id: uuid,
    org_id: member.organizationId,
    role: member.role,
    joined_at: timestamp(member.joinedAt),
  };
}

function idOf({ organizationId, accountId }: Member): string {
  return uuidOf(`member:${organizationId}/${accountId}`);
}
