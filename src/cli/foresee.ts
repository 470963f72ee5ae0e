import type { Operation } from "../api/operation.ts";
import { createdProof } from "../operator/compute/link.ts";
import { plan } from "../operator/compute/plan.ts";
import type { Step } from "../operator/compute/step.ts";
import type { Compute } from "../operator/resources/compute.ts";
import { annotations, finalizers } from "../operator/resources/names.ts";
import type { Survey, Tracked } from "./survey.ts";

/** The steps that only a cluster sees: they are carried out on paper. */
type OnPaper = Extract<Step, { step: "link" | "unmark" | "restarted" }>;

/** What is to be done at the service next, and whether an endpoint was taken over on the way there. */
export interface Foreseen {
  step: Exclude<Step, OnPaper>;
  adopted: boolean;
}

/** Plans as the operator would, pass by pass, until a step concerns the service or nothing more is to be done. */
export function foresee(survey: Survey, tracked: Tracked, recent?: readonly Operation[]): Foreseen {
  let adopted = false;
  for (;;) {
    const step = plan(survey.view(tracked, recent));
    if (step.step !== "link" && step.step !== "unmark" && step.step !== "restarted") return { step, adopted };
    adopted ||= step.step === "link" && step.news === "adopted";
    survey.update(tracked, onPaper(step, tracked.compute));
  }
}

/** The Compute as the operator's patch would leave it. */
function onPaper(step: OnPaper, compute: Compute): Compute {
  switch (step.step) {
    case "link": {
      const { endpointID, proof } = step;
      const proved =
        proof === "created" ? { [annotations.createdEndpoint]: createdProof(compute.metadata.uid, endpointID) } : {};
      const linked = annotated(compute, { [annotations.endpointID]: endpointID, ...proved }, annotations.pendingCreate);
      return { ...linked, metadata: { ...linked.metadata, finalizers: guarded(compute) } };
    }
    case "unmark":
      return annotated(compute, {}, annotations[step.mark]);
    case "restarted":
      return annotated(
        { ...compute, status: { ...compute.status, restartedAt: step.value } },
        {},
        annotations.pendingRestart,
      );
  }
}

/** The Compute with annotations set, and one taken away. */
export function annotated(compute: Compute, set: Record<string, string>, remove?: string): Compute {
  const all = { ...compute.metadata.annotations, ...set };
  const kept = Object.fromEntries(Object.entries(all).filter(([name]) => name !== remove));
  return { ...compute, metadata: { ...compute.metadata, annotations: kept } };
}

/** Its finalizers with the one that guards the endpoint. */
export function guarded({ metadata }: Compute): string[] {
  return [...new Set([...(metadata.finalizers ?? []), finalizers.endpoint])];
}
