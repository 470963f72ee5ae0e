import { changeEndpoint } from "../computes/change.ts";
import { type Changed, createEndpoint } from "../computes/create.ts";
import { deleteEndpoint, restartEndpoint, startEndpoint, suspendEndpoint } from "../computes/lifecycle.ts";
import { endpointView, operationView } from "../computes/view.ts";
import { EndpointCreateBody, EndpointPatchBody } from "../domain/requests.ts";
import { refusals } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";
import type { World } from "../world.ts";
import { branchPath, branchRoute } from "./branch-route.ts";
import { nothing } from "./check.ts";
import { type Handled, noInput, param, projectRoute, type Route } from "./route.ts";
import { EndpointAndOperations, EndpointList, EndpointOnly } from "./shapes.ts";

/** The calls on computes, which the API calls endpoints. */
export const endpointRoutes: readonly Route[] = [
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}/endpoints",
      operationId: "listProjectEndpoints",
      summary: "All computes of a project.",
      ...noInput,
      answers: { 200: EndpointList },
      specified: true,
    },
    ({ world, project }) => ({
      status: 200,
      json: world.store.endpointList(project.id, () => listOf(world, project, world.store.endpoints.list(project.id))),
    }),
  ),
  projectRoute(
    "member",
    {
      method: "POST",
      path: "/projects/{project_id}/endpoints",
      operationId: "createProjectEndpoint",
      summary: "Creates a compute on a branch and starts it.",
      body: EndpointCreateBody,
      query: nothing,
      answers: { 201: EndpointAndOperations },
      specified: true,
    },
    ({ world, project, body, at }) =>
      changedAnswer(world, project, createEndpoint(world, project, body.endpoint, at), 201),
  ),
  branchRoute(
    {
      method: "GET",
      path: `${branchPath}/endpoints`,
      operationId: "listProjectBranchEndpoints",
      summary: "All computes of a branch.",
      ...noInput,
      answers: { 200: EndpointList },
    },
    ({ world, project, branch }) => ({
      status: 200,
      json: listOf(world, project, world.store.endpoints.ofBranch(branch.id)),
    }),
  ),
  projectRoute(
    "member",
    {
      method: "GET",
      path: "/projects/{project_id}/endpoints/{endpoint_id}",
      operationId: "getProjectEndpoint",
      summary: "One compute.",
      ...noInput,
      answers: { 200: EndpointOnly },
    },
    (request) => {
      const { world, project } = request;
      return { status: 200, body: { endpoint: endpointView(world, endpointOf(request), project.regionId) } };
    },
  ),
  projectRoute(
    "member",
    {
      method: "PATCH",
      path: "/projects/{project_id}/endpoints/{endpoint_id}",
      operationId: "updateProjectEndpoint",
      summary: "Changes a compute; another branch_id moves it.",
      body: EndpointPatchBody,
      query: nothing,
      answers: { 200: EndpointAndOperations },
      specified: true,
    },
    (request) => {
      const { world, project, body, at } = request;
      const changed = changeEndpoint(world, project, endpointOf(request), body.endpoint, at);
      return changedAnswer(world, project, changed, 200);
    },
  ),
  projectRoute(
    "member",
    {
      method: "DELETE",
      path: "/projects/{project_id}/endpoints/{endpoint_id}",
      operationId: "deleteProjectEndpoint",
      summary: "Deletes a compute; 204 where there is none.",
      ...noInput,
      answers: { 200: EndpointAndOperations, 204: undefined },
      specified: true,
    },
    (request) => {
      const { world, project, at } = request;
      const endpoint = world.store.endpoints.get(project.id, param(request, "endpoint_id"));
      if (!endpoint) return { status: 204 };
      return changedAnswer(world, project, deleteEndpoint(world, endpoint, at), 200);
    },
  ),
  lifecycleRoute("start", "startProjectEndpoint", "Starts an idle compute.", startEndpoint),
  lifecycleRoute("suspend", "suspendProjectEndpoint", "Suspends a running compute.", suspendEndpoint),
  lifecycleRoute("restart", "restartProjectEndpoint", "Restarts a compute.", restartEndpoint),
];

function lifecycleRoute(
  verb: "start" | "suspend" | "restart",
  operationId: string,
  summary: string,
  act: (world: World, endpoint: StoredEndpoint, at: number) => Changed,
): Route {
  return projectRoute(
    "member",
    {
      method: "POST",
      path: `/projects/{project_id}/endpoints/{endpoint_id}/${verb}`,
      operationId,
      summary,
      ...noInput,
      answers: { 200: EndpointAndOperations },
      specified: verb === "restart",
    },
    (request) => {
      const { world, project, at } = request;
      return changedAnswer(world, project, act(world, endpointOf(request), at), 200);
    },
  );
}

function endpointOf(request: {
  world: World;
  project: Project;
  params: Readonly<Record<string, string>>;
}): StoredEndpoint {
  const endpoint = request.world.store.endpoints.get(request.project.id, param(request, "endpoint_id"));
  if (!endpoint) throw refusals.notFound("endpoint");
  return endpoint;
}

function listOf(world: World, project: Project, endpoints: readonly StoredEndpoint[]): string {
  return JSON.stringify({ endpoints: endpoints.map((endpoint) => endpointView(world, endpoint, project.regionId)) });
}

function changedAnswer(world: World, project: Project, { endpoint, operations }: Changed, status: number): Handled {
  return {
    status,
    body: {
      endpoint: endpointView(world, endpoint, project.regionId),
      operations: operations.map((operation) => operationView(world, operation)),
    },
  };
}
