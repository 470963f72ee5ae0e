import type { ClusterResponse, ClusterTransport } from "../../src/operator/kube/transport.ts";
import {
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "../../src/operator/service-client/transport.ts";
import { isJsonObject, type JsonObject } from "./api-server/objects.ts";
import type { Timed } from "./world/actions.ts";
import { noFaults } from "./world/fault-plan.ts";
import type { SimProcess } from "./world/process.ts";
import type { Script } from "./world/run-script.ts";
import type { Plant } from "./world/world.ts";

// Mistakes that an operator could make, made for it at its ports: the product itself carries no switch for them.

/** A mistake, and the promise that it breaks. */
export interface PlantedBug {
  plant: () => Plant;
  breaks: RegExp;
  /** A seed from which on it soon shows. */
  from?: number;
  /** Weather in which it shows sooner. */
  weather?: (script: Script) => Script;
}

export const plantedBugs: Readonly<Record<string, PlantedBug>> = {
  "no record of a write": {
    plant: () => ({ cluster: recordless }),
    breaks: /never twice/,
    from: 62,
  },
  "a record without a resourceVersion guard": {
    plant: () => ({
      cluster: (inner) => patching(inner, (ops) => (setsRecord(ops) ? ops.filter(isNoVersionTest) : ops)),
    }),
    breaks: /never twice/,
    weather: handOversOnOldViews,
    from: 8,
  },
  "a POST that is sent again after a timeout": {
    plant: () => ({ service: resending }),
    breaks: /fresh lists|never twice/,
  },
  "a 404 that counts as a deletion": {
    plant: () => ({ service: missingTakenForGone }),
    breaks: /fresh lists|finalizers|never twice/,
    from: 6,
  },
  "a finalizer removed before the delete is confirmed": {
    plant: () => ({ service: deletesTakenForDone }),
    // One that came too many, from a late create, is not deleted either: that shows afterwards.
    breaks: /finalizers|all is well/,
    from: 29,
  },
  "a plan from a list that is older than the last write": {
    plant: () => ({ service: listsRemembered }),
    breaks: /fresh lists/,
  },
  "a leader that continues after it lost the lease": {
    plant: () => ({ cluster: leadingForEver }),
    breaks: /one leader/,
  },
  "adoption without a request": {
    plant: () => ({ cluster: alwaysAdopting }),
    breaks: /adoption|never another's/,
    from: 5,
  },
  "a restart that is not recorded": {
    plant: () => ({ cluster: (inner) => patching(inner, (ops) => ops.map(withoutRestartedAt)) }),
    breaks: /restart once/,
    from: 5,
  },
  "a restart that counts as done but was never sent": {
    plant: () => ({
      service: (inner) =>
        sending((request, options) =>
          request.path.endsWith("/restart")
            ? Promise.resolve(answer(200, { operations: [] }))
            : inner.send(request, options),
        ),
    }),
    breaks: /restarted as it says/,
    from: 4,
  },
  "a Retry-After that is ignored": {
    plant: () => ({ service: deafToRetryAfter }),
    breaks: /budgets/,
    from: 4,
  },
};

/** Slow watches, requests that arrive late, and a leader that dies now and then with another at hand. */
function handOversOnOldViews(script: Script): Script {
  const service = { ...noFaults.service, late: 0.5 };
  const deaths: Timed[] = [6, 30, 55, 80, 105].map((s) => ({ atMs: s * 1000, action: { do: "kill", downMs: 500 } }));
  return {
    ...script,
    operators: 2,
    rates: { ...noFaults, service, slowestLineMs: 60_000 },
    actions: [...script.actions, ...deaths].toSorted((a, b) => a.atMs - b.atMs),
    calmAtMs: Math.max(script.calmAtMs, 120_000),
  };
}

type Send = ServiceTransport["send"];

function sending(send: Send): ServiceTransport {
  return { send };
}

function resending(inner: ServiceTransport): ServiceTransport {
  return sending(async (request, options) => {
    try {
      return await inner.send(request, options);
    } catch (error) {
      if (!(error instanceof NoResponseError) || request.method !== "POST" || !request.path.endsWith("/endpoints"))
        throw error;
      return inner.send(request, options);
    }
  });
}

function missingTakenForGone(inner: ServiceTransport): ServiceTransport {
  return sending(async (request, options) => {
    const response = await inner.send(request, options);
    if (response.status !== 404) return response;
    if (isList(request)) return answer(200, { endpoints: [] });
    return isOne(request) ? answer(404, { code: "", message: "endpoint not found" }) : response;
  });
}

/** Whatever became of the DELETE, its endpoint is never seen again. */
function deletesTakenForDone(inner: ServiceTransport): ServiceTransport {
  const gone = new Set<string>();
  return sending(async (request, options) => {
    const id = request.path.split("/").at(-1) ?? "";
    if (request.method === "DELETE") {
      gone.add(id);
      await inner.send(request, options).catch(() => undefined);
      return { status: 204, json: false, body: undefined };
    }
    if (isOne(request) && gone.has(id)) return answer(404, { code: "", message: "endpoint not found" });
    const response = await inner.send(request, options);
    return isList(request) ? without(response, gone) : response;
  });
}

/** For two minutes after a write a project's list is the one from before it. */
function listsRemembered(inner: ServiceTransport, { clock }: SimProcess): ServiceTransport {
  const memoize = new Map<string, ServiceResponse>();
  const wroteAt = new Map<string, number>();
  return sending(async (request, options) => {
    const project = request.path.split("/endpoints")[0] ?? "";
    if (request.method !== "GET") wroteAt.set(project, clock.monotonic());
    const before = memoize.get(project);
    const fresh = clock.monotonic() - (wroteAt.get(project) ?? Number.NEGATIVE_INFINITY) > 120_000;
    if (isList(request) && before !== undefined && !fresh) return before;
    const response = await inner.send(request, options);
    if (isList(request) && response.status === 200) memoize.set(project, response);
    return response;
  });
}

function deafToRetryAfter(inner: ServiceTransport): ServiceTransport {
  return sending(async (request, options) => {
    const { status, body, json } = await inner.send(request, options);
    return { status, body, json };
  });
}

/** A process that led once always reads that the lease is its own. */
function leadingForEver(inner: ClusterTransport): ClusterTransport {
  let own: ClusterResponse | undefined;
  return requesting(inner, async (request, options) => {
    const isLease = request.path.includes("/leases");
    if (isLease && own !== undefined) return own;
    const response = await inner.request(request, options);
    if (isLease && request.method !== "GET" && response.status < 300) own = response;
    return response;
  });
}

/** Every Compute that the operator is shown says `adopt: {branchPrimary: true}`. */
function alwaysAdopting(inner: ClusterTransport): ClusterTransport {
  async function* watch(
    what: Parameters<ClusterTransport["watch"]>[0],
    options: Parameters<ClusterTransport["watch"]>[1],
  ) {
    for await (const { type, object } of inner.watch(what, options)) yield { type, object: adopting(object) };
  }
  return {
    watch,
    async request(request, options) {
      const response = await inner.request(request, options);
      return { ...response, body: adopting(response.body) };
    },
  };
}

function adopting(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  if (Array.isArray(value["items"])) return { ...value, items: value["items"].map(adopting) };
  const { spec } = value;
  if (!isJsonObject(spec) || spec["type"] !== "read_write") return value;
  return { ...value, spec: { ...spec, adopt: { branchPrimary: true } } };
}

type Operation = JsonObject;

function patching(inner: ClusterTransport, change: (ops: Operation[]) => Operation[]): ClusterTransport {
  return requesting(inner, (request, options) => {
    const ops = Array.isArray(request.body) ? request.body.filter(isJsonObject) : undefined;
    return inner.request(ops === undefined ? request : { ...request, body: change(ops) }, options);
  });
}

function requesting(inner: ClusterTransport, request: ClusterTransport["request"]): ClusterTransport {
  return {
    request,
    watch: (what, options) => inner.watch(what, options),
  };
}

function setsRecord(ops: readonly Operation[]): boolean {
  return ops.some((operation) => recordIn(operation) !== undefined);
}

function recordIn({ path, value }: Operation): unknown {
  return path === "/status" && isJsonObject(value) ? value["pendingWrite"] : undefined;
}

/** Statuses are stored without the record, and answered as if they had it. */
function recordless(inner: ClusterTransport): ClusterTransport {
  return requesting(inner, async (request, options) => {
    const ops = Array.isArray(request.body) ? request.body.filter(isJsonObject) : [];
    const record = ops.map(recordIn).find((one) => one !== undefined);
    if (record === undefined) return inner.request(request, options);
    const response = await inner.request({ ...request, body: ops.map(withoutRecord) }, options);
    const { body } = response;
    if (!isJsonObject(body) || !isJsonObject(body["status"])) return response;
    return { ...response, body: { ...body, status: { ...body["status"], pendingWrite: record } } };
  });
}

function withoutRecord(operation: Operation): Operation {
  const { path, value } = operation;
  if (path !== "/status" || !isJsonObject(value)) return operation;
  const kept = { ...value };
  delete kept["pendingWrite"];
  return { ...operation, value: kept };
}

function isNoVersionTest({ op, path }: Operation): boolean {
  return !(op === "test" && path === "/metadata/resourceVersion");
}

function withoutRestartedAt(operation: Operation): Operation {
  const { path, value } = operation;
  if (path !== "/status" || !isJsonObject(value)) return operation;
  const kept = { ...value };
  delete kept["restartedAt"];
  return { ...operation, value: kept };
}

function isList({ method, path }: ServiceRequest): boolean {
  return method === "GET" && path.endsWith("/endpoints");
}

function isOne({ method, path }: ServiceRequest): boolean {
  return method === "GET" && /\/endpoints\/ep-[^/]+$/.test(path);
}

function answer(status: number, body: unknown): ServiceResponse {
  return { status, json: true, body };
}

function without(response: ServiceResponse, gone: ReadonlySet<string>): ServiceResponse {
  const { body } = response;
  if (!isJsonObject(body) || !Array.isArray(body["endpoints"])) return response;
  const endpoints = body["endpoints"].filter(
    (endpoint) => !(isJsonObject(endpoint) && gone.has(String(endpoint["id"]))),
  );
  return { ...response, body: { ...body, endpoints } };
}
