import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { ClusterRequest } from "../../../src/operator/kube/transport.ts";
import { Refusal } from "./refusal.ts";
import { partsOf } from "./route.ts";
import type { ApiFront } from "./transport.ts";

const shipped = new URL("../../../deploy/base/shared/rbac/", import.meta.url);

const role = z.object({
  kind: z.enum(["Role", "ClusterRole"]),
  metadata: z.object({ name: z.string() }),
  rules: z.array(
    z.object({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) }),
  ),
});

/** Everything that the roles of deploy/ allow the operator, as `patch compute-operator.dev computes/status`. */
const granted = new Set(
  readdirSync(shipped)
    .filter((file) => /^(operator|secrets|cluster-connections|definitions|leader-election)\.yaml$/.test(file))
    .flatMap((file) => parseAllDocuments(readFileSync(new URL(file, shipped), "utf8")))
    .map((document) => role.safeParse(document.toJS()))
    .flatMap(({ data }) => data?.rules ?? [])
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group} ${resource}`)),
      ),
    ),
);

const verbs = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" } as const;

/** The API server as the operator meets it: what the roles that we ship do not allow is refused with 403. */
export function underShippedRights(server: ApiFront): ApiFront {
  const refused = (verb: string, path: string) => {
    const { group, plural, subresource } = partsOf(path);
    const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
    if (granted.has(`${verb} ${group} ${resource}`)) return undefined;
    return new Refusal(
      403,
      "Forbidden",
      `the operator cannot ${verb} ${resource} in API group "${group}"`,
    ).toResponse();
  };
  const verbOf = ({ method, path }: ClusterRequest) => {
    if (method !== "GET") return verbs[method];
    return partsOf(path).name === undefined ? "list" : "get";
  };
  return {
    store: server.store,
    handle: (request, asOf) => refused(verbOf(request), request.path) ?? server.handle(request, asOf),
    watch: (path, query, sink) => refused("watch", path) ?? server.watch(path, query, sink),
  };
}
