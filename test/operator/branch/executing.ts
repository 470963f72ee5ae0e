import type { BranchAction, BranchWrite } from "../../../src/operator/branch/action.ts";
import { type ExecuteContext } from "../../../src/operator/branch/context.ts";
import { execute } from "../../../src/operator/branch/execute.ts";
import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import type { ComputeStep } from "../../../src/operator/branch/observation.ts";
import type { Outcome } from "../../../src/operator/branch/outcome.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { json } from "../../support/scripted-service.ts";
import { Effects, type EffectsOptions } from "../effects.ts";
import { type StoredFields, storedBranches } from "../stored-objects.ts";
import { memory } from "./builders.ts";

/** One Branch, what carries its actions out, and their effects. */
export class Acting extends Effects {
  readonly branches = storedBranches(this.cluster);
  readonly memory: BranchMemory;
  uninstalling = false;
  ownsStill = true;
  fleet: string | undefined;
  /** The steps of the owned Compute. */
  readonly steps: ComputeStep[] = [];

  constructor({
    remembered = {},
    kinds = ["branches"],
    ...options
  }: EffectsOptions & { remembered?: Partial<BranchMemory> } = {}) {
    super({ kinds, ...options });
    this.memory = memory(remembered);
  }

  /** Creates the Branch. */
  stored({ metadata, ...fields }: StoredFields = {}): Branch {
    return this.branches.create({ ...fields, metadata: { finalizers: [finalizers.branch], ...metadata } });
  }

  /** Somebody's JSON Patch of the Branch. */
  write(body: unknown, subresource = ""): void {
    this.branches.write(body, subresource);
  }

  /** Asks for its deletion. */
  drop(): Branch {
    this.branches.drop();
    return this.object();
  }

  get isGone(): boolean {
    return this.branches.isGone();
  }

  /** The Branch as the API server has it now. */
  object(): Branch {
    return this.branches.object();
  }

  context(object: Branch, more: Partial<ExecuteContext> = {}): ExecuteContext {
    return {
      object,
      memory: this.memory,
      cluster: this.cluster.client(),
      clock: this.clock,
      signal: new AbortController().signal,
      fleet: this.fleet,
      access: this.access,
      uninstalling: () => Promise.resolve(this.uninstalling),
      ownsStill: () => Promise.resolve(this.ownsStill),
      compute: (step) => {
        this.steps.push(step);
        this.effects.push(`compute ${step.kind}`);
        return Promise.resolve();
      },
      ...more,
    };
  }

  execute(action: BranchAction, object: Branch, more: Partial<ExecuteContext> = {}) {
    return execute(action, this.context(object, more));
  }

  /** Carries one write out. */
  send(write: BranchWrite, object = this.stored(), more: Partial<ExecuteContext> = {}) {
    return this.execute({ kind: "write", write }, object, more);
  }
}

/** The service's answer to a write, with its branch. */
export function accepted(branch: object = {}, operations: readonly object[] = []): ServiceResponse {
  return json(200, { branch: { id: "br-one", name: "default/shop", current_state: "ready", ...branch }, operations });
}

const never = { expiry: "never", at: undefined };

/** One write of each kind. */
export const writes = {
  create: { op: "create", name: "default/shop", body: { name: "default/shop" }, end: never },
  patch: {
    op: "patch",
    id: "br-one",
    body: { expires_at: "2026-01-11T00:00:00Z" },
    why: "expiry",
    end: { expiry: "after 72h", at: "2026-01-11T00:00:00Z" },
  },
  renewal: {
    op: "patch",
    id: "br-one",
    body: { expires_at: "2026-01-11T00:00:00Z" },
    why: "renewal",
    end: { expiry: "lease 72h", at: "2026-01-11T00:00:00Z" },
  },
  protection: { op: "patch", id: "br-one", body: { protected: true }, why: "protection", end: undefined },
  reset: { op: "reset", id: "br-one", sourceID: "br-main", value: "1", lastResetAt: undefined },
  delete: { op: "delete", id: "br-one" },
} as const satisfies Record<string, BranchWrite>;

/** The message of the conditions after a reconcile. */
export function messageOf({ condition }: Pick<Outcome, "condition">): string | undefined {
  return condition.kind === "shown" ? condition.message : undefined;
}

/** Their reason. */
export function reasonOf({ condition }: Pick<Outcome, "condition">): string | undefined {
  return condition.kind === "shown" ? condition.reason : undefined;
}
