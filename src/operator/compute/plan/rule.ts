import type { List, View } from "../observe/view.ts";
import type { Step } from "../step.ts";

/** One rule of the plan: a step where it has something to say, else the next rule is asked. */
export type Rule = (view: View, list: List) => Step | undefined;
