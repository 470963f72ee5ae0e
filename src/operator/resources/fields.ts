import { z } from "zod";
import { endpointIdPattern, idPattern } from "../../api/ids.ts";

// Fields that several kinds share. Each schema becomes part of a CustomResourceDefinition: patterns are RE2, and each
// string has a largest length, without which the API server refuses CEL rules on it for their cost.

/** Any id of the service. */
export const id = z.string().max(60).regex(idPattern, "must be 1 to 60 of a-z, 0-9 and -");

/** The id of an endpoint. */
export const endpointID = z
  .string()
  .max(60)
  .regex(endpointIdPattern, "must start with ep-, followed by a-z, 0-9 and -");

/** The name of another object: a DNS subdomain. */
export const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, "must be a name of a Kubernetes object");

/** Of a status. */
export const observedGeneration = z
  .int()
  .optional()
  .describe("The generation of the spec that this status is about; -1 until the operator has seen the object.");
