import type { Patcher } from "../life/patching.ts";
import type { ServiceAccess } from "../project/service-access.ts";
import type { Branch } from "../resources/branch.ts";
import type { Clock } from "../runtime/clock.ts";
import type { BranchMemory } from "./memory.ts";
import type { ComputeStep } from "./observation.ts";

/** All that carrying out an action needs, in the operator and in `apply` alike. */
export interface ExecuteContext {
  object: Branch;
  memory: BranchMemory;
  cluster: Patcher<Branch>;
  clock: Clock;
  signal: AbortSignal;
  fleet: string | undefined;
  /** `undefined` while the connection is not open. */
  access: ServiceAccess | undefined;
  /** Check of the definition of Branches: while it is being deleted, nothing is deleted at the service. */
  uninstalling: () => Promise<boolean>;
  /** Check that the API server shows the owned Compute as this object's still: one without an owner uses the branch. */
  ownsStill: () => Promise<boolean>;
  /** Brings the owned Compute to what is declared, or deletes it. */
  compute: (step: ComputeStep) => Promise<void>;
}
