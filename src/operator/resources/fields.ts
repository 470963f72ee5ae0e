import { z } from "zod";
import { endpointIdPattern, idPattern } from "../../api/ids.ts";

// Fields that several kinds share. Each schema becomes part of a CustomResourceDefinition: patterns are RE2, and each
// string has a largest length, without which the API server refuses CEL rules on it for their cost.

/** Any id of the service. */
export const id = z.string().max(60).regex(idPattern, "must be 1 to 60 of a-z, 0-9 and -");

export const endpointID = z
  .string()
  .max(60)
  .regex(endpointIdPattern, "must start with ep-, followed by a-z, 0-9 and -");

/** The name of another object: a DNS subdomain. */
export const objectName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, "must be a name of a Kubernetes object");

/** The name of a namespace: a DNS label. */
export const namespaceName = z
  .string()
  .max(63)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be the name of a namespace");

/** Fields that may be left out, each with its description. */
export const optionalText = (description: string) => z.string().optional().describe(description);
export const optionalNumber = (description: string) => z.number().optional().describe(description);
export const optionalInteger = (description: string) => z.int().optional().describe(description);
export const optionalFlag = (description: string) => z.boolean().optional().describe(description);

/** Of a status. */
export const observedGeneration = optionalInteger(
  "The generation of the spec that this status is about; -1 until the operator has seen the object.",
);

/**
 * A rule across fields, said twice: in CEL for the API server, which refuses a manifest at once, and in TypeScript
 * for commands that have no API server. Both answer with `message`; a test holds the two against each other.
 */
export interface Rule<T> {
  readonly cel: string;
  /** Says what is allowed. */
  readonly message: string;
  /** The same in TypeScript; absent for a rule about a change (`oldSelf`), which needs the API server. */
  readonly holds?: (value: T) => boolean;
}

/**
 * A rule for manifests as they are written, which the API server and the CLI check, and no reader of what is stored: an
 * object that is older than the rule must still be changed and let go.
 */
export interface WrittenRule<T> {
  readonly cel: string;
  readonly message: string;
  readonly written: (value: T) => boolean;
}

const isControl = (character: string) => character < " " || character === "\u007f";

/** True if a text holds a tab, a line break or another control character, which the service refuses. */
const isPrintable = (text: string) => !Array.from(text).some(isControl);

/** For a name at the service. */
export const printable: WrittenRule<string> = {
  cel: "!self.matches('[[:cntrl:]]')",
  message: "must not hold control characters, such as tabs and line breaks",
  written: isPrintable,
};

/** For a map of names and values. */
export const printableEntries: WrittenRule<Readonly<Record<string, string>>> = {
  cel: "self.all(name, !name.matches('[[:cntrl:]]') && !self[name].matches('[[:cntrl:]]'))",
  message: "names and values must not hold control characters, such as tabs and line breaks",
  written: (given) => Object.entries(given).flat().every(isPrintable),
};

/** The problem of a value as it is written, if it breaks the rule. */
export function brokenAt<T>(
  path: string[],
  value: T | undefined,
  { written, message }: WrittenRule<T>,
): { path: string[]; message: string }[] {
  return value === undefined || written(value) ? [] : [{ path, message }];
}

/** `schema` with `rules`, checked by zod and handed on to the CustomResourceDefinition. */
export function withRules<S extends z.ZodType>(
  schema: S,
  ...rules: (Rule<z.output<S>> | WrittenRule<z.output<S>>)[]
): S {
  let checked = schema;
  for (const rule of rules) {
    if ("holds" in rule && rule.holds) checked = checked.refine(rule.holds, { error: rule.message });
  }
  return checked.meta({
    "x-kubernetes-validations": rules.map(({ cel, message }) => ({ rule: cel, message })),
  });
}

/** The name of a branch at the service. */
export const branchNames = withRules(z.string().min(1).max(256), printable);

/** A union of objects with one member each: the API server, which sees one object with all, lets one be given. */
export function oneOf<const Members extends readonly z.ZodObject[]>(what: string, members: Members) {
  const names = members.flatMap(({ shape }) => Object.keys(shape));
  return z.union(members).meta({
    "x-kubernetes-validations": [
      {
        rule: `[${names.map((name) => `has(self.${name})`).join(", ")}].filter(given, given).size() == 1`,
        message: `${what} takes exactly one of ${names.join(", ").replace(/, (\w+)$/, " and $1")}`,
      },
    ],
  });
}

/** A field that keeps its first value; `instead` says what to do. A default, if any, must stand on the field itself. */
export function immutable(what: string, instead: string): Rule<unknown> {
  return { cel: "self == oldSelf", message: `${what} is immutable: ${instead}` };
}
