import { z } from "zod";
import { Id } from "../../api/ids.ts";
import { projectsPerPage } from "../../api/project.ts";
import { type Caller, newOwnerFor, permissionFor, rightIn, visibleOwners } from "../accounts/caller.ts";
import { refuseWhileBusy } from "../computes/lock.ts";
import { refuseProtected } from "../computes/protection.ts";
import { usageOfProjects } from "../computes/usage.ts";
import { withOperations } from "../computes/view.ts";
import type { ServiceContext } from "../context.ts";
import { connectionUri, connectionViews } from "../domain/connection-view.ts";
import { changeProject, createProject } from "../domain/projects.ts";
import { ProjectCreateBody, ProjectPatchBody } from "../domain/requests.ts";
import { projectListView, projectView } from "../domain/view.ts";
import { refusals, required } from "../refusal.ts";
import type { Owner, Project } from "../store/projects.ts";
import { createdAnswer } from "./branch-routes.ts";
import { nothing } from "./check.ts";
import { anyKeyRoute, noInput, projectRoute, type Route } from "./route.ts";
import { cursorAfter, ProjectOnly, ProjectPage, pageOf, truth, Uri } from "./shapes.ts";

/** The calls on projects. */
export const projectRoutes: readonly Route[] = [
  anyKeyRoute(
    {
      method: "GET",
      path: "/projects",
      operationId: "listProjects",
      summary: "The projects that the key reaches, oldest first.",
      body: nothing,
      query: z.object({
        ...pageOf(projectsPerPage.max, projectsPerPage.default),
        search: z.string().max(256).optional(),
        org_id: Id.optional(),
      }),
      answers: { 200: ProjectPage },
      specified: true,
    },
    ({ context, caller, query, at }) => ({ status: 200, body: projectPage(context, caller, query, at) }),
  ),
  anyKeyRoute(
    {
      method: "POST",
      path: "/projects",
      operationId: "createProject",
      summary: "Creates a project with its default branch and the primary compute of that.",
      body: ProjectCreateBody,
      query: nothing,
      answers: { 201: ProjectOnly },
    },
    ({ context, caller, body: { project: wanted }, at }) => {
      const owner = newOwner(context, caller, wanted.org_id);
      const { project, ...created } = createProject(context, owner, wanted, at);
      const connections = connectionViews(context, project, created.branch, created.endpoints);
      const shown = { project: projectShown(context, caller, project, at) };
      const body = { ...shown, ...createdAnswer(context, project, created, at) };
      return { status: 201, body: { ...body, ...connections } };
    },
  ),
  anyKeyRoute(
    {
      method: "GET",
      path: "/projects/shared",
      operationId: "listSharedProjects",
      summary: "The projects that others have shared with the account: there is no sharing here, so none.",
      ...noInput,
      answers: { 200: ProjectPage },
    },
    () => ({ status: 200, body: { projects: [] } }),
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}",
      operationId: "getProject",
      summary: "One project.",
      ...noInput,
      answers: { 200: ProjectOnly },
    },
    ({ context, project, caller, at }) => ({
      status: 200,
      body: { project: projectShown(context, caller, project, at) },
    }),
  ),
  projectRoute(
    "member",
    {
      method: "PATCH",
      path: "/projects/{project_id}",
      operationId: "updateProject",
      summary: "Changes a project's name, settings and defaults.",
      body: ProjectPatchBody,
      query: nothing,
      answers: { 200: ProjectOnly },
    },
    ({ context, project, caller, body, at }) => {
      const changed = changeProject(context, project, body.project, at);
      const shown = { project: projectShown(context, caller, changed.project, at) };
      return { status: 200, body: withOperations(context, shown, changed.operations) };
    },
  ),
  projectRoute(
    "admin",
    {
      method: "DELETE",
      path: "/projects/{project_id}",
      operationId: "deleteProject",
      summary: "Deletes a project with all that belongs to it.",
      ...noInput,
      answers: { 200: ProjectOnly },
    },
    ({ context, project, caller, at }) => {
      const isProtected = context.store.branches.count(project.id, "protected") > 0;
      refuseProtected({ isProtected }, "a project with a protected branch cannot be deleted");
      refuseWhileBusy(context, project.id);
      const body = { project: projectShown(context, caller, project, at) };
      context.store.keys.revokeScopedTo([project.id], at);
      context.store.deleteProject(project.id);
      return { status: 200, body };
    },
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}/permissions",
      operationId: "listProjectPermissions",
      summary: "Whom a project is shared with: there is no sharing here, so nobody.",
      ...noInput,
      answers: { 200: z.looseObject({ project_permissions: z.array(z.unknown()) }) },
    },
    () => ({ status: 200, body: { project_permissions: [] } }),
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}/connection_uri",
      operationId: "getConnectionURI",
      summary: "What a client connects with.",
      body: nothing,
      query: z.object({
        database_name: z.string().min(1).max(63),
        role_name: z.string().min(1).max(63),
        branch_id: Id.optional(),
        endpoint_id: Id.optional(),
        pooled: truth,
      }),
      answers: { 200: Uri },
    },
    ({ context, project, query }) => {
      const { branches, endpoints } = context.store;
      const { branch_id, endpoint_id, database_name: database, pooled } = query;
      const branch = required(
        "branch",
        branch_id === undefined ? branches.default(project.id) : branches.get(project.id, branch_id),
      );
      const endpoint = required(
        "endpoint",
        endpoint_id === undefined ? endpoints.primaryOf(branch.id) : endpoints.get(project.id, endpoint_id),
      );
      if (branch_id !== undefined && endpoint.branchId !== branch.id) throw refusals.notFound("endpoint");
      const role = required("role", context.catalog.role(endpoint.branchId, query.role_name));
      required("database", context.catalog.database(endpoint.branchId, database));
      // A password that is not stored shows where it was made or reset alone, as with reveal_password.
      const shows = project.details.store_passwords;
      return {
        status: 200,
        body: { uri: connectionUri(context, project, endpoint, { database, role, pooled, shows }) },
      };
    },
  ),
];

