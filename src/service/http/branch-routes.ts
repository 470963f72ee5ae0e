import { z } from "zod";
import { usageOfBranches } from "../computes/usage.ts";
import { endpointView, withOperations } from "../computes/view.ts";
import type { ServiceContext } from "../context.ts";
import { changeBranch, createBranch, deleteBranch, makeDefault } from "../domain/branches.ts";
import { connectionViews } from "../domain/connection-view.ts";
import type { CreatedBranch } from "../domain/creation.ts";
import { recoverBranch } from "../domain/recovery.ts";
import { BranchCreateBody, BranchPatchBody, BranchRestoreBody } from "../domain/requests.ts";
import { restoreBranch } from "../domain/restore.ts";
import { annotationView, branchView } from "../domain/view.ts";
import { required } from "../refusal.ts";
import type { BranchesWanted, ListedBranch } from "../store/branch-pages.ts";
import type { Branch } from "../store/branches.ts";
import type { StoredOperation } from "../store/operations.ts";
import type { Project } from "../store/projects.ts";
import { branchPath, branchRoute } from "./branch-route.ts";
import { nothing } from "./check.ts";
import { type Handled, noInput, param, projectRoute, type Route } from "./route.ts";
import { Rows } from "./rows.ts";
import { BranchAndOperations, BranchOnly, BranchPage, cursorAt, type Mark, markedPageOf, truth } from "./shapes.ts";

const branches = "/projects/{project_id}/branches";

