import { bind } from "./bind.ts";
import { execute } from "./execute/execute.ts";
import { guard } from "./guard.ts";
import type { Parts } from "./kind.ts";
import { observe } from "./observe/observe.ts";
import { plan } from "./plan/plan.ts";
import { updateStatus } from "./update-status.ts";

/** The parts of a reconcile as `run` uses them. */
export const parts: Parts = { observe, plan, guard, execute, bind, updateStatus };
