import { z } from "zod";
import { withoutEmptyTexts } from "../computes/requests.ts";
import { refusals } from "../refusal.ts";
import { publicBody } from "./public-api.ts";

/** For a route without a body or without query parameters: whatever is sent is ignored. */
export const nothing = z.unknown();

/**
 * Refuses body fields that the public API does not know, by name; all known fields pass. An empty text counts as
 * omitted, whatever the OpenAPI file says about lengths and patterns; where it must not be empty, our own schema of the
 * call has refused it already.
 */
export function checkKnown(operationId: string, body: unknown): void {
  if (body !== undefined) check(publicBody(operationId), withoutEmptyTexts(body), "body");
}

/** The parsed value; otherwise a refusal that names every invalid field and what is allowed. */
export function check<Output>(schema: z.ZodType<Output>, value: unknown, where: "body" | "query"): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (value === undefined) throw refusals.invalid("the request needs a JSON body");
  throw refusals.invalid(`invalid request ${where}: ${result.error.issues.slice(0, 10).map(describe).join("; ")}`);
}

/** The longest text about one invalid field: a client chooses the names in it. */
const longestDescription = 300;

function describe(issue: z.core.$ZodIssue): string {
  const { path } = issue;
  const isMissing = issue.code === "invalid_type" && issue.message.endsWith("received undefined");
  const message = isMissing ? `required (${issue.expected})` : issue.message;
  const text = path.length === 0 ? message : `${path.join(".")}: ${message}`;
  return text.length > longestDescription ? `${text.slice(0, longestDescription).toWellFormed()}…` : text;
}