/** The calls on branches. */
export const branchRoutes: readonly Route[] = [
  projectRoute(
    "member",
    {
      method: "GET",
      path: branches,
      operationId: "listProjectBranches",
      summary: "The branches of a project.",
      body: nothing,
      query: z.object({
        search: z.string().max(256).optional(),
        sort_by: z.enum(["name", "created_at", "updated_at"]).default("updated_at"),
        sort_order: z.enum(["asc", "desc"]).default("desc"),
        ...markedPageOf(10_000),
        include_deleted: truth,
      }),
      answers: { 200: BranchPage },
    },
    ({ context, project, query, at }) => {
      const { search = "", sort_by, sort_order, include_deleted: withDeleted, cursor: after, limit } = query;
      const wanted = { search, by: sort_by, descending: sort_order === "desc", after, withDeleted, limit: limit + 1 };
      const found = context.store.branchPages.page(project.id, wanted);
      const page = found.first(limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      const usageOf = usageOfBranches(context, project.id, at);
      const annotations = new Map<string, unknown>();
      const shown = (branch: ListedBranch) => {
        if (isAnnotated(branch)) annotations.set(branch.id, annotationView(branch));
        return branchView(context, branch, at, usageOf(branch));
      };
      return {
        status: 200,
        body: {
          // In this order: each row is read once, and the annotations are those of the branches shown.
          branches: new Rows(page, shown),
          annotations: new Rows(
            annotations,
            ([, annotation]) => annotation,
            ([id]) => id,
          ),
          pagination: { ...(last && { next: cursorAt(markOf(last, sort_by)) }), sort_by, sort_order },
        },
      };
    },
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: `${branches}/count`,
      operationId: "countProjectBranches",
      summary: "How many branches a project has.",
      body: nothing,
      query: z.object({ search: z.string().max(256).optional() }),
      answers: { 200: z.looseObject({ count: z.int() }) },
    },
    ({ context, project, query }) => ({
      status: 200,
      body: { count: context.store.branchPages.countWith(project.id, query.search ?? "") },
    }),
  ),
  projectRoute(
    "member",
    {
      method: "POST",
      path: branches,
      operationId: "createProjectBranch",
      summary: "Creates a branch, with the computes asked for.",
      body: BranchCreateBody.default({}),
      query: nothing,
      answers: { 201: BranchAndOperations },
    },
    ({ context, project, body, at }) => {
      const created = createBranch(context, project, body, at);
      const connections = connectionViews(context, project, created.branch, created.endpoints);
      return { status: 201, body: { ...createdAnswer(context, project, created, at), ...connections } };
    },
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: branchPath,
      operationId: "getProjectBranch",
      summary: "One branch, also a deleted one that can be recovered.",
      ...noInput,
      answers: { 200: BranchOnly },
    },
    ({ context, project, params, at }) => {
      const id = param({ params }, "branch_id");
      const deleted = context.store.branches.deleted(project.id, id);
      const branch = required("branch", deleted ?? context.store.branches.get(project.id, id));
      return { status: 200, body: { branch: branchView(context, branch, at), annotation: annotationView(branch) } };
    },
  ),
  branchRoute(
    {
      method: "PATCH",
      path: branchPath,
      operationId: "updateProjectBranch",
      summary: "Renames a branch, protects it, or says when it expires.",
      body: BranchPatchBody,
      query: nothing,
      answers: { 200: BranchAndOperations },
    },
    ({ context, project, branch, body, at }) =>
      answer(context, changeBranch(context, project, branch, body.branch, at), [], at),
  ),
  projectRoute(
    "member",
    {
      method: "DELETE",
      path: branchPath,
      operationId: "deleteProjectBranch",
      summary:
        "Deletes a branch with its computes; never the default branch, a protected one, nor one with children. 204 where there is none.",
      body: nothing,
      query: z.object({ hard_delete: truth }),
      answers: { 200: BranchAndOperations, 204: undefined },
    },
    ({ context, project, params, query, at }) => {
      const id = param({ params }, "branch_id");
      const branch = context.store.branches.get(project.id, id);
      if (!branch) {
        if (query.hard_delete && context.store.branches.deleted(project.id, id)) context.store.branches.delete(id);
        return { status: 204 };
      }
      const reply = answer(context, branch, [], at);
      deleteBranch(context, project, branch, { at, hard: query.hard_delete });
      return reply;
    },
  ),
  projectRoute(
    "member",
    {
      method: "POST",
      path: `${branchPath}/recover`,
      operationId: "recoverProjectBranch",
      summary: "Brings a deleted branch back, with its computes and without an end; only with --branch-recovery.",
      ...noInput,
      answers: { 200: BranchOnly },
    },
    ({ context, project, params, at }) => {
      const { branch, endpoints } = recoverBranch(context, project, param({ params }, "branch_id"), at);
      const computes = new Rows(endpoints, (endpoint) => endpointView(context, endpoint, project.regionId));
      return { status: 200, body: { branch: branchView(context, branch, at), endpoints: computes } };
    },
  ),
  branchRoute(
    {
      method: "POST",
      path: `${branchPath}/set_as_default`,
      operationId: "setDefaultProjectBranch",
      summary: "Makes a branch the default one of its project.",
      ...noInput,
      answers: { 200: BranchAndOperations },
    },
    ({ context, branch, at }) => answer(context, makeDefault(context, branch, at), [], at),
  ),
  branchRoute(
    {
      method: "POST",
      path: `${branchPath}/restore`,
      operationId: "restoreProjectBranch",
      summary: "Gives a branch the state of another one, or an earlier one of its own.",
      body: BranchRestoreBody,
      query: nothing,
      answers: { 200: BranchAndOperations },
    },
    ({ context, project, branch, body, at }) => {
      const restored = restoreBranch(context, project, branch, body, at);
      return answer(context, restored.branch, restored.operations, at);
    },
  ),
];

/** The place of a branch in lists. */
function markOf({ name, createdAt, updatedAt, seq }: Branch, by: BranchesWanted["by"]): Mark {
  return [{ name, created_at: createdAt, updated_at: updatedAt }[by], seq];
}

function isAnnotated({ details }: Branch): boolean {
  return Object.keys(details.annotations).length > 0;
}

function answer(context: ServiceContext, branch: Branch, operations: readonly StoredOperation[], at: number): Handled {
  return { status: 200, body: withOperations(context, { branch: branchView(context, branch, at) }, operations) };
}

/** A new branch with its computes and operations. */
export function createdAnswer(
  context: ServiceContext,
  project: Project,
  { branch, endpoints, operations }: CreatedBranch,
  at: number,
) {
  const computes = endpoints.map((endpoint) => endpointView(context, endpoint, project.regionId));
  return withOperations(context, { branch: branchView(context, branch, at), endpoints: computes }, operations);
}
