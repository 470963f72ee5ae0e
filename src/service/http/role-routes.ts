import { z } from "zod";
import { withOperations } from "../computes/view.ts";
import type { ServiceContext } from "../context.ts";
import { roleView, roleWithPasswordView } from "../domain/connection-view.ts";
import { RoleCreateBody } from "../domain/requests.ts";
import {
  createRole,
  deleteRole,
  type RoleChange,
  resetPassword,
  revealedPassword,
} from "../domain/roles-and-databases.ts";
import { required } from "../refusal.ts";
import type { Role } from "../store/catalog.ts";
import { branchPath, branchRoute, type OnBranch } from "./branch-route.ts";
import { nothing } from "./check.ts";
import { type Handled, noInput, param, type Route } from "./route.ts";
import { Rows } from "./rows.ts";
import { RoleAndOperations, RoleOnly } from "./shapes.ts";

const roles = `${branchPath}/roles`;
const role = `${roles}/{role_name}`;

/** The calls on the roles of a branch. */
export const roleRoutes: readonly Route[] = [
  branchRoute(
    {
      method: "GET",
      path: roles,
      operationId: "listProjectBranchRoles",
      summary: "The roles of a branch.",
      ...noInput,
      answers: { 200: z.looseObject({ roles: z.array(RoleOnly.shape.role) }) },
    },
    ({ context, branch }) => ({ status: 200, body: { roles: new Rows(context.catalog.roles(branch.id), roleView) } }),
  ),
  branchRoute(
    {
      method: "POST",
      path: roles,
      operationId: "createProjectBranchRole",
      summary: "Creates a role and shows its password.",
      body: RoleCreateBody,
      query: nothing,
      answers: { 201: RoleAndOperations },
    },
    (request) => {
      const { name, no_login = false } = request.body.role;
      return answerWithPassword(request.context, createRole(request, { name, login: !no_login }), 201);
    },
  ),
  branchRoute(
    {
      method: "GET",
      path: role,
      operationId: "getProjectBranchRole",
      summary: "One role.",
      ...noInput,
      answers: { 200: RoleOnly },
    },
    (request) => ({ status: 200, body: { role: roleView(roleOf(request)) } }),
  ),
  branchRoute(
    {
      method: "DELETE",
      path: role,
      operationId: "deleteProjectBranchRole",
      summary: "Deletes a role that owns no database; 204 where there is none.",
      ...noInput,
      answers: { 200: RoleAndOperations, 204: undefined },
    },
    (request) => {
      const found = find(request);
      if (!found) return { status: 204 };
      const { operations } = deleteRole(request, found);
      return { status: 200, body: withOperations(request.context, { role: roleView(found) }, operations) };
    },
  ),
  branchRoute(
    {
      method: "GET",
      path: `${role}/reveal_password`,
      operationId: "getProjectBranchRolePassword",
      summary: "The password of a role; 412 where the project does not store passwords.",
      ...noInput,
      answers: { 200: z.looseObject({ password: z.string() }) },
    },
    (request) => ({ status: 200, body: { password: revealedPassword(request, roleOf(request)) } }),
  ),
  branchRoute(
    {
      method: "POST",
      path: `${role}/reset_password`,
      operationId: "resetProjectBranchRolePassword",
      summary: "Gives a role another password and shows it.",
      ...noInput,
      answers: { 200: RoleAndOperations },
    },
    (request) => answerWithPassword(request.context, resetPassword(request, roleOf(request)), 200),
  ),
];

function find(request: OnBranch): Role | undefined {
  return request.context.catalog.role(request.branch.id, param(request, "role_name"));
}

function roleOf(request: OnBranch): Role {
  return required("role", find(request));
}

function answerWithPassword(context: ServiceContext, changed: RoleChange, status: number): Handled {
  const shown = { role: roleWithPasswordView(context, changed.role) };
  return { status, body: withOperations(context, shown, changed.operations) };
}
