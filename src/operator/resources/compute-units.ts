import { z } from "zod";
import { withRules } from "./rule.ts";

/** Sizes that a compute can have, in compute units (1 CU = 1 vCPU and 4 GB of memory). */
export const computeUnitSizes: readonly number[] = [
  0.25,
  0.5,
  ...Array.from({ length: 16 }, (_, i) => i + 1),
  ...Array.from({ length: 20 }, (_, i) => 18 + 2 * i),
];

/** Beyond this many compute units a compute cannot change its size by itself. */
export const AUTOSCALING_LIMIT = 16;

const size = z.literal([...computeUnitSizes]);

/** The size of a compute, from `min` to `max`. */
export const computeUnits = withRules(
  z.object({
    min: size.describe(
      "Least size in compute units (CU): 0.25, 0.5, 1 to 16, or an even number from 18 to 56. 1 CU is 1 vCPU and 4 GB of memory.",
    ),
    max: size.describe(
      "Largest size in compute units (CU): as min, and not less than it. Equal to min it makes a fixed size.",
    ),
  }),
  {
    cel: "self.min <= self.max",
    message: "computeUnits.min must not be greater than computeUnits.max",
    holds: ({ min, max }) => min <= max,
  },
  {
    cel: `self.max <= ${AUTOSCALING_LIMIT}.0 || self.min == self.max`,
    message: `autoscaling goes up to ${AUTOSCALING_LIMIT} CU: with a max above ${AUTOSCALING_LIMIT}, min must equal max (a fixed size)`,
    holds: ({ min, max }) => max <= AUTOSCALING_LIMIT || min === max,
  },
);
