import { changeEndpoint } from "../computes/change.ts";
import { type Changed, createEndpoint } from "../computes/create.ts";
import { deleteEndpoint, restartEndpoint, startEndpoint, suspendEndpoint } from "../computes/lifecycle.ts";
import { EndpointCreateBody, EndpointPatchBody } from "../computes/requests.ts";
import { endpointView, withOperations } from "../computes/view.ts";
import type { ServiceContext } from "../context.ts";
import { isOperator } from "../domain/managed.ts";
import { required } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";
import { branchPath, branchRoute, type OnBranch } from "./branch-route.ts";
import { nothing } from "./check.ts";
import { type Handled, noInput, param, projectRoute, type Route } from "./route.ts";
import { Rows } from "./rows.ts";
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
    ({ context, project }) => {
      const { text, keep } = context.store.endpointList(project.id);
      return { status: 200, body: text ?? listOf(context, project, context.store.endpoints.of(project.id)), keep };
    },
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
    ({ context, project, body, at }) =>
      changedAnswer(context, project, createEndpoint(context, project, body.endpoint, at), 201),
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
    ({ context, project, branch }) => ({
      status: 200,
      body: listOf(context, project, context.store.endpoints.on(branch.id)),
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
      const { context, project } = request;
      return { status: 200, body: { endpoint: endpointView(context, endpointOf(request), project.regionId) } };
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
      const { context, project, body, agent, at } = request;
      const changed = changeEndpoint(context, project, endpointOf(request), body.endpoint, at);
      if (isOperator(agent)) context.store.endpoints.noteOperator(changed.endpoint.id, at);
      return changedAnswer(context, project, changed, 200);
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
      const { context, project, at } = request;
      const endpoint = context.store.endpoints.get(project.id, param(request, "endpoint_id"));
      if (!endpoint) return { status: 204 };
      return changedAnswer(context, project, deleteEndpoint(context, endpoint, at), 200);
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
  act: (context: ServiceContext, endpoint: StoredEndpoint, at: number) => Changed,
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
      const { context, project, at } = request;
      return changedAnswer(context, project, act(context, endpointOf(request), at), 200);
    },
  );
}

function endpointOf(request: Omit<OnBranch, "branch">): StoredEndpoint {
  return required("endpoint", request.context.store.endpoints.get(request.project.id, param(request, "endpoint_id")));
}

function listOf(context: ServiceContext, { regionId }: Project, endpoints: Iterable<StoredEndpoint>) {
  return { endpoints: new Rows(endpoints, (endpoint) => endpointView(context, endpoint, regionId)) };
}

function changedAnswer(
  context: ServiceContext,
  project: Project,
  { endpoint, operations }: Changed,
  status: number,
): Handled {
  const shown = { endpoint: endpointView(context, endpoint, project.regionId) };
  return { status, body: withOperations(context, shown, operations) };
}
