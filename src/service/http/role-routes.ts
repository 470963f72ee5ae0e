import { z } from "zod";
import { operationView } from "../computes/view.ts";
import { RoleCreateBody } from "../domain/requests.ts";
import {
  createRole,
  deleteRole,
  type Place,
  type RoleChange,
  resetPassword,
  revealedPassword,
} from "../domain/roles-and-databases.ts";
import { roleView, roleWithPasswordView } from "../projects/roles.ts";
import { refusals } from "../refusal.ts";
import type { Role } from "../store/catalog.ts";
import { nothing } from "./check.ts";
import { type BranchRequest, placeOf } from "./place.ts";
import { type Handled, param, projectRoute, type Route } from "./route.ts";
import { RoleAndOperations, RoleOnly } from "./shapes.ts";

const roles = "/projects/{project_id}/branches/{branch_id}/roles";

/** The calls on the roles of a branch. */
export function roleRoutes(): Route[] {
  return [
    projectRoute(
      "member",
      {
        method: "GET",
        path: roles,
        operationId: "listProjectBranchRoles",
        summary: "The roles of a branch.",
        body: nothing,
        query: nothing,
        answers: { 200: z.looseObject({ roles: z.array(RoleOnly.shape.role) }) },
      },
      (request) => {
        const { world, branch } = placeOf(request);
        return { status: 200, body: { roles: world.catalog.roles(branch.id).map(roleView) } };
      },
    ),
    projectRoute(
      "member",
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
        const place = placeOf(request);
        const { name, no_login = false } = request.body.role;
        return answerWithPassword(place, createRole(place, { name, login: !no_login }), 201);
      },
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: `${roles}/{role_name}`,
        operationId: "getProjectBranchRole",
        summary: "One role.",
        body: nothing,
        query: nothing,
        answers: { 200: RoleOnly },
      },
      (request) => ({ status: 200, body: { role: roleView(roleOf(placeOf(request), request)) } }),
    ),
    projectRoute(
      "member",
      {
        method: "DELETE",
        path: `${roles}/{role_name}`,
        operationId: "deleteProjectBranchRole",
        summary: "Deletes a role that owns no database; 204 where there is none.",
        body: nothing,
        query: nothing,
        answers: { 200: RoleAndOperations, 204: undefined },
      },
      (request) => {
        const place = placeOf(request);
        const role = place.world.catalog.role(place.branch.id, param(request, "role_name"));
        if (!role) return { status: 204 };
        const changed = deleteRole(place, role);
        return { status: 200, body: { role: roleView(role), operations: operationsOf(place, changed) } };
      },
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: `${roles}/{role_name}/reveal_password`,
        operationId: "getProjectBranchRolePassword",
        summary: "The password of a role; 412 where the project does not store passwords.",
        body: nothing,
        query: nothing,
        answers: { 200: z.looseObject({ password: z.string() }) },
      },
      (request) => {
        const place = placeOf(request);
        return { status: 200, body: { password: revealedPassword(place, roleOf(place, request)) } };
      },
    ),
    projectRoute(
      "member",
      {
        method: "POST",
        path: `${roles}/{role_name}/reset_password`,
        operationId: "resetProjectBranchRolePassword",
        summary: "Gives a role another password and shows it.",
        body: nothing,
        query: nothing,
        answers: { 200: RoleAndOperations },
      },
      (request) => {
        const place = placeOf(request);
        return answerWithPassword(place, resetPassword(place, roleOf(place, request)), 200);
      },
    ),
  ];
}

function roleOf({ world, branch }: Place, request: BranchRequest): Role {
  const role = world.catalog.role(branch.id, param(request, "role_name"));
  if (!role) throw refusals.notFound("role");
  return role;
}

function answerWithPassword(place: Place, changed: RoleChange, status: number): Handled {
  const role = roleWithPasswordView(place.world, changed.role);
  return { status, body: { role, operations: operationsOf(place, changed) } };
}

function operationsOf({ world }: Place, { operations }: RoleChange) {
  return operations.map((operation) => operationView(world, operation));
}
