import type { Step } from "./step.ts";
import type { List, View } from "./view.ts";

/** One rule of the plan: a step where it has something to say, else the next rule is asked. */
export type Rule = (view: View, list: List) => Step | undefined;
