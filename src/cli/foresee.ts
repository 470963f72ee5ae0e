import type { Operation } from "../api/operation.ts";
import { plan } from "../operator/compute/plan.ts";
import type { Step } from "../operator/compute/step.ts";
import { isOnPaper, type OnPaper, onPaper } from "./on-paper.ts";
import { leftToOperator } from "./running-operator.ts";
import type { Survey, Tracked } from "./survey.ts";

/** What is to be done at the service next, and whether an endpoint was taken over on the way there. */
export interface Foreseen {
  step: Exclude<Step, OnPaper>;
  adopted: boolean;
}

/** Plans as the operator would, pass by pass, until a step concerns the service or nothing more is to be done. */
export function foresee(survey: Survey, tracked: Tracked, recent?: readonly Operation[]): Foreseen {
  let adopted = false;
  for (;;) {
    const view = survey.view(tracked, recent);
    const step = plan(view);
    if (!isOnPaper(step)) return { step: leftToOperator(step, view), adopted };
    adopted ||= step.step === "link" && step.news === "adopted";
    survey.update(tracked, onPaper(step, tracked.compute));
  }
}
