import type { ServiceOptions } from "../options.ts";
import { accountRoutes } from "./account-routes.ts";
import { branchRoutes } from "./branch-routes.ts";
import { databaseRoutes } from "./database-routes.ts";
import { endpointRoutes } from "./endpoint-routes.ts";
import { keyRoutes } from "./key-routes.ts";
import { memberRoutes } from "./member-routes.ts";
import { operationRoutes } from "./operation-routes.ts";
import { projectRoutes } from "./project-routes.ts";
import { publicOperations } from "./public-operations.ts";
import { roleRoutes } from "./role-routes.ts";
import { type Route, unservedRoute } from "./route.ts";
import { schemaRoutes } from "./schema-routes.ts";

/**
 * Every route below `/api/v2`. With `strictSpec` only the six calls that the specification shows: list projects, and
 * list, create, change, delete and restart computes.
 */
export function apiRoutes({ strictSpec }: Pick<ServiceOptions, "strictSpec">): readonly Route[] {
  return strictSpec ? routes.filter(({ specified }) => specified === true) : routes;
}

/** Routes of the public API that are not served; their answers differ from those of unknown routes. */
export function unservedRoutes({ strictSpec }: Pick<ServiceOptions, "strictSpec">): readonly Route[] {
  return strictSpec ? [] : unserved;
}

/** Created once for all services of a process, because it takes longer than most calls. */
const routes: readonly Route[] = [
  ...accountRoutes,
  ...keyRoutes,
  ...memberRoutes,
  ...projectRoutes,
  ...branchRoutes,
  ...roleRoutes,
  ...databaseRoutes,
  ...schemaRoutes,
  ...endpointRoutes,
  ...operationRoutes,
];
const served = new Set(routes.map(({ operationId }) => operationId));
const unserved = publicOperations.filter(({ operationId }) => !served.has(operationId)).map(unservedRoute);
