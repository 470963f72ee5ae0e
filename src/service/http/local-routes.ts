import { z } from "zod";
import { putMember, removeMember } from "../accounts/membership.ts";
import { isSameOwner, moveProjects, ownerNamed } from "../accounts/owner.ts";
import { connect } from "../computes/connect.ts";
import { required } from "../refusal.ts";
import { memberRoles } from "../store/accounts.ts";
import { nothing } from "./check.ts";
import { noInput, openRoute, param, type Route } from "./route.ts";
import { Empty, truth } from "./shapes.ts";

/** Calls beside the API and without keys: playing a client of a compute, and administration. */
export const localRoutes: readonly Route[] = [
  openRoute(
    {
      method: "POST",
      path: "/_connect/{endpoint_id}",
      operationId: "connect",
      summary: "Holds a connection to a compute for some seconds, and wakes it where it is idle.",
      body: nothing,
      query: z.object({
        seconds: z
          .string()
          .regex(/^[0-9]{1,7}(\.[0-9]{1,3})?$/, { error: "must be a number of seconds, 0 to 604800" })
          .transform(Number)
          .pipe(z.number().max(604_800, { error: "must be a number of seconds, 0 to 604800" }))
          .default(0),
        pooled: truth,
      }),
      answers: { 200: Empty },
    },
    (request) => {
      const { context, query, at } = request;
      return { status: 200, body: connect(context, param(request, "endpoint_id"), query, at) };
    },
  ),
  openRoute(
    {
      method: "PUT",
      path: "/_admin/organizations/{org_id}/members/{account_id}",
      operationId: "putMember",
      summary: "Makes an account a member of an organization, or changes its role.",
      body: z.strictObject({ role: z.enum(memberRoles) }),
      query: nothing,
      answers: { 200: Empty },
    },
    (request) => {
      const { context, body, at } = request;
      const [organizationId, accountId] = [param(request, "org_id"), param(request, "account_id")];
      putMember(context, organizationId, accountId, body.role, at);
      return { status: 200, body: { organization: organizationId, account: accountId, role: body.role } };
    },
  ),
  openRoute(
    {
      method: "DELETE",
      path: "/_admin/organizations/{org_id}/members/{account_id}",
      operationId: "removeMember",
      summary: "Takes an account out of an organization.",
      ...noInput,
      answers: { 204: undefined },
    },
    (request) => {
      removeMember(request.context, param(request, "org_id"), param(request, "account_id"));
      return { status: 204 };
    },
  ),
  openRoute(
    {
      method: "PUT",
      path: "/_admin/projects/{project_id}/owner",
      operationId: "putOwner",
      summary: "Gives a project to another account or organization.",
      body: z.strictObject({ owner: z.string().min(1).max(60) }),
      query: nothing,
      answers: { 200: Empty },
    },
    (request) => {
      const { context, body, at } = request;
      const projectId = param(request, "project_id");
      const owner = ownerNamed(context.store, body.owner);
      const project = required(`project ${projectId}`, context.store.projects.get(projectId));
      if (!isSameOwner(project.owner, owner)) moveProjects(context, [projectId], owner, at);
      return { status: 200, body: { project: projectId, owner: body.owner } };
    },
  ),
];
