import { z } from "zod";
import {
  computeUnitSizes,
  computeUnitSizesInWords,
  isComputeUnitSize,
  largestAutoscalingSize,
} from "../../api/compute-units.ts";
import { withRules } from "./fields.ts";

/** The API server cuts 3.5 off to 3 before it looks whether an enum has it: hence a rule besides. */
function size(what: string) {
  const message = `${what} must be one of ${computeUnitSizesInWords}`;
  return withRules(z.literal([...computeUnitSizes], { error: message }), {
    cel: "self < 1.0 || self == double(int(self))",
    message,
    holds: isComputeUnitSize,
  });
}

/** The size of a compute, from `min` to `max` compute units. */
export const computeUnits = withRules(
  z.object({
    min: size("computeUnits.min").describe(
      `Least size in compute units (CU): ${computeUnitSizesInWords}. 1 CU is 1 vCPU and 4 GB of memory.`,
    ),
    max: size("computeUnits.max").describe(
      "Largest size in compute units (CU): as min, and not less than it. Equal to min it makes a fixed size.",
    ),
  }),
  {
    cel: "self.min <= self.max",
    message: "computeUnits.min must not be greater than computeUnits.max",
    holds: ({ min, max }) => min <= max,
  },
  {
    cel: `self.max <= ${largestAutoscalingSize}.0 || self.min == self.max`,
    message: `autoscaling ends at ${largestAutoscalingSize} CU: above it computeUnits.min must equal computeUnits.max (a fixed size)`,
    holds: ({ min, max }) => max <= largestAutoscalingSize || min === max,
  },
);