function projectPage(
  context: ServiceContext,
  caller: Caller,
  query: { cursor?: number | undefined; limit: number; search?: string | undefined; org_id?: string | undefined },
  at: number,
) {
  const { store, options } = context;
  if (query.org_id !== undefined && !options.strictSpec) {
    const owner: Owner = { kind: "organization", id: query.org_id };
    if (!rightIn(store, caller, owner)) throw refusals.notFound("organization");
  }
  if (options.rules.listsByOrganization && caller.scope.kind === "personal" && query.org_id === undefined) {
    throw refusals.organizationNeeded();
  }
  const owners = visibleOwners(store, caller).filter(
    ({ kind, id }) =>
      options.strictSpec || query.org_id === undefined || (kind === "organization" && id === query.org_id),
  );
  const { scope } = caller;
  const page = store.projects.list({
    owners,
    search: options.strictSpec ? undefined : query.search,
    afterSeq: options.strictSpec ? undefined : query.cursor,
    // Of thousands that the organization may have, none but this is read.
    id: scope.kind === "project" ? scope.projectId : undefined,
    limit: options.strictSpec ? Number.MAX_SAFE_INTEGER : query.limit,
  });
  const ids = page.map(({ id }) => id);
  const usageOf = usageOfProjects(context, ids, at);
  return {
    projects: page.map((project) => ({
      ...projectListView(context, project, usageOf(project)),
      ...permissionView(context, caller, project),
    })),
    ...(!options.strictSpec && { applications: {}, integrations: {} }),
    ...(!options.strictSpec && cursorAfter(page)),
  };
}

/** A project in the answer of any call on it alone. */
function projectShown(context: ServiceContext, caller: Caller, project: Project, at: number) {
  return { ...projectView(context, project, at), ...permissionView(context, caller, project) };
}

/** The caller's permission in a project of an organization; keys that are nobody's own have none. */
function permissionView({ store, options }: ServiceContext, caller: Caller, { owner }: Project) {
  if (!options.rules.showsPermissions || caller.scope.kind !== "personal" || owner.kind === "account") return {};
  const right = rightIn(store, caller, owner);
  return right && { effective_project_permission: permissionFor(right) };
}

/** Whom a new project belongs to. */
function newOwner(context: ServiceContext, caller: Caller, organizationId: string | undefined): Owner {
  const { scope } = caller;
  if (scope.kind === "project") throw refusals.outsideScope(scope.projectId);
  if (scope.kind === "personal" && organizationId === undefined) return { kind: "account", id: scope.accountId };
  return newOwnerFor(context.store, caller, organizationId ?? visibleOwners(context.store, caller)[0]?.id ?? "");
}
