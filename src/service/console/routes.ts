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
import type { ConsoleRoute, FormRoute, PageOfForm } from "./visit.ts";

const branch = "/app/projects/{project_id}/branches/{branch_id}";

const compute = `${branch}/computes/{endpoint_id}`;

const projects: PageOfForm = { path: "/app/projects", show: projectsPage };
const ofProject: PageOfForm = { path: "/app/projects/{project_id}", show: projectPage };
const ofBranch: PageOfForm = { path: branch, show: branchPage };
const roles: PageOfForm = { path: `${branch}/roles`, show: rolesPage };
const query: PageOfForm = { path: `${branch}/query`, show: queryPage };
const ofCompute: PageOfForm = { path: compute, show: computePage };
const ofKeys: PageOfForm = { path: "/app/keys", show: keysPage };

/** All pages and forms for a signed-in person. */
export function consoleRoutes(): ConsoleRoute[] {
  return [
    { method: "GET", path: "/", live: true, show: homePage },
    { method: "GET", live: true, ...projects },
    { method: "POST", path: "/app/projects", submit: createProject, again: projects },
    { method: "GET", path: "/app/computes", live: true, show: computesPage },
    { method: "GET", live: true, ...ofProject },
    { method: "GET", live: true, ...ofBranch },
    { method: "POST", path: branch, submit: changeCompute, again: ofBranch },
    { method: "POST", path: `${branch}/computes`, submit: createCompute, again: ofBranch },
    { method: "POST", path: `${branch}/end`, submit: endBranch, again: ofBranch },
    { method: "POST", path: `${branch}/reset`, submit: resetBranch, again: ofBranch },
    { method: "POST", path: `${branch}/delete`, submit: deleteBranch, again: ofBranch },
    { method: "GET", live: true, ...roles },
    { method: "GET", live: false, ...query },
    { method: "POST", path: `${branch}/query`, ask: askQuery, again: query },
    onRoles("roles", createRole),
    onRoles("roles/reset", resetRole),
    onRoles("roles/delete", deleteRole),
    onRoles("databases", createDatabase),
    onRoles("databases/delete", deleteDatabase),
    { method: "GET", path: compute, live: true, show: showCompute },
    { method: "POST", path: compute, submit: changeCompute, again: ofCompute },
    onCompute("start", startCompute),
    onCompute("suspend", suspendCompute),
    onCompute("restart", restartCompute),
    onCompute("enable", enableCompute),
    onCompute("disable", disableCompute),
    onCompute("move", moveCompute),
    onCompute("delete", deleteCompute),
    { method: "POST", path: "/app/projects/{project_id}/branches", submit: createBranch, again: ofProject },
    { method: "GET", path: "/app/projects/{project_id}/operations", live: true, show: operationsPage },
    { method: "GET", live: false, ...ofKeys },
    onKeys("/app/keys", createPersonalKey),
    onKeys("/app/keys/{key_id}/revoke", revokePersonalKey),
    onKeys("/app/organizations/{org_id}/keys", createOrganizationKey),
    onKeys("/app/organizations/{org_id}/keys/{key_id}/revoke", revokeOrganizationKey),
  ];
}

function onCompute(verb: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path: `${compute}/${verb}`, submit, again: ofCompute };
}

function onRoles(path: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path: `${branch}/${path}`, submit, again: roles };
}

function onKeys(path: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path, submit, again: ofKeys };
}
