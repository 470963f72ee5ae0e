import { z } from "zod";
import { madeOnce } from "../made-once.ts";
import type { PublicOperation, PublicSchema } from "./public-operation.ts";
import { publicOperations } from "./public-operations.ts";

const byId = new Map(publicOperations.map((operation) => [operation.operationId, operation]));
const bodies = new Map<string, z.ZodType>();

export function publicOperation(operationId: string): PublicOperation | undefined {
  return byId.get(operationId);
}

/** The schema of an operation's body in the public API; anything is valid if it has no such operation. */
export function publicBody(operationId: string): z.ZodType {
  const schema = byId.get(operationId)?.body;
  return madeOnce(bodies, operationId, () => (schema ? z.fromJSONSchema(plain(schema)) : z.unknown()));
}

function plain(schema: PublicSchema): Parameters<typeof z.fromJSONSchema>[0] {
  return JSON.parse(JSON.stringify(schema));
}
