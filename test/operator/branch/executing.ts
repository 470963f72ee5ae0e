import type { BranchAction, BranchWrite } from "../../../src/operator/branch/action.ts";
import { type ExecuteContext } from "../../../src/operator/branch/context.ts";
import { execute } from "../../../src/operator/branch/execute.ts";
import type { BranchMemory } from "../../../src/operator/branch/memory.ts";
import type { ComputeStep } from "../../../src/operator/branch/observation.ts";
import type { Outcome } from "../../../src/operator/branch/outcome.ts";
import { DeletionBrake } from "../../../src/operator/project/deletion-brake.ts";
import { EndpointLister } from "../../../src/operator/project/endpoint-lister.ts";
import { accessTo, type ListerAccess } from "../../../src/operator/project/service-access.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import { finalizers } from "../../../src/operator/resources/names.ts";
import type { BudgetLimits } from "../../../src/operator/service-client/budget.ts";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { installCRDs } from "../../support/shipped-crd.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { MemoryCluster } from "../kube/memory-cluster.ts";
import { memory } from "./builders.ts";
import { StoredBranches, type StoredFields } from "./stored-branches.ts";

/** One Branch on an API server in memory, a service with scripted answers, and a log of all effects in their order. */
export class Acting {
  readonly cluster = new MemoryCluster();
  readonly branches = new StoredBranches(this.cluster);
  readonly clock = this.cluster.clock;
  readonly effects: string[] = [];
  readonly service = new ScriptedService();
  readonly access: ListerAccess;
  /** Uids that the project's lister enqueued. */
  readonly enqueued: string[] = [];
  readonly memory: BranchMemory;
  uninstalling = false;
  ownsStill = true;
  fleet: string | undefined;
  /** The steps of the owned Compute. */
  readonly steps: ComputeStep[] = [];
  answer: (what: string, body: unknown) => ServiceResponse = () => refusal(500);
  readonly #lister: EndpointLister;
  readonly #brake: DeletionBrake;

  constructor({
    remembered = {},
    limits = { perMinute: 1_000_000, burst: 1_000_000 },
    deletions = 1000,
    kinds = ["branches"],
  }: { remembered?: Partial<BranchMemory>; limits?: BudgetLimits; deletions?: number; kinds?: string[] } = {}) {
    this.memory = memory(remembered);
    installCRDs(this.cluster.server, kinds);
    this.cluster.fate = ({ method, path: at }) => {
      if (method !== "GET") this.effects.push(`${method} ${at.split("/").slice(6).join("/")}`);
      return undefined;
    };
    this.service.script = ({ method, path: at, body }) => {
      const what = `${method} ${at.replace("/projects/shiny-wind-028834", "service")}`;
      this.effects.push(what);
      return this.answer(what, body);
    };
    const { clock } = this;
    this.#brake = new DeletionBrake(clock, deletions);
    this.#lister = new EndpointLister({
      log: silentLogger,
      client: clientOf(this.service, clock, { limits }),
      projectID: "shiny-wind-028834",
      clock,
      refreshIntervalMs: () => 30_000,
      enqueue: (uids) => this.enqueued.push(...uids),
      signal: new AbortController().signal,
    });
    this.access = this.accessOf("this one");
  }

  /** The way of one reconcile to the service. */
  accessOf(uid: string): ListerAccess {
    const self = {
      metadata: { uid, name: uid, namespace: "default", resourceVersion: "" },
      spec: { projectID: "shiny-wind-028834" },
    };
    return accessTo(this.#lister, self, this.#brake, { withdrawn: () => false });
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
