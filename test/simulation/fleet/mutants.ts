import type { Mutant } from "../mutants.ts";

/** Mutants that plays of a fleet must catch: the last guard stops what they plan. */
export const fleetMutants: Readonly<Record<string, Mutant & { breaks: RegExp }>> = {
  "`former` takes over although the Compute was linked before": {
    file: "compute/plan/former.ts",
    line: "return [annotations.recordedID, endpointID, gone, proof].some((one) => one !== undefined);",
    as: "return false;",
    breaks: /endpoint-takeover-proof/,
  },
  "`former` takes over one of several": {
    file: "compute/plan/former.ts",
    line: "if (formers.length > 1) return messages.why.several;",
    as: "",
    breaks: /endpoint-takeover-proof/,
  },
  "`former` takes over what is on another branch": {
    file: "compute/plan/former.ts",
    line: "if (former.branch_id !== branchIDOf(compute)) return messages.why.otherBranch(former.branch_id);",
    as: "",
    breaks: /endpoint-takeover-proof/,
  },
};
