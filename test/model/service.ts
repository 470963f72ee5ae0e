import type { Endpoint } from "../../src/api/endpoint.ts";
import { signatureIn } from "../../src/operator/resources/signature.ts";
import type { Answer } from "../../src/operator/service-client/answer.ts";
import type { Written } from "../../src/operator/service-client/client.ts";
import { trusted } from "./canonical.ts";

/** One endpoint of the service, as it is. */
export interface Standing {
  id: number;
  /** The service that it is at: a connection leads to the one of its name. */
  at: string;
  branch: string;
  name?: string | undefined;
  disabled?: true | undefined;
  /** How often it was restarted. */
  restarts: number;
  /** Its size, where a world has any. */
  size?: number | undefined;
  /** A setting of Postgres. */
  setting?: string | undefined;
  passwordless?: boolean | undefined;
  isIdle?: true | undefined;
  /** The time of its last change by a PATCH or a person, where the world has a clock. */
  changedAt?: number | undefined;
}

/** The service at one moment. */
export interface Service {
  endpoints: Standing[];
  /** How many endpoints there ever were: ids are never used again. */
  made: number;
}

/** A request that writes. */
export interface Write {
  method: "POST" | "PATCH" | "DELETE" | "RESTART";
  baseURL: string;
  id: string;
  body: unknown;
}

export interface ServiceSettings {
  type: "read_write" | "read_only";
  showsNames: boolean;
}

export const projectID = "shiny-wind-028834";

/** As answers and lists show an endpoint. */
export function shown(
  { id, branch, name, disabled, restarts, size, setting, passwordless, isIdle, changedAt }: Standing,
  { type, showsNames }: ServiceSettings,
): Endpoint {
  const second = String(id).padStart(2, "0");
  return {
    id: `ep-${id}`,
    project_id: projectID,
    branch_id: branch,
    type,
    current_state: isIdle === true ? "idle" : "active",
    disabled: disabled === true,
    created_at: `2026-01-01T00:00:${second}Z`,
    started_at: `2026-01-01T00:${String(restarts).padStart(2, "0")}:${second}Z`,
    ...(showsNames && name !== undefined ? { name } : {}),
    ...(size === undefined ? {} : { autoscaling_limit_min_cu: size, autoscaling_limit_max_cu: size }),
    ...(setting === undefined ? {} : { settings: { pg_settings: { work_mem: setting } } }),
    ...(passwordless === undefined ? {} : { passwordless_access: passwordless }),
    ...(changedAt === undefined ? {} : { updated_at: new Date(changedAt).toISOString() }),
  };
}

/** Whether an endpoint bears the signature of this uid. */
export function bears({ name }: Standing, uid: string): boolean {
  return signatureIn(name)?.uid === uid;
}

export interface Body {
  branch_id?: string;
  name?: string;
  disabled?: boolean;
  autoscaling_limit_max_cu?: number;
  settings?: { pg_settings?: Record<string, string> };
  passwordless_access?: boolean;
}

/** The attributes that a write sends. */
export function bodyOf({ body }: Pick<Write, "body">): Body {
  return trusted<{ endpoint?: Body } | null>(body)?.endpoint ?? {};
}

/** The members of an endpoint that a body sets. */
function set(body: Body, before: Partial<Standing>, now: number | undefined): Partial<Standing> {
  const { autoscaling_limit_max_cu: size = before.size, passwordless_access: passwordless = before.passwordless } =
    body;
  const setting = body.settings?.pg_settings?.["work_mem"] ?? before.setting;
  return { size, setting, passwordless, changedAt: now };
}

/** Carries a write out: the service afterwards, and its answer. */
export function carriedOut(
  service: Service,
  { method, baseURL, id, body }: Write,
  settings: ServiceSettings,
  now?: number,
): { service: Service; answer: Answer<Written> } {
  const sent = bodyOf({ body });
  const target = service.endpoints.find((endpoint) => endpoint.at === baseURL && `ep-${endpoint.id}` === id);
  const isTaken = (branch: string) =>
    settings.type === "read_write" &&
    service.endpoints.some((one) => one.at === baseURL && one.branch === branch && one !== target);
  const refused = (status: number, message: string) =>
    ({ service, answer: { kind: "refused", status, code: "", message } }) as const;
  const ok = (endpoints: Standing[], endpoint: Standing | undefined, made = service.made) => {
    const value = { endpoint: endpoint && shown(endpoint, settings), operations: [] };
    return { service: { endpoints, made }, answer: { kind: "ok" as const, status: 200, value } };
  };
  if (method === "POST") {
    const branch = sent.branch_id ?? "";
    if (isTaken(branch)) return refused(409, "the branch has a primary");
    const made = service.made + 1;
    const endpoint: Standing = {
      id: made,
      at: baseURL,
      branch,
      name: sent.name,
      restarts: 0,
      ...set(sent, {}, undefined),
    };
    if (sent.disabled === true) endpoint.disabled = true;
    return ok([...service.endpoints, endpoint], endpoint, made);
  }
  if (target === undefined) return { service, answer: { kind: "notFound", message: "no such endpoint" } };
  const others = service.endpoints.filter((endpoint) => endpoint !== target);
  switch (method) {
    case "DELETE":
      return ok(others, target);
    case "RESTART": {
      const after = { ...target, restarts: target.restarts + 1 };
      return ok(
        [...others, after].toSorted((a, b) => a.id - b.id),
        after,
      );
    }
    case "PATCH": {
      const { branch_id: branch = target.branch, name = target.name, disabled = target.disabled } = sent;
      if (branch !== target.branch && isTaken(branch)) return refused(409, "the branch has a primary");
      const after: Standing = {
        ...target,
        ...set(sent, target, now),
        branch,
        name,
        disabled: disabled === true ? true : undefined,
      };
      return ok(
        [...others, after].toSorted((a, b) => a.id - b.id),
        after,
      );
    }
  }
}
