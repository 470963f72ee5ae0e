import type { ExecuteContext } from "../../../../src/operator/compute/execute/context.ts";
import { execute } from "../../../../src/operator/compute/execute/execute.ts";
import type { ReadonlyState } from "../../../../src/operator/compute/memory.ts";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import type { Outcome } from "../../../../src/operator/compute/outcome.ts";
import type { Action } from "../../../../src/operator/compute/plan/action.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import { DeletionBrake } from "../../../../src/operator/project/deletion-brake.ts";
import { EndpointLister } from "../../../../src/operator/project/endpoint-lister.ts";
import type { Brake } from "../../../../src/operator/project/gate.ts";
import { accessTo, type ListerAccess } from "../../../../src/operator/project/service-access.ts";
import { type Compute, parseCompute } from "../../../../src/operator/resources/compute.ts";
import type { ServiceClientOptions } from "../../../../src/operator/service-client/client.ts";
import type { ServiceResponse } from "../../../../src/operator/service-client/transport.ts";
import { type InputFields, input, madeBy } from "../../../support/builders.ts";
import { clientOf, refusal, ScriptedService } from "../../../support/scripted-service.ts";
import { installCRDs } from "../../../support/shipped-crd.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import { MemoryCluster } from "../../kube/memory-cluster.ts";

const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes";

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

/** One Compute on an API server in memory, a service with scripted answers, and a log of all effects in their order. */
export class Acting {
  readonly cluster = new MemoryCluster();
  readonly effects: string[] = [];
  readonly service = new ScriptedService();
  readonly access: ListerAccess;
  readonly tools: Omit<ExecuteContext, "compute" | "annotations" | "access">;
  /** Whether what is about to be sent is no longer wanted. */
  withdrawn = false;
  answer: (what: string) => ServiceResponse | Promise<ServiceResponse> = () => refusal(500);

  constructor(
    tools: Partial<Acting["tools"]> = {},
    client: Partial<ServiceClientOptions> = {},
    brake: Brake = new DeletionBrake(this.cluster.clock, 1000),
  ) {
    installCRDs(this.cluster.server);
    this.cluster.fate = ({ method, path: at }) => {
      if (method !== "GET") this.effects.push(`${method} ${at.split("/").slice(6).join("/")}`);
      return undefined;
    };
    this.service.script = ({ method, path: at }) => {
      const what = `${method} ${at.replace("/projects/shiny-wind-028834", "service")}`;
      this.effects.push(what);
      return this.answer(what);
    };
    const { clock } = this.cluster;
    const { signal } = new AbortController();
    const lister = new EndpointLister({
      log: silentLogger,
      client: clientOf(this.service, clock, client),
      projectID: "shiny-wind-028834",
      clock,
      refreshIntervalMs: () => 30_000,
      enqueue: () => {},
      signal,
    });
    const state = new ReconcileState(clock.monotonic(), "this-term");
    const self = { metadata: { uid: "the pass", name: "shop", resourceVersion: "" }, spec: { projectID: "shop" } };
    this.access = accessTo(lister, self, brake, { withdrawn: () => this.withdrawn });
    const uninstalling = { now: () => Promise.resolve(false), lately: () => Promise.resolve(false) };
    this.tools = {
      cluster: this.cluster.client(),
      clock,
      stored: () => undefined,
      hasTurn: () => true,
      state,
      signal,
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
  stored(fields: { metadata?: object; spec?: object; status?: object } = {}): Compute {
    const spec = { projectID: "shiny-wind-028834", branchID: "br-main", ...fields.spec };
    const body = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Compute",
      metadata: { name: "shop", ...fields.metadata },
      spec,
    };
    const made = this.cluster.server.handle({ method: "POST", path, body });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    if (fields.status !== undefined) this.write([{ op: "add", path: "/status", value: fields.status }], "/status");
    return this.compute();
  }

  /** Somebody's JSON Patch of the Compute. */
  write(body: unknown, subresource = ""): void {
    const contentType = "application/json-patch+json";
    const { status } = this.cluster.server.handle({
      method: "PATCH",
      path: `${path}/shop${subresource}`,
      body,
      contentType,
    });
    if (status !== 200) throw new Error(`the patch was refused with ${status}`);
  }

  /** The Compute as the API server has it now. */
  compute(): Compute {
    const parsed = parseCompute(this.cluster.server.handle({ method: "GET", path: `${path}/shop` }).body);
    if (!parsed.ok) throw new Error(parsed.problem);
    return parsed.value;
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
    state.seen(self, now);
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
