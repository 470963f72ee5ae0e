import { z } from "zod";

/** A condition as in metav1.Condition: one truth about an object, why, and since when. */
const condition = z.object({
  type: z.string().describe("What the condition is about, for example Ready."),
  status: z.string().describe("True, False or Unknown."),
  reason: z.string().describe("Why, in one word that programs can rely on."),
  message: z.string().describe("Why, in a sentence for a person: what happened, what comes next and what to do."),
  lastTransitionTime: z.string().describe("When the status last changed (RFC 3339)."),
  observedGeneration: z.int().optional().describe("The generation of the spec that the condition is about."),
});

export type Condition = z.output<typeof condition>;

/** The list of conditions of a status, merged by type. */
export const conditions = z.array(condition).meta({
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
});
