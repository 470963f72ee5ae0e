import { z } from "zod";
import { operationView, operationViews } from "../computes/view.ts";
import { required } from "../refusal.ts";
import { nothing } from "./check.ts";
import { noInput, param, projectRoute, type Route } from "./route.ts";
import { cursorAfter, OperationOnly, OperationPage, pageOf } from "./shapes.ts";

/** The calls on operations. */
export const operationRoutes: readonly Route[] = [
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}/operations",
      operationId: "listProjectOperations",
      summary: "The operations of a project, newest first.",
      body: nothing,
      query: z.object(pageOf(1000)),
      answers: { 200: OperationPage },
    },
    ({ context, project, query: { cursor, limit } }) => {
      const operations = context.store.operations.page(project.id, { beforeSeq: cursor, limit });
      return { status: 200, body: { operations: operationViews(context, operations), ...cursorAfter(operations) } };
    },
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}/operations/{operation_id}",
      operationId: "getProjectOperation",
      summary: "One operation.",
      ...noInput,
      answers: { 200: OperationOnly },
    },
    (request) => {
      const { context, project } = request;
      const operation = required("operation", context.store.operations.get(project.id, param(request, "operation_id")));
      return { status: 200, body: { operation: operationView(context, operation) } };
    },
  ),
];
