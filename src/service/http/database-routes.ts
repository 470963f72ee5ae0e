import { z } from "zod";
import { operationView } from "../computes/view.ts";
import { DatabaseCreateBody, DatabasePatchBody } from "../domain/requests.ts";
import {
  changeDatabase,
  createDatabase,
  type DatabaseChange,
  deleteDatabase,
  type Place,
} from "../domain/roles-and-databases.ts";
import { databaseView } from "../projects/roles.ts";
import { refusals } from "../refusal.ts";
import type { BranchDatabase } from "../store/catalog.ts";
import { nothing } from "./check.ts";
import { type BranchRequest, placeOf } from "./place.ts";
import { type Handled, param, projectRoute, type Route } from "./route.ts";
import { DatabaseAndOperations, DatabaseOnly } from "./shapes.ts";

const databases = "/projects/{project_id}/branches/{branch_id}/databases";

/** The calls on the databases of a branch. */
export function databaseRoutes(): Route[] {
  return [
    projectRoute(
      "member",
      {
        method: "GET",
        path: databases,
        operationId: "listProjectBranchDatabases",
        summary: "The databases of a branch.",
        body: nothing,
        query: nothing,
        answers: { 200: z.looseObject({ databases: z.array(DatabaseOnly.shape.database) }) },
      },
      (request) => {
        const { world, branch } = placeOf(request);
        return { status: 200, body: { databases: world.catalog.databases(branch.id).map(databaseView) } };
      },
    ),
    projectRoute(
      "member",
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
        const place = placeOf(request);
        const { name, owner_name: ownerName } = request.body.database;
        return answer(place, createDatabase(place, { name, ownerName }), 201);
      },
    ),
    projectRoute(
      "member",
      {
        method: "GET",
        path: `${databases}/{database_name}`,
        operationId: "getProjectBranchDatabase",
        summary: "One database.",
        body: nothing,
        query: nothing,
        answers: { 200: DatabaseOnly },
      },
      (request) => ({ status: 200, body: { database: databaseView(databaseOf(placeOf(request), request)) } }),
    ),
    projectRoute(
      "member",
      {
        method: "PATCH",
        path: `${databases}/{database_name}`,
        operationId: "updateProjectBranchDatabase",
        summary: "Renames a database, or gives it another owner.",
        body: DatabasePatchBody,
        query: nothing,
        answers: { 200: DatabaseAndOperations },
      },
      (request) => {
        const place = placeOf(request);
        const { name, owner_name: ownerName } = request.body.database;
        return answer(place, changeDatabase(place, databaseOf(place, request), { name, ownerName }), 200);
      },
    ),
    projectRoute(
      "member",
      {
        method: "DELETE",
        path: `${databases}/{database_name}`,
        operationId: "deleteProjectBranchDatabase",
        summary: "Deletes a database; 204 where there is none.",
        body: nothing,
        query: nothing,
        answers: { 200: DatabaseAndOperations, 204: undefined },
      },
      (request) => {
        const place = placeOf(request);
        const database = place.world.catalog.database(place.branch.id, param(request, "database_name"));
        return database ? answer(place, deleteDatabase(place, database), 200) : { status: 204 };
      },
    ),
  ];
}

function databaseOf({ world, branch }: Place, request: BranchRequest): BranchDatabase {
  const database = world.catalog.database(branch.id, param(request, "database_name"));
  if (!database) throw refusals.notFound("database");
  return database;
}

function answer({ world }: Place, { database, operations }: DatabaseChange, status: number): Handled {
  return {
    status,
    body: {
      database: databaseView(database),
      operations: operations.map((operation) => operationView(world, operation)),
    },
  };
}
