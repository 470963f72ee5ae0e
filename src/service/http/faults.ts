import { z } from "zod";
import type { Random } from "../clock.ts";
import { decoded } from "./router.ts";

const faultKinds = [
  "refuse",
  "drop-before",
  "drop-after",
  "423",
  "429",
  "500",
  "503",
  "html",
  "cut",
  "delay",
  "fail-operations",
] as const;

/** One rule: which requests are affected, how, and how often. */
export const Fault = z.strictObject({
  /** Default, and `*`: every method. */
  method: z.enum(["GET", "POST", "PATCH", "PUT", "DELETE", "*"]).default("*"),
  /** Below `/api/v2`: a template such as `/projects/{project_id}/endpoints`, a path, or `*` for every route. */
  route: z.string().min(1).max(300).default("*"),
  kind: z.enum(faultKinds),
  /** The share of the matching requests that is affected, 0 to 1. */
  rate: z.number().min(0).max(1).optional(),
  /** The number of requests after which the rule is used up. */
  count: z.int().min(0).optional(),
  /** The delay of the answer, in milliseconds; kinds other than `delay` may have one too. */
  ms: z.number().min(0).max(600_000).optional(),
  /** `Retry-After` of 423, 429 and 503, in seconds. */
  retryAfter: z.number().min(0).max(86_400).optional(),
});
export type Fault = z.infer<typeof Fault>;

/** The body of `PUT /_faults`. */
export const Faults = z.array(Fault).max(1000);

/** The current faults. */
export class FaultPlan {
  readonly #random: Random;
  #rules: { fault: Fault; parts: readonly string[]; left: number }[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  /** Replaces all rules; an empty list removes them. */
  set(faults: readonly Fault[]): void {
    this.#rules = faults.map((fault) => ({
      fault,
      parts: withoutPrefix(fault.route).split("/"),
      left: fault.count ?? Number.POSITIVE_INFINITY,
    }));
  }

  /** The fault for this request: the first matching rule that is not used up. */
  next(method: string, path: string): Fault | undefined {
    if (this.#rules.length === 0) return undefined;
    const given = decoded(withoutPrefix(path).split("/")) ?? [];
    for (const rule of this.#rules) {
      const { fault, parts } = rule;
      if (rule.left <= 0 || (fault.method !== "*" && fault.method !== method)) continue;
      if (fault.route !== "*" && !fits(parts, given)) continue;
      if (fault.rate !== undefined && this.#random() >= fault.rate) continue;
      rule.left -= 1;
      return fault;
    }
    return undefined;
  }
}

function withoutPrefix(path: string): string {
  return path.replace(/^\/api\/v2(?=\/|$)/, "");
}

function fits(template: readonly string[], given: readonly string[]): boolean {
  if (template.length !== given.length) return false;
  return template.every((part, index) => part === "*" || /^[{:]/.test(part) || part === given[index]);
}
