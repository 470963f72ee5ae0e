import type { z } from "zod";

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

/** `schema` with `rules`, checked by zod and handed on to the CustomResourceDefinition. */
export function withRules<S extends z.ZodType>(schema: S, ...rules: Rule<z.output<S>>[]): S {
  let checked = schema;
  for (const { holds, message } of rules) {
    if (holds) checked = checked.refine(holds, { error: message });
  }
  return checked.meta({
    "x-kubernetes-validations": rules.map(({ cel, message }) => ({ rule: cel, message })),
  });
}

/** A field that keeps its first value; `instead` says what to do. A default, if any, must stand on the field itself. */
export function immutable(what: string, instead: string): Rule<unknown> {
  return { cel: "self == oldSelf", message: `${what} is immutable: ${instead}` };
}
