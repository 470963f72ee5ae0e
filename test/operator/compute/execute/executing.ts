import type { ExecuteContext } from "../../../../src/operator/compute/execute/context.ts";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import type { ReadonlyState } from "../../../../src/operator/compute/memory.ts";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import type { Outcome } from "../../../../src/operator/compute/outcome.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import type { Brake } from "../../../../src/operator/project/gate.ts";
import { type ListerAccess } from "../../../../src/operator/project/service-access.ts";
import { type Compute } from "../../../../src/operator/resources/compute.ts";
import type { ServiceClientOptions } from "../../../../src/operator/service-client/client.ts";
import { type InputFields, input, madeBy } from "../../../support/builders.ts";
import { Effects } from "../../effects.ts";
import { type StoredFields, storedComputes } from "../../stored-objects.ts";

/** Metadata of a Compute that is linked to `ep-one`. */
export const linked = {
  annotations: { "compute-operator.dev/endpoint-id": "ep-one" },
  finalizers: ["compute-operator.dev/endpoint"],
};
/** Status of one that was carried out. */
export const settled = {
  observedGeneration: 1,
  appliedGeneration: 1,
  observedThrough: "here",
  endpointID: "ep-one",
  branchID: "br-main",
  conditions: [conditionOf("Active")],
};

/** A condition of type Ready with this reason. */
export function conditionOf(reason: string) {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const status = reason === "Active" ? "True" : "False";
  return { type: "Ready", status, reason, message: "as before", lastTransitionTime, observedGeneration: 1 };
}

/** One Compute, what carries its actions out, and their effects. */
export class Acting extends Effects {
  readonly computes = storedComputes(this.cluster);
  readonly tools: Omit<ExecuteContext, "compute" | "annotations" | "access">;

  constructor(tools: Partial<Acting["tools"]> = {}, client: Partial<ServiceClientOptions> = {}, brake?: Brake) {
    super({ client, ...(brake && { brake }) });
    const { clock } = this;
    const uninstalling = { now: () => Promise.resolve(false), lately: () => Promise.resolve(false) };
    this.tools = {
      cluster: this.cluster.client(),
      clock,
      stored: () => undefined,
      hasTurn: () => true,
      state: new ReconcileState(clock.monotonic(), "this-term"),
      signal: new AbortController().signal,
      secrets: {
        recordedNow: () => Promise.resolve(undefined),
        readSoon: () => {},
        noteReset: async () => {},
        remove: () => Promise.resolve([]),
      },
      uninstalling,
      ...tools,
    };
  }

  /** Creates the Compute, its status and all: the API server gives it uid and generation. */
  stored(fields: StoredFields = {}): Compute {
    return this.computes.create(fields);
  }

  /** Somebody's JSON Patch of the Compute. */
  write(body: unknown, subresource = ""): void {
    this.computes.write(body, subresource);
  }

  /** The Compute as the API server has it now. */
  compute(): Compute {
    return this.computes.object();
  }

  annotation(name: string): string | undefined {
    return this.compute().metadata.annotations?.[`compute-operator.dev/${name}`];
  }

  /** Sets what this process remembers of the Compute. */
  remember(known: Partial<ReadonlyState>): ReadonlyState {
    this.tools.state = new ReconcileState(0, "this-term", { ...this.tools.state.known, ...known });
    return this.tools.state.known;
  }

  /** What carries an action out for this Compute. */
  context(self: Compute, access: ListerAccess | undefined = this.access): ExecuteContext {
    return { ...this.tools, compute: self, annotations: annotationsOf(self, 0), access };
  }

  execute(action: Action, self: Compute) {
    return execute(action, this.context(self));
  }

  /** Plans for what is seen, as a list shows it, and carries the step out. */
  async reconcile(self: Compute, fields: InputFields = {}) {
    const { state, clock } = this.tools;
    const { fingerprint, account } = this.access.client;
    const now = clock.monotonic();
    const list = { fingerprint, baseURL: account.baseURL, startedAt: now - 1, ...fields.list };
    const [observed] = input({ ...fields, list, compute: self, now });
    state.noteVersion(self, now);
    if (observed.kind === "observed") state.listed(observed);
    const action = plan(observed, state.known);
    if (action.kind === "wait" || action.kind === "noop" || action.kind === "blocked" || action.kind === "settled") {
      throw new Error(`nothing is to be done: ${JSON.stringify(action)}`);
    }
    try {
      return await this.execute(action, self);
    } finally {
      this.access.gate.end();
    }
  }
}

/** One that is linked and carried out, and a list that shows its endpoint. */
export function standing(spec: object = {}, annotations: object = {}) {
  const acting = new Acting();
  const metadata = { ...linked, annotations: { ...linked.annotations, ...annotations } };
  const self = acting.stored({ metadata, spec, status: settled });
  return { acting, self, seen: (fields = {}) => ({ endpoints: [madeBy(self, fields)] }) };
}

/** In how many milliseconds an outcome asks for the next reconcile. */
export function msOf({ requeue }: Outcome): number | undefined {
  return requeue.kind === "after" ? requeue.ms : undefined;
}

/** The action that turns the pooler of `ep-one` on. */
export const poolerPatch: Extract<Action, { kind: "patch" }> = {
  kind: "patch",
  endpointID: "ep-one",
  attributes: { pooler_enabled: true },
  fields: ["pooler"],
  progress: "Updating",
  corrects: [],
};
