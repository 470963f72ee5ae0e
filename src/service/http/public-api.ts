import { z } from "zod";
import { publicOperations } from "./public-operations.ts";

/** The part of JSON Schema that the table of the public API uses. */
export interface PublicSchema {
  type?: string | readonly string[];
  enum?: readonly unknown[];
  properties?: Readonly<Record<string, PublicSchema>>;
  required?: readonly string[];
  items?: PublicSchema;
  additionalProperties?: boolean | PublicSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

/** One operation of the public API. */
export interface PublicOperation {
  method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Below `/api/v2`, with parameters in braces. */
  path: string;
  operationId: string;
  /** Names of the query parameters. */
  query?: readonly string[];
  /** Absent if the operation takes no JSON body. */
  body?: PublicSchema;
}

const byId = new Map(publicOperations.map((operation) => [operation.operationId, operation]));
const bodies = new Map<string, z.ZodType>();

export function publicOperation(operationId: string): PublicOperation | undefined {
  return byId.get(operationId);
}

/** The schema of an operation's body in the public API; anything is valid if it has no such operation. */
export function publicBody(operationId: string): z.ZodType {
  const known = bodies.get(operationId);
  if (known) return known;
  const schema = byId.get(operationId)?.body;
  const made = schema ? z.fromJSONSchema(plain(schema)) : z.unknown();
  bodies.set(operationId, made);
  return made;
}

function plain(schema: PublicSchema): Parameters<typeof z.fromJSONSchema>[0] {
  return JSON.parse(JSON.stringify(schema));
}
