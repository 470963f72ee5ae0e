import type { ClusterResponse } from "../../../src/operator/kube/transport.ts";
import type { JsonObject } from "./objects.ts";
import type { Resource } from "./resources.ts";

/** A refusal of the API server, with the status and reason that the real one gives. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly code: number;
  readonly reason: string | undefined;
  readonly details: JsonObject;

  constructor(code: number, reason: string | undefined, message: string, details: JsonObject = {}) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  toStatus(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      ...(this.reason === undefined ? {} : { reason: this.reason }),
      details: this.details,
      code: this.code,
    };
  }

  toResponse(): ClusterResponse {
    return { status: this.code, body: this.toStatus() };
  }
}

/** `computes.compute-operator.dev`, as messages and CRD names spell a resource. */
export function qualified(resource: Resource): string {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

function about(resource: Resource, name: string): JsonObject {
  return { name, ...(resource.group === "" ? {} : { group: resource.group }), kind: resource.plural };
}

export const refuse = {
  noRoute: () => new Refusal(404, "NotFound", "the server could not find the requested resource"),
  notFound: (resource: Resource, name: string) =>
    new Refusal(404, "NotFound", `${qualified(resource)} "${name}" not found`, about(resource, name)),
  exists: (resource: Resource, name: string) =>
    new Refusal(409, "AlreadyExists", `${qualified(resource)} "${name}" already exists`, about(resource, name)),
  modified: (resource: Resource, name: string) =>
    new Refusal(
      409,
      "Conflict",
      `Operation cannot be fulfilled on ${qualified(resource)} "${name}": the object has been modified; please apply your changes to the latest version and try again`,
      about(resource, name),
    ),
  precondition: (resource: Resource, name: string, what: string, wanted: string, found: string) =>
    new Refusal(
      409,
      "Conflict",
      `Operation cannot be fulfilled on ${qualified(resource)} "${name}": Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
      about(resource, name),
    ),
  invalid: (resource: Resource, name: string, causes: readonly string[]) =>
    new Refusal(
      422,
      "Invalid",
      `${resource.kind}${resource.group === "" ? "" : `.${resource.group}`} "${name}" is invalid: ${
        causes.length === 1 ? causes[0] : `[${causes.join(", ")}]`
      }`,
      { ...about(resource, name), kind: resource.kind, causes: causes.map((message) => ({ message })) },
    ),
  /** A JSON Patch whose `test` failed, or whose path does not exist. */
  patchFailed: () => new Refusal(422, "Invalid", "the server rejected our request due to an error in our request"),
  bad: (message: string) => new Refusal(400, "BadRequest", message),
  forbidden: (resource: Resource, name: string, why: string, details: JsonObject = {}) =>
    new Refusal(403, "Forbidden", `${qualified(resource)} "${name}" is forbidden: ${why}`, {
      ...about(resource, name),
      ...details,
    }),
  expired: (message: string) => new Refusal(410, "Expired", message),
};
