import type { EndpointSnapshot, PlanInput } from "../observe/plan-input.ts";
import type { Action } from "./action.ts";

/** One rule of the plan: a step where it has something to say, else the next rule is asked. */
export type Rule = (view: PlanInput, list: EndpointSnapshot) => Action | undefined;
