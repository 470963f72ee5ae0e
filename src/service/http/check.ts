import { z } from "zod";
import { refusals } from "../refusal.ts";
import { publicBody } from "./public-api.ts";

/** For a route that takes no body, or no query parameters: what comes all the same is not looked at. */
export const nothing = z.unknown();

/**
 * Refuses what the public API does not know of a call's body, with its name; everything that it knows passes. It takes
 * an empty text for one that was left out, whatever its OpenAPI file says of lengths and patterns; where that must not
 * be, our own schema of the call has refused it before.
 */
export function checkKnown(operationId: string, body: unknown): void {
  if (body !== undefined) check(publicBody(operationId), withoutEmptyTexts(body, 3), "body");
}

/** To a depth that the fields of the public API do not reach: what a client nests is its own affair. */
function withoutEmptyTexts(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== "");
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutEmptyTexts(field, depth - 1)]));
}

/** The value as the schema has it; where it does not fit, a refusal that names every field and what it allows. */
export function check<Output>(schema: z.ZodType<Output>, value: unknown, where: "body" | "query"): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (value === undefined) throw refusals.invalid("the request needs a JSON body");
  throw refusals.invalid(`invalid request ${where}: ${result.error.issues.slice(0, 10).map(describe).join("; ")}`);
}

function describe({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join(".")}: ${message}`;
}
