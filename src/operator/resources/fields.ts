import { z } from "zod";

/** Fields that several kinds share. Each schema becomes part of a CustomResourceDefinition: patterns are RE2. */

/** Every id of the service. */
const ID_PATTERN = /^[a-z0-9-]{1,60}$/;

export const id = z.string().min(1).max(60).regex(ID_PATTERN, "must be 1 to 60 of a-z, 0-9 and -");

export const endpointID = z
  .string()
  .max(60)
  .regex(/^ep-[a-z0-9-]{1,57}$/, "must start with ep-, followed by a-z, 0-9 and -");

/** The name of another object: a DNS subdomain. */
export const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, "must be a name of a Kubernetes object");
