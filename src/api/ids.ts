import { z } from "zod";

/** Every id of the service: up to 60 lower-case letters, digits and hyphens. */
export const idPattern = /^[a-z0-9-]{1,60}$/;

/** Ids of computes: as above, and always with the prefix `ep-`. */
export const endpointIdPattern = /^ep-[a-z0-9-]{1,57}$/;

/** Ids of branches: as above, and always with the prefix `br-`. */
export const branchIdPattern = /^br-[a-z0-9-]{1,57}$/;

/** An id that we send: of a project, a branch or an organization. */
export const Id = z.string().regex(idPattern, {
  error: "must be an id: 1 to 60 lower-case letters, digits and hyphens",
});

export function isId(value: string): boolean {
  return idPattern.test(value);
}

export function isEndpointId(value: string): boolean {
  return endpointIdPattern.test(value);
}
