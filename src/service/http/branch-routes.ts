import { z } from "zod";
import { BranchCreate } from "../../api/branch.ts";
import { endpointView, operationView } from "../computes/view.ts";
import { type CreatedBranch, createBranch, deleteBranch } from "../projects/create.ts";
import { connectionViews, databaseView, roleView } from "../projects/roles.ts";
import { branchView } from "../projects/view.ts";
import { refusals } from "../refusal.ts";
import type { Branch, Project } from "../store/projects.ts";
import type { World } from "../world.ts";
import { nothing } from "./check.ts";
import { param, projectRoute, type Route } from "./route.ts";
import { BranchAndOperations, BranchOnly, BranchPage, Cursor, wholeNumber } from "./shapes.ts";

/** The calls on branches. */
export function branchRoutes(): Route[] {
  return [
    projectRoute(
      "member",
      {
        method: "GET",
        path: "/projects/{project_id}/branches",
        operationId: "listProjectBranches",
        summary: "The branches of a project.",
        body: nothing,
        query: z.object({
          search: z.string().max(256).optional(),
          sort_by: z.enum(["name", "created_at", "updated_at"]).default("updated_at"),
          sort_order: z.enum(["asc", "desc"]).default("desc"),
          cursor: Cursor.optional(),
          limit: wholeNumber(1, 10_000, 10_000),
        }),
        answers: { 200: BranchPage },
      },
      ({ world, project, query }) => {
        const { search = "", cursor = 0, limit, sort_by, sort_order } = query;
        const found = world.store.branches
          .list(project.id)
          .filter(({ id, name }) => name.toLowerCase().includes(search.toLowerCase()) || id.includes(search))
          .toSorted(orders[sort_by]);
        if (sort_order === "desc") found.reverse();
        const page = found.slice(cursor, cursor + limit);
        const next = cursor + page.length;
        return {
          status: 200,
          body: {
            branches: page.map(branchView),
            annotations: {},
            pagination: { ...(next < found.length && { next: String(next) }), sort_by, sort_order },
          },
        };
      },
    ),
    projectRoute(
      "member",
      {
        method: "POST",
        path: "/projects/{project_id}/branches",
        operationId: "createProjectBranch",
        summary: "Creates a branch, with the computes asked for.",
        body: BranchCreate.default({}),
        query: nothing,
        answers: { 201: BranchAndOperations },
      },
      ({ world, project, body, at }) => {
        const created = createBranch(world, project, body, at);
        const connections = connectionViews(world, project, created.branch, created.endpoints);
        return { status: 201, body: { ...branchAnswer(world, project, created), ...connections } };
      },
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: "/projects/{project_id}/branches/{branch_id}",
        operationId: "getProjectBranch",
        summary: "One branch.",
        body: nothing,
        query: nothing,
        answers: { 200: BranchOnly },
      },
      (request) => {
        const branch = branchView(branchOf(request));
        const annotation = { object: { type: "console/branch", id: branch.id }, value: {} };
        return { status: 200, body: { branch, annotation } };
      },
    ),
    projectRoute(
      "member",
      {
        method: "DELETE",
        path: "/projects/{project_id}/branches/{branch_id}",
        operationId: "deleteProjectBranch",
        summary: "Deletes a branch with its computes; never the default branch, nor one with children.",
        body: nothing,
        query: nothing,
        answers: { 200: BranchAndOperations },
      },
      (request) => {
        const { world, project, at } = request;
        const { branch } = deleteBranch(world, project, branchOf(request), at);
        return { status: 200, body: { branch: branchView(branch), operations: [] } };
      },
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: "/projects/{project_id}/branches/{branch_id}/roles",
        operationId: "listProjectBranchRoles",
        summary: "The roles of a branch.",
        body: nothing,
        query: nothing,
        answers: { 200: z.looseObject({ roles: z.array(z.looseObject({ name: z.string() })) }) },
      },
      (request) => ({ status: 200, body: { roles: [roleView(branchOf(request))] } }),
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: "/projects/{project_id}/branches/{branch_id}/databases",
        operationId: "listProjectBranchDatabases",
        summary: "The databases of a branch.",
        body: nothing,
        query: nothing,
        answers: { 200: z.looseObject({ databases: z.array(z.looseObject({ name: z.string() })) }) },
      },
      (request) => ({ status: 200, body: { databases: [databaseView(branchOf(request))] } }),
    ),
  ];
}

const orders = {
  name: (one: Branch, other: Branch) => one.name.localeCompare(other.name) || one.seq - other.seq,
  created_at: (one: Branch, other: Branch) => one.createdAt - other.createdAt || one.seq - other.seq,
  updated_at: (one: Branch, other: Branch) => one.updatedAt - other.updatedAt || one.seq - other.seq,
} as const;

function branchOf(request: { world: World; project: Project; params: Readonly<Record<string, string>> }): Branch {
  const branch = request.world.store.branches.get(request.project.id, param(request, "branch_id"));
  if (!branch) throw refusals.notFound("branch");
  return branch;
}

function branchAnswer(world: World, project: Project, { branch, endpoints, operations }: CreatedBranch) {
  return {
    branch: branchView(branch),
    endpoints: endpoints.map((endpoint) => endpointView(world, endpoint, project.regionId)),
    operations: operations.map((operation) => operationView(world, operation)),
  };
}
