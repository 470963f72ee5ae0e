import type { ServiceRequest, ServiceResponse } from "../../src/operator/service-client/transport.ts";
import { json, refusal } from "../support/scripted-service.ts";
import type { VirtualClock } from "../support/virtual-clock.ts";
import type { Behaviour } from "./tenants.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface ManyProjectsOptions {
  /** How long this service takes to answer, in milliseconds. */
  answersAfterMs?: number;
  /** How long an operation takes, in milliseconds. */
  operationMs?: number;
  /** Whether a project is locked while an operation runs, as at the real service. */
  locks?: boolean;
}

const branches = Array.from({ length: 300 }, (_, n) => ({ id: `br-${n}`, name: `branch ${n}` }));

/** A service with any number of projects, which come into being as they are asked for: quick enough for thousands. */
export class ManyProjects {
  /** Every write that was carried out, and when, on the monotonic clock. */
  readonly writes: { at: number; method: string; projectID: string; endpointID: string }[] = [];
  /** When lists of endpoints, and of operations, were asked for, on the monotonic clock. */
  readonly listed: { at: number; projectID: string }[] = [];
  readonly polled: { at: number; projectID: string }[] = [];
  /** When lists of branches were asked for: there are so many, `br-0` named `branch 0` and so on. */
  readonly branchesListed: { at: number; projectID: string }[] = [];
  /** Writes that were refused with 423. */
  refused = 0;
  readonly #clock: VirtualClock;
  readonly #endpoints = new Map<string, Map<string, Fields>>();
  readonly #operations = new Map<string, { fields: Fields; endsAt: number }[]>();
  readonly #options: Required<ManyProjectsOptions>;
  #ids = 0;

  constructor(clock: VirtualClock, options: ManyProjectsOptions = {}) {
    this.#clock = clock;
    this.#options = { answersAfterMs: 50, operationMs: 1000, locks: true, ...options };
  }

  /** Requests for lists of endpoints. */
  get lists(): number {
    return this.listed.length;
  }

  readonly behaviour: Behaviour = (request) => ({
    afterMs: this.#options.answersAfterMs,
    answer: this.#answer(request),
  });

  /** When the first write with this method reached this project since `from`. */
  firstWrite(method: string, projectID: string, from: number): number | undefined {
    return this.writes.find((write) => write.at >= from && write.method === method && write.projectID === projectID)
      ?.at;
  }

  #answer({ method, path, body }: ServiceRequest): ServiceResponse {
    if (path === "/auth") return json(200, { auth_method: "api_key_org" });
    if (path === "/projects") return json(200, { projects: [] });
    const [, , projectID = "", kind, id] = path.split("/");
    const endpoints = this.#endpoints.get(projectID) ?? new Map<string, Fields>();
    this.#endpoints.set(projectID, endpoints);
    if (kind === undefined) return json(200, { project: { id: projectID } });
    const asked = { at: this.#clock.monotonic(), projectID };
    if (kind === "operations") {
      this.polled.push(asked);
      return json(200, { operations: this.#operationsOf(projectID) });
    }
    if (kind === "branches") {
      this.branchesListed.push(asked);
      return json(200, { branches, pagination: {} });
    }
    if (method === "GET" && id === undefined) {
      this.listed.push(asked);
      return json(200, { endpoints: [...endpoints.values()].map((one) => this.#atRest(one, projectID)) });
    }
    const before = endpoints.get(id ?? "");
    if (method === "GET")
      return before === undefined ? refusal(404, "endpoint not found") : json(200, { endpoint: before });
    const { locks } = this.#options;
    if (locks && this.#operationsOf(projectID).some(({ status }) => status === "running")) {
      this.refused += 1;
      return refusal(423, "project already has running conflicting operations");
    }
    if (id !== undefined && before === undefined) return { status: 204, body: undefined, json: false };
    return this.#write(method, projectID, endpoints, before, body);
  }

  #write(
    method: string,
    projectID: string,
    endpoints: Map<string, Fields>,
    before: Fields | undefined,
    body: unknown,
  ): ServiceResponse {
    const sent: Fields = typeof body === "object" && body !== null && "endpoint" in body ? Object(body.endpoint) : {};
    const id = before === undefined ? this.#newID("ep") : String(before["id"]);
    this.writes.push({ at: this.#clock.monotonic(), method, projectID, endpointID: id });
    const endpoint = { ...(before ?? this.#newEndpoint(id, projectID)), ...sent };
    if (method === "DELETE") endpoints.delete(id);
    else endpoints.set(id, endpoint);
    const operation = this.#begin(projectID, id, method);
    return json(before === undefined ? 201 : 200, { endpoint, operations: [operation] });
  }

  #newEndpoint(id: string, projectID: string): Fields {
    const now = new Date(this.#clock.now()).toISOString();
    return {
      id,
      project_id: projectID,
      current_state: "init",
      pending_state: "active",
      host: `${id}.db.test`,
      disabled: false,
      created_at: now,
      started_at: now,
      autoscaling_limit_min_cu: 0.25,
      autoscaling_limit_max_cu: 2,
      suspend_timeout_seconds: 0,
      settings: { pg_settings: {} },
    };
  }

  #begin(projectID: string, endpointID: string, method: string): Fields {
    const action = { POST: "start_compute", PATCH: "apply_config", DELETE: "suspend_compute" }[method];
    const now = new Date(this.#clock.now()).toISOString();
    const id = this.#newID("op");
    const fields = { id, project_id: projectID, endpoint_id: endpointID, action, created_at: now, updated_at: now };
    const before = this.#operations.get(projectID) ?? [];
    this.#operations.set(
      projectID,
      [{ fields, endsAt: this.#clock.monotonic() + this.#options.operationMs }, ...before].slice(0, 1000),
    );
    return { ...fields, status: "running", failures_count: 0 };
  }

  #operationsOf(projectID: string): Fields[] {
    const now = this.#clock.monotonic();
    return (this.#operations.get(projectID) ?? []).map(({ fields, endsAt }) => ({
      ...fields,
      status: endsAt > now ? "running" : "finished",
      updated_at: new Date(this.#clock.now() + Math.min(0, endsAt - now)).toISOString(),
      failures_count: 0,
    }));
  }

  /** An endpoint as it is shown once none of its operations runs. */
  #atRest(endpoint: Fields, projectID: string): Fields {
    const now = this.#clock.monotonic();
    const isBusy = this.#operations
      .get(projectID)
      ?.some(({ fields, endsAt }) => endsAt > now && fields["endpoint_id"] === endpoint["id"]);
    return isBusy === true ? endpoint : { ...endpoint, current_state: "active", pending_state: undefined };
  }

  #newID(prefix: string): string {
    this.#ids += 1;
    return `${prefix}-${this.#ids}`;
  }
}
