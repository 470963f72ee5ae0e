import { ApiKeyCreated } from "../../api/api-keys.ts";
import { param } from "../http/route.ts";
import { refusals } from "../refusal.ts";
import { sizeInWords, suspensionInWords } from "./labels.ts";
import { keptQuery } from "./pages/paging.ts";
import { branchPath, computePath } from "./pages/paths.ts";
import { computeApiPath, type Done, pathOf, type Visit } from "./visit.ts";

/** Changes what the person edited of a compute's size and scale to zero; answers the page to show next. */
export function changeCompute(visit: Visit): Done {
  const { context, form, query } = visit;
  const { endpoint_id: ofPage } = visit.params;
  const [projectId, branchId] = [param(visit, "project_id"), param(visit, "branch_id")];
  const endpointId = ofPage ?? form["compute"] ?? "";
  const [min, max, suspend] = (form["shown"] ?? "").split("/");
  const endpoint = {
    ...(form["min"] !== min && { autoscaling_limit_min_cu: numberIn(form["min"]) }),
    ...(form["max"] !== max && { autoscaling_limit_max_cu: numberIn(form["max"]) }),
    ...(form["suspend"] !== suspend && { suspend_timeout_seconds: numberIn(form["suspend"]) }),
  };
  visit.act("PATCH", computeApiPath(visit, endpointId), { endpoint });
  const after = context.store.endpoints.get(projectId, endpointId);
  const suspends = after && suspensionInWords(after.suspendTimeoutSeconds);
  const ofList = `${branchPath(projectId, branchId)}?${keptQuery(query)}#${endpointId}`;
  return {
    to: ofPage === undefined ? ofList : computePath(projectId, branchId, ofPage),
    ...(after && { notice: `${endpointId} has ${sizeInWords(after)}. Scale to zero: ${suspends}.` }),
  };
}

export function createPersonalKey(visit: Visit): Done {
  return keepSecret(visit, visit.act("POST", "/api_keys", { key_name: nameIn(visit) }).body);
}

export function createOrganizationKey(visit: Visit): Done {
  const { project } = visit.form;
  const body = { key_name: nameIn(visit), ...(project !== "" && { project_id: project }) };
  return keepSecret(visit, visit.act("POST", organizationKeys(visit), body).body);
}

export function revokePersonalKey(visit: Visit): Done {
  return revoke(visit, pathOf("api_keys", param(visit, "key_id")));
}

export function revokeOrganizationKey(visit: Visit): Done {
  return revoke(visit, `${organizationKeys(visit)}${pathOf(param(visit, "key_id"))}`);
}

function organizationKeys(visit: Visit): string {
  return pathOf("organizations", param(visit, "org_id"), "api_keys");
}

function keepSecret({ session }: Visit, answer: unknown): Done {
  const { name, key: secret } = ApiKeyCreated.parse(answer);
  session.created = { name, secret };
  return { to: "/app/keys" };
}

function revoke(visit: Visit, path: string): Done {
  visit.act("DELETE", path);
  return { to: "/app/keys", notice: "The key is revoked: requests with it fail from now on." };
}

function nameIn({ form }: Visit): string {
  const name = (form["name"] ?? "").trim();
  if (name === "") throw refusals.invalid("the key needs a name, so that you know it again");
  return name;
}

/** A number from a form field; anything else is refused by the API. */
function numberIn(text: string | undefined): number | undefined {
  return text === undefined || text.trim() === "" ? undefined : Number(text);
}
