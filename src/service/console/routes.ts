import {
  changeCompute,
  createOrganizationKey,
  createPersonalKey,
  revokeOrganizationKey,
  revokePersonalKey,
} from "./changes.ts";
import {
  createBranch,
  createCompute,
  createProject,
  deleteBranch,
  deleteCompute,
  disableCompute,
  enableCompute,
  endBranch,
  moveCompute,
  resetBranch,
  restartCompute,
  startCompute,
  suspendCompute,
} from "./lifecycle.ts";
import { branchPage } from "./pages/branch.ts";
import { computePage, showCompute } from "./pages/compute.ts";
import { computesPage } from "./pages/computes.ts";
import { homePage } from "./pages/home.ts";
import { keysPage } from "./pages/keys.ts";
import { operationsPage } from "./pages/operations.ts";
import { projectPage } from "./pages/project.ts";
import { projectsPage } from "./pages/projects.ts";
import { askQuery, queryPage } from "./pages/query.ts";
import { rolesPage } from "./pages/roles.ts";
import { createDatabase, createRole, deleteDatabase, deleteRole, resetRole } from "./roles-and-databases.ts";
import type { ConsoleRoute, FormRoute } from "./visit.ts";

const branch = "/app/projects/{project_id}/branches/{branch_id}";

const compute = `${branch}/computes/{endpoint_id}`;

/** All pages and forms for a signed-in person. */
export function consoleRoutes(): ConsoleRoute[] {
  return [
    { method: "GET", path: "/", live: true, show: homePage },
    { method: "GET", path: "/app/projects", live: true, show: projectsPage },
    { method: "POST", path: "/app/projects", submit: createProject, again: projectsPage },
    { method: "GET", path: "/app/computes", live: true, show: computesPage },
    { method: "GET", path: "/app/projects/{project_id}", live: true, show: projectPage },
    { method: "GET", path: branch, live: true, show: branchPage },
    { method: "POST", path: branch, submit: changeCompute, again: branchPage },
    { method: "POST", path: `${branch}/computes`, submit: createCompute, again: branchPage },
    { method: "POST", path: `${branch}/end`, submit: endBranch, again: branchPage },
    { method: "POST", path: `${branch}/reset`, submit: resetBranch, again: branchPage },
    { method: "POST", path: `${branch}/delete`, submit: deleteBranch, again: branchPage },
    { method: "GET", path: `${branch}/roles`, live: true, show: rolesPage },
    { method: "GET", path: `${branch}/query`, live: false, show: queryPage },
    { method: "POST", path: `${branch}/query`, ask: askQuery, again: queryPage },
    onRoles("roles", createRole),
    onRoles("roles/reset", resetRole),
    onRoles("roles/delete", deleteRole),
    onRoles("databases", createDatabase),
    onRoles("databases/delete", deleteDatabase),
    { method: "GET", path: compute, live: true, show: showCompute },
    { method: "POST", path: compute, submit: changeCompute, again: computePage },
    onCompute("start", startCompute),
    onCompute("suspend", suspendCompute),
    onCompute("restart", restartCompute),
    onCompute("enable", enableCompute),
    onCompute("disable", disableCompute),
    onCompute("move", moveCompute),
    onCompute("delete", deleteCompute),
    { method: "POST", path: "/app/projects/{project_id}/branches", submit: createBranch, again: projectPage },
    { method: "GET", path: "/app/projects/{project_id}/operations", live: true, show: operationsPage },
    { method: "GET", path: "/app/keys", live: false, show: keysPage },
    onKeys("/app/keys", createPersonalKey),
    onKeys("/app/keys/{key_id}/revoke", revokePersonalKey),
    onKeys("/app/organizations/{org_id}/keys", createOrganizationKey),
    onKeys("/app/organizations/{org_id}/keys/{key_id}/revoke", revokeOrganizationKey),
  ];
}

function onCompute(verb: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path: `${compute}/${verb}`, submit, again: computePage };
}

function onRoles(path: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path: `${branch}/${path}`, submit, again: rolesPage };
}

function onKeys(path: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path, submit, again: keysPage };
}
