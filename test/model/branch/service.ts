import type { ListedBranch } from "../../../src/api/branch.ts";
import {
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "../../../src/operator/service-client/transport.ts";

/** What becomes of a write: the last four leave no usable answer, and `late` is carried out this long after. */
export type Fate = "answered" | "busy" | "refused" | "lost before" | "lost after" | "garbled" | "late";

/** A write that comes late is carried out after this long, in milliseconds: within `--create-settle`. */
const lateMs = 50_000;

/** The service's branches, and what is on the way there. Only data: a search copies it. */
export interface ServiceState {
  branches: ListedBranch[];
  /** Writes that are carried out later, by the monotonic clock. */
  underWay: { at: number; request: Pick<ServiceRequest, "method" | "path" | "body"> }[];
  nextID: number;
  /** How often each branch was reset. */
  resets: number;
  /** Requests that changed or deleted a branch which is not the object's. */
  wronged: string[];
  showsResets: boolean;
}

export const parentID = "br-main";
export const uidKey = "compute-operator.dev/uid";

export function newService(showsResets: boolean): ServiceState {
  const parent = { id: parentID, name: "main", default: true, current_state: "ready" };
  return { branches: [parent], underWay: [], nextID: 1, resets: 0, wronged: [], showsResets };
}

/** Carries out what is due, and ends branches whose time has come. */
export function pass(service: ServiceState, now: number): void {
  const due = service.underWay.filter(({ at }) => at <= now);
  service.underWay = service.underWay.filter(({ at }) => at > now);
  for (const { request } of due) carryOut(service, request, now);
  service.branches = service.branches.filter(({ expires_at: end }) => end === undefined || Date.parse(end) > now);
}

/** The port of the operator's client. `fate`: of the next write alone. */
export function transportTo(service: ServiceState, now: () => number, fate: Fate, uid: string): ServiceTransport {
  let isUsed = false;
  return {
    send: async (request) => {
      if (request.method === "GET") return carryOut(service, request, now());
      judge(service, request, uid);
      const own = isUsed ? "answered" : fate;
      isUsed = true;
      switch (own) {
        case "answered":
          return carryOut(service, request, now());
        case "busy":
          return answer(423, { code: "", message: "project already has running conflicting operations" });
        case "refused":
          return answer(400, { code: "", message: "this is not allowed" });
        case "lost before":
          throw new NoResponseError("no answer");
        case "lost after":
          carryOut(service, request, now());
          throw new NoResponseError("no answer");
        case "garbled":
          carryOut(service, request, now());
          return { status: 502, body: undefined, json: false };
        case "late":
          service.underWay.push({ at: now() + lateMs, request });
          throw new NoResponseError("no answer");
      }
    },
  };
}

function judge(service: ServiceState, { method, path }: Pick<ServiceRequest, "method" | "path">, uid: string): void {
  const id = idIn(path);
  const target = service.branches.find((branch) => branch.id === id);
  if (target !== undefined && target.note?.[uidKey] !== uid) service.wronged.push(`${method} ${id} of somebody else`);
}

function carryOut(
  service: ServiceState,
  { method, path, body }: Pick<ServiceRequest, "method" | "path" | "body">,
  now: number,
): ServiceResponse {
  const id = idIn(path);
  const found = service.branches.find((branch) => branch.id === id);
  if (id !== undefined && found === undefined) return answer(404, { code: "", message: "branch not found" });
  const given: { branch?: Partial<ListedBranch>; annotation_value?: Record<string, string> } = Object(body);
  if (path.endsWith("/restore") && found !== undefined) {
    service.resets += 1;
    const at = new Date(now).toISOString();
    return changed(service, found, service.showsResets ? { last_reset_at: at } : {});
  }
  switch (method) {
    case "POST":
      return created(service, given, now);
    case "PATCH":
      return found === undefined ? answer(404, {}) : changed(service, found, { ...given.branch });
    case "DELETE":
      service.branches = service.branches.filter((branch) => branch !== found);
      return answer(200, { branch: found, operations: [] });
    case "GET":
      return answer(200, { branch: found });
  }
}

function created(
  service: ServiceState,
  { branch = {}, annotation_value: note = {} }: { branch?: Partial<ListedBranch>; annotation_value?: object },
  now: number,
): ServiceResponse {
  const { name = "", expires_at } = branch;
  if (service.branches.some((one) => one.name === name)) {
    return answer(409, { code: "", message: `branch already exists; branch_name:"${name}"` });
  }
  const id = `br-${service.nextID++}`;
  const made: ListedBranch = {
    id,
    name,
    parent_id: parentID,
    current_state: "ready",
    created_at: new Date(now).toISOString(),
    note: { ...note },
    ...(expires_at === undefined ? {} : { expires_at }),
  };
  service.branches = [...service.branches, made];
  return answer(201, { branch: shown(made), annotation: { value: made.note }, operations: [] });
}

function changed(service: ServiceState, before: ListedBranch, more: Partial<ListedBranch>): ServiceResponse {
  const { expires_at: end, ...rest } = { ...before, ...more };
  const after: ListedBranch = { ...rest, ...(typeof end === "string" ? { expires_at: end } : {}) };
  service.branches = service.branches.map((branch) => (branch === before ? after : branch));
  return answer(200, { branch: shown(after), annotation: { value: after.note }, operations: [] });
}

/** As an answer shows it: the note is a member beside it. */
function shown(branch: ListedBranch): object {
  return { ...branch, note: undefined };
}

function idIn(path: string): string | undefined {
  return /\/branches\/([^/]+)/.exec(path)?.[1];
}

function answer(status: number, body: object): ServiceResponse {
  return { status, body, json: true };
}
