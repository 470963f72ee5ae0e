import type { Fleet } from "../../operator/resources/signature.ts";

/** Knowledge of the operators that may keep some of the computes, and the kind of the command. */
export interface CommandScope {
  /** The operators' `--fleet`, as far as it is given. */
  fleet: Fleet | undefined;
  fleetName: string | undefined;
  /** True if the operators' cluster was read. */
  cluster: boolean;
  /** The command sends writes: not for what an operator keeps. */
  writes: boolean;
  /** True if objects that apply made and no manifest declares are looked for, so branches are listed too. */
  prunes: boolean;
}
