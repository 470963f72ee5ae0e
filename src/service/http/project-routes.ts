import { z } from "zod";
import { Id } from "../../api/ids.ts";
import { ProjectCreate, ProjectPatch, projectsPerPage } from "../../api/project.ts";
import { type Caller, rightIn, visibleOwners } from "../accounts/caller.ts";
import { endpointView, operationView } from "../computes/view.ts";
import { createProject } from "../projects/create.ts";
import { connectionUri, connectionViews } from "../projects/roles.ts";
import { branchView, projectListView, projectView } from "../projects/view.ts";
import { refusals } from "../refusal.ts";
import type { Owner } from "../store/projects.ts";
import type { World } from "../world.ts";
import { nothing } from "./check.ts";
import { anyKeyRoute, projectRoute, type Route } from "./route.ts";
import { Cursor, ProjectOnly, ProjectPage, truth, Uri, wholeNumber } from "./shapes.ts";

/** The calls on projects. */
export function projectRoutes(): Route[] {
  return [
    anyKeyRoute(
      {
        method: "GET",
        path: "/projects",
        operationId: "listProjects",
        summary: "The projects that the key reaches, oldest first.",
        body: nothing,
        query: z.object({
          cursor: Cursor.optional(),
          limit: wholeNumber(1, projectsPerPage.max, projectsPerPage.default),
          search: z.string().max(256).optional(),
          org_id: Id.optional(),
        }),
        answers: { 200: ProjectPage },
        specified: true,
      },
      ({ world, caller, query, at }) => ({ status: 200, body: projectPage(world, caller, query, at) }),
    ),
    anyKeyRoute(
      {
        method: "POST",
        path: "/projects",
        operationId: "createProject",
        summary: "Creates a project with its default branch and the primary compute of that.",
        body: ProjectCreate,
        query: nothing,
        answers: { 201: ProjectOnly },
      },
      ({ world, caller, body: { project: wanted }, at }) => {
        const owner = newOwner(world, caller, wanted.org_id);
        const created = createProject(
          world,
          owner,
          {
            name: wanted.name,
            regionId: wanted.region_id,
            pgVersion: wanted.pg_version,
            branchName: wanted.branch?.name,
          },
          at,
        );
        const { project, branch, endpoints, operations } = created;
        return {
          status: 201,
          body: {
            project: projectView(world, project, at),
            branch: branchView(branch),
            endpoints: endpoints.map((endpoint) => endpointView(world, endpoint, project.regionId)),
            operations: operations.map((operation) => operationView(world, operation)),
            ...connectionViews(world, project, branch, endpoints),
          },
        };
      },
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: "/projects/{project_id}",
        operationId: "getProject",
        summary: "One project.",
        body: nothing,
        query: nothing,
        answers: { 200: ProjectOnly },
      },
      ({ world, project, at }) => ({ status: 200, body: { project: projectView(world, project, at) } }),
    ),
    projectRoute(
      "member",
      {
        method: "PATCH",
        path: "/projects/{project_id}",
        operationId: "updateProject",
        summary: "Renames a project.",
        body: ProjectPatch,
        query: nothing,
        answers: { 200: ProjectOnly },
      },
      ({ world, project, body, at }) => {
        const { name } = body.project;
        if (name !== undefined && name !== project.name) world.store.projects.rename(project.id, name, at);
        const renamed = world.store.projects.get(project.id) ?? project;
        return { status: 200, body: { project: projectView(world, renamed, at), operations: [] } };
      },
    ),
    projectRoute(
      "admin",
      {
        method: "DELETE",
        path: "/projects/{project_id}",
        operationId: "deleteProject",
        summary: "Deletes a project with all that belongs to it.",
        body: nothing,
        query: nothing,
        answers: { 200: ProjectOnly },
      },
      ({ world, project, at }) => {
        if (world.store.operations.anyUnfinished(project.id)) throw refusals.projectBusy();
        const body = { project: projectView(world, project, at) };
        world.store.keys.revokeScopedTo(project.id, at);
        world.store.deleteProject(project.id);
        return { status: 200, body };
      },
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
      ({ world, project, query }) => {
        const { branches, endpoints } = world.store;
        const branch =
          query.branch_id === undefined ? branches.default(project.id) : branches.get(project.id, query.branch_id);
        if (!branch) throw refusals.notFound("branch");
        const endpoint =
          query.endpoint_id === undefined
            ? endpoints.primaryOf(branch.id)
            : endpoints.get(project.id, query.endpoint_id);
        if (!endpoint) throw refusals.notFound("endpoint");
        const { database_name: database, role_name: role, pooled } = query;
        return {
          status: 200,
          body: { uri: connectionUri(world, project, endpoint, { database, role, pooled }) },
        };
      },
    ),
  ];
}

function projectPage(
  world: World,
  caller: Caller,
  query: { cursor?: number | undefined; limit: number; search?: string | undefined; org_id?: string | undefined },
  at: number,
) {
  const { store, options } = world;
  if (query.org_id !== undefined && !options.strictSpec) {
    const owner: Owner = { kind: "organization", id: query.org_id };
    if (!rightIn(store, caller, owner)) throw refusals.notFound("organization");
  }
  const owners = visibleOwners(store, caller).filter(
    ({ kind, id }) =>
      options.strictSpec || query.org_id === undefined || (kind === "organization" && id === query.org_id),
  );
  const { scope } = caller;
  const all = options.strictSpec || scope.kind === "project";
  const page = store.projects
    .list({
      owners,
      search: options.strictSpec ? undefined : query.search,
      afterSeq: options.strictSpec ? undefined : query.cursor,
      limit: all ? Number.MAX_SAFE_INTEGER : query.limit,
    })
    .filter(({ id }) => scope.kind !== "project" || id === scope.projectId);
  const last = page.at(-1);
  return {
    projects: page.map((project) => projectListView(world, project, at)),
    ...(!options.strictSpec && { applications: {}, integrations: {} }),
    ...(last && !options.strictSpec && { pagination: { cursor: String(last.seq) } }),
  };
}

/** Whom a new project belongs to. */
function newOwner(world: World, caller: Caller, organizationId: string | undefined): Owner {
  const { scope } = caller;
  if (scope.kind === "project") throw refusals.outsideScope(scope.projectId);
  if (scope.kind === "personal" && organizationId === undefined) return { kind: "account", id: scope.accountId };
  const owner: Owner = { kind: "organization", id: organizationId ?? visibleOwners(world.store, caller)[0]?.id ?? "" };
  if (!rightIn(world.store, caller, owner)) throw refusals.notFound("organization");
  return owner;
}
