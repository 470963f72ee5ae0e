import { z } from "zod";

/** Every id of the service: up to 60 lower-case letters, digits and hyphens. */
export const idPattern = /^[a-z0-9-]{1,60}$/;

/** Ids of computes: as above, and always with the prefix `ep-`. */
export const endpointIdPattern = /^ep-[a-z0-9-]{1,57}$/;

/** Ids of computes as they are read: a service may invent others, but none with what means something in a URL. */
const readEndpointId = /^ep-[\w.~-]{1,125}$/;

/** The id of a compute that a service tells. */
export const EndpointId = z
  .string()
  .regex(readEndpointId, { error: "must be the id of a compute, which begins with ep-" });

/** Ids of branches: as above, and always with the prefix `br-`. */
export const branchIdPattern = /^br-[a-z0-9-]{1,57}$/;

/** An id that we send: of a project, a branch or an organization. */
export const Id = z.string().regex(idPattern, {
  error: "must be an id: 1 to 60 lower-case letters, digits and hyphens",
});

/** True if a text that somebody noted could be the id of a compute of any service. */
export function couldBeEndpointId(value: string): boolean {
  return readEndpointId.test(value);
}
