import { z } from "zod";
import { withOperations } from "../computes/view.ts";
import type { ServiceContext } from "../context.ts";
import { databaseView } from "../domain/connection-view.ts";
import { DatabaseCreateBody, DatabasePatchBody } from "../domain/requests.ts";
import { changeDatabase, createDatabase, type DatabaseChange, deleteDatabase } from "../domain/roles-and-databases.ts";
import { required } from "../refusal.ts";
import type { BranchDatabase } from "../store/catalog.ts";
import { branchPath, branchRoute, type OnBranch } from "./branch-route.ts";
import { nothing } from "./check.ts";
import { type Handled, noInput, param, type Route } from "./route.ts";
import { Rows } from "./rows.ts";
import { DatabaseAndOperations, DatabaseOnly } from "./shapes.ts";

const databases = `${branchPath}/databases`;
const database = `${databases}/{database_name}`;

/** The calls on the databases of a branch. */
export const databaseRoutes: readonly Route[] = [
  branchRoute(
    {
      method: "GET",
      path: databases,
      operationId: "listProjectBranchDatabases",
      summary: "The databases of a branch.",
      ...noInput,
      answers: { 200: z.looseObject({ databases: z.array(DatabaseOnly.shape.database) }) },
    },
    ({ context, branch }) => ({
      status: 200,
      body: { databases: new Rows(context.catalog.databases(branch.id), databaseView) },
    }),
  ),
  branchRoute(
    {
      method: "POST",
      path: databases,
      operationId: "createProjectBranchDatabase",
      summary: "Creates a database.",
      body: DatabaseCreateBody,
      query: nothing,
      answers: { 201: DatabaseAndOperations },
    },
    (request) => {
      const { name, owner_name: ownerName } = request.body.database;
      return answer(request.context, createDatabase(request, { name, ownerName }), 201);
    },
  ),
  branchRoute(
    {
      method: "GET",
      path: database,
      operationId: "getProjectBranchDatabase",
      summary: "One database.",
      ...noInput,
      answers: { 200: DatabaseOnly },
    },
    (request) => ({ status: 200, body: { database: databaseView(databaseOf(request)) } }),
  ),
  branchRoute(
    {
      method: "PATCH",
      path: database,
      operationId: "updateProjectBranchDatabase",
      summary: "Renames a database, or gives it another owner.",
      body: DatabasePatchBody,
      query: nothing,
      answers: { 200: DatabaseAndOperations },
    },
    (request) => {
      const { name, owner_name: ownerName } = request.body.database;
      return answer(request.context, changeDatabase(request, databaseOf(request), { name, ownerName }), 200);
    },
  ),
  branchRoute(
    {
      method: "DELETE",
      path: database,
      operationId: "deleteProjectBranchDatabase",
      summary: "Deletes a database; 204 where there is none.",
      ...noInput,
      answers: { 200: DatabaseAndOperations, 204: undefined },
    },
    (request) => {
      const found = find(request);
      return found ? answer(request.context, deleteDatabase(request, found), 200) : { status: 204 };
    },
  ),
];

function find(request: OnBranch): BranchDatabase | undefined {
  return request.context.catalog.database(request.branch.id, param(request, "database_name"));
}

function databaseOf(request: OnBranch): BranchDatabase {
  return required("database", find(request));
}

function answer(context: ServiceContext, { database: changed, operations }: DatabaseChange, status: number): Handled {
  return { status, body: withOperations(context, { database: databaseView(changed) }, operations) };
}
