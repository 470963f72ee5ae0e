import { annotations, finalizers } from "../../src/operator/resources/names.ts";
import { untimelyAtRest } from "./judge-of-time.ts";
import { bears, type Service, type Write } from "./service.ts";
import type { World } from "./state.ts";
import { type Configuration, type Facts, type Kube, ourUID } from "./terms.ts";

// Written from the rules of design.md, section 6, and not from the operator's code.

/** Never twice, never lost, never leaked: the promise that this moment breaks. */
export function brokenBy(
  { facts, object }: World,
  service: Service,
  flying: readonly Write[],
  configuration: Configuration,
): string | undefined {
  if (facts.isExcused) return undefined;
  if (facts.bad !== undefined) return facts.bad;
  const own = ownOf(service, configuration);
  if (own.length > 1) return `never twice: ${own.map(({ id }) => `ep-${id}`).join(" and ")}`;
  const restarts = own.find((endpoint) => endpoint.restarts > (facts.asked ?? 0) + (facts.unanswered ?? 0));
  if (restarts !== undefined) return `restarted too often: ep-${restarts.id}`;
  if (object !== 0 || facts.isRetained) return undefined;
  if (own.length > 0) return `never leaked: ep-${own[0]?.id} stays, and its Compute is gone`;
  const late = flying.find(
    ({ method, body }) =>
      method === "POST" || (method === "PATCH" && JSON.stringify(body).includes(ourUID.replaceAll("-", ""))),
  );
  return late && `never leaked: a ${late.method} is on its way, and its Compute is gone`;
}

/** Why all is not well where nothing happens any more. */
export function stuckBy(
  { facts, phase }: World,
  object: Kube | undefined,
  service: Service,
  configuration: Configuration,
): string | undefined {
  if (facts.isExcused || object === undefined) return undefined;
  const { metadata, spec, status } = object;
  // A Compute of a shard that no process reconciles.
  if (Number(metadata.labels?.["shard"] ?? 0) >= configuration.shards) return undefined;
  if (metadata.deletionTimestamp !== undefined) return "the Compute is not let go";
  if (configuration.phases.length > 1) return untimelyAtRest({ phase, facts }, object, service, configuration);
  const own = ownOf(service, configuration);
  const [endpoint] = own;
  const reason = status.conditions?.find(({ type }) => type === "Ready")?.reason;
  const linked = metadata.annotations?.[annotations.endpointID];
  // A link that somebody typed is kept as declared.
  if (endpoint === undefined && service.endpoints.some(({ id }) => `ep-${id}` === linked)) return undefined;
  // A primary that is not ours stands on the branch.
  if (
    endpoint === undefined &&
    reason === "PrimaryExists" &&
    service.endpoints.some(({ branch }) => branch === spec.branchID)
  )
    return undefined;
  if (endpoint === undefined) return `there is no endpoint (${reason})`;
  if (!(metadata.finalizers ?? []).includes(finalizers.endpoint)) return "the finalizer is missing";
  const id = `ep-${endpoint.id}`;
  if (linked !== id) return `${id} is not linked (${reason})`;
  if (status["endpointID"] !== id) return `the status names ${String(status["endpointID"])} (${reason})`;
  if (endpoint.branch !== spec.branchID && !(facts.isMeddledWith && reason === "MovedOutside"))
    return `${id} is on ${endpoint.branch} (${reason})`;
  if ((endpoint.disabled === true) !== (spec.disabled === true))
    return `${id} is ${endpoint.disabled ? "" : "not "}disabled (${reason})`;
  if (configuration.isRecordless && configuration.recordOf(object) !== undefined)
    return `a record is left: ${JSON.stringify(configuration.recordOf(object))}`;
  const asked = metadata.annotations?.[annotations.restartedAt];
  if (asked !== undefined && status["restartedAt"] !== asked) return `the restart ${asked} is not reported (${reason})`;
  if (endpoint.branch === spec.branchID && reason !== "Active" && reason !== "Disabled") return `it shows ${reason}`;
  return undefined;
}

/** Endpoints that bear our signature, or that the Compute made where no name shows. */
function ownOf({ endpoints }: Service, { adopted }: Configuration): Service["endpoints"] {
  return endpoints.filter((endpoint) => bears(endpoint, ourUID) || endpoint.id === adopted);
}

/** A write that no promise allows, as it is carried out. */
export function forbidden(
  { method, id, baseURL }: Write,
  service: Service,
  object: Kube | undefined,
  facts: Facts,
  configuration: Configuration,
): string | undefined {
  if (facts.isExcused || method === "POST") return undefined;
  const target = service.endpoints.find((endpoint) => endpoint.at === baseURL && `ep-${endpoint.id}` === id);
  if (target === undefined || method !== "DELETE") return undefined;
  const own = ownOf(service, configuration);
  if (!own.includes(target)) return `never a stranger's: DELETE ${id}`;
  if (object !== undefined && object.metadata.deletionTimestamp === undefined && own.length === 1)
    return `never lost: DELETE ${id}, the only one`;
  return undefined;
}
