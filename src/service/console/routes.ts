import {
  changeCompute,
  createOrganizationKey,
  createPersonalKey,
  revokeOrganizationKey,
  revokePersonalKey,
} from "./changes.ts";
import { branchPage } from "./pages/branch.ts";
import { keysPage } from "./pages/keys.ts";
import { projectPage } from "./pages/project.ts";
import { projectsPage } from "./pages/projects.ts";
import type { ConsoleRoute, FormRoute } from "./visit.ts";

const branch = "/app/projects/{project_id}/branches/{branch_id}";

/** Everything that somebody who is signed in can open or send. */
export function consoleRoutes(): ConsoleRoute[] {
  return [
    { method: "GET", path: "/", show: projectsPage },
    { method: "GET", path: "/app/projects/{project_id}", show: projectPage },
    { method: "GET", path: branch, show: branchPage },
    { method: "POST", path: branch, submit: changeCompute, again: branchPage },
    { method: "GET", path: "/app/keys", show: keysPage },
    onKeys("/app/keys", createPersonalKey),
    onKeys("/app/keys/{key_id}/revoke", revokePersonalKey),
    onKeys("/app/organizations/{org_id}/keys", createOrganizationKey),
    onKeys("/app/organizations/{org_id}/keys/{key_id}/revoke", revokeOrganizationKey),
  ];
}

function onKeys(path: string, submit: FormRoute["submit"]): FormRoute {
  return { method: "POST", path, submit, again: keysPage };
}
