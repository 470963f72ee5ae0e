import type { z } from "zod";
import { AuthAnswer } from "../../api/auth.ts";
import { ConnectionUriAnswer } from "../../api/connection-uri.ts";
import { type Endpoint, EndpointAnswer } from "../../api/endpoint.ts";
import { type Operation, OperationAnswer, OperationsAnswer } from "../../api/operation.ts";
import { type Project, ProjectAnswer, ProjectsAnswer } from "../../api/project.ts";
import { turnsOf } from "../runtime/event-loop.ts";
import { type Account, accountFingerprint } from "./account.ts";
import { type Answer, type Failure, failureOf } from "./answer.ts";
import { BranchCalls } from "./branch-calls.ts";
import { type AnswerReader, EndpointLists } from "./endpoint-lists.ts";
import type { WriteCall, WriteMethod } from "./exchange.ts";
import { type ExchangeOptions, exchange } from "./exchange.ts";
import { operationsAmong, operationsListed } from "./operations-answer.ts";
import { type AdmissionOptions, RequestReservation } from "./request-reservation.ts";
import { mostBytes, type ServiceResponse } from "./transport.ts";

export interface ServiceClientOptions extends ExchangeOptions {
  /** Called with each failure; returns what it counts as. */
  onFailure?: (failure: Failure) => Failure;
  /** Called with each 2xx: the service accepts the key. */
  onAccepted?: () => void;
  /** Called with each answer that shows the name of an endpoint. */
  onNameShown?: () => void;
}

/** The outcome of a write to an endpoint. */
export interface Written {
  endpoint: Endpoint | undefined;
  operations: Operation[];
}

/** The most pages of projects that are read, 400 projects each. */
const mostProjectPages = 50;

/** The service's calls, typed. Sends each write exactly once; takes every request from the budget. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #lists: EndpointLists;
  readonly branches: BranchCalls;

  constructor(options: ServiceClientOptions, lists = new EndpointLists()) {
    this.#options = options;
    this.#lists = lists;
    this.branches = new BranchCalls({
      read: (...call) => this.#read(...call),
      send: (...call) => this.#send(...call),
      invalidResponse: (...why) => this.#invalidResponse(...why),
      hiding: this.#hiding,
    });
  }

  readonly #hiding = (text: string) => this.account.key.hiddenIn(text);

  get account(): Account {
    return this.#options.account;
  }

  /** The fingerprint of base URL and key. */
  get fingerprint(): string {
    return accountFingerprint(this.#options.account);
  }

  /** The budget's place for `who`; `ready` is called when it is their turn, if they had to wait and `mayCome` then. */
  reservation(who: unknown, ready: () => void, tenant = "", mayCome?: () => boolean): RequestReservation {
    return new RequestReservation(this.#options.budget, who, ready, tenant, mayCome);
  }

  /** `who` no longer wants to send anything. */
  leave(who: unknown): void {
    this.#options.budget.leave(who);
  }

  /** Time for which nothing may be sent because the service asked for a pause, in milliseconds. */
  get closedForMs(): number {
    return this.#options.budget.closedForMs;
  }

  /** A client for one caller, who alone is asked whether a write was `withdrawn` meanwhile. */
  within(
    reservation: RequestReservation,
    caller: Pick<AdmissionOptions, "withdrawn" | "changeBlockedWorkers"> = {},
  ): ServiceClient {
    return new ServiceClient({ ...this.#options, ...caller, reservation }, this.#lists);
  }

  async listEndpoints(projectID: string, signal: AbortSignal): Promise<Answer<Endpoint[]>> {
    const reader = this.#lists.reader(projectID, () => turnsOf(this.#options.clock).next(signal));
    const answer = await this.#read("/projects/{p}/endpoints", [projectID], reader, signal);
    if (answer.kind !== "ok") return answer;
    const endpoints = answer.value;
    const ids = new Set(endpoints.map(({ id }) => id));
    if (ids.size < endpoints.length) return this.#invalidResponse("GET /projects/{p}/endpoints", ": one id twice");
    this.#noteNames(endpoints);
    return answer;
  }

  /** The project is not listed any more. */
  forgetList(projectID: string): void {
    this.#lists.forget(projectID);
  }

  async getEndpoint(projectID: string, endpointID: string, signal: AbortSignal): Promise<Answer<Endpoint>> {
    const answer = await this.#read("/projects/{p}/endpoints/{e}", [projectID, endpointID], EndpointAnswer, signal);
    if (answer.kind === "ok" && answer.value.endpoint.id !== endpointID) {
      return this.#invalidResponse("GET /projects/{p}/endpoints/{e}", ": another endpoint than was asked for");
    }
    if (answer.kind === "ok") this.#noteNames([answer.value.endpoint]);
    return mapped(answer, ({ endpoint }) => endpoint);
  }

  createEndpoint(projectID: string, body: { endpoint: object }, signal: AbortSignal): Promise<Answer<Written>> {
    return this.#write("POST", "/projects/{p}/endpoints", [projectID], body, signal);
  }

  patchEndpoint(
    projectID: string,
    id: string,
    body: { endpoint: object },
    signal: AbortSignal,
  ): Promise<Answer<Written>> {
    return this.#write("PATCH", "/projects/{p}/endpoints/{e}", [projectID, id], body, signal);
  }

  /** The value has no endpoint if the service answers 204, because there is none. */
  deleteEndpoint(projectID: string, id: string, signal: AbortSignal): Promise<Answer<Written>> {
    return this.#write("DELETE", "/projects/{p}/endpoints/{e}", [projectID, id], undefined, signal);
  }

  restartEndpoint(projectID: string, id: string, signal: AbortSignal): Promise<Answer<Written>> {
    return this.#write("POST", "/projects/{p}/endpoints/{e}/restart", [projectID, id], undefined, signal);
  }

  /** The newest operations of a project, or those of them that are `wanted` by id. */
  async listOperations(
    projectID: string,
    signal: AbortSignal,
    { limit = operationsListed, wanted }: { limit?: number; wanted?: (id: string) => boolean } = {},
  ): Promise<Answer<Operation[]>> {
    const query = { limit: String(limit) };
    const reader = wanted === undefined ? OperationsAnswer : operationsAmong(wanted);
    const answer = await this.#read("/projects/{p}/operations", [projectID], reader, signal, query);
    return mapped(answer, ({ operations }) => operations.map((one) => withoutKey(one, this.#hiding)));
  }

  async getOperation(projectID: string, id: string, signal: AbortSignal): Promise<Answer<Operation>> {
    const answer = await this.#read("/projects/{p}/operations/{o}", [projectID, id], OperationAnswer, signal);
    return mapped(answer, ({ operation }) => withoutKey(operation, this.#hiding));
  }

  async getProject(projectID: string, signal: AbortSignal): Promise<Answer<Project>> {
    const answer = await this.#read("/projects/{p}", [projectID], ProjectAnswer, signal);
    return mapped(answer, ({ project }) => project);
  }

  /** All projects, page by page. `complete` is false if the service says that some are missing. */
  async listProjects(
    organizationID: string | undefined,
    signal: AbortSignal,
  ): Promise<Answer<{ projects: Project[]; complete: boolean }>> {
    const projects = new Map<string, Project>();
    let complete = true;
    let cursor: string | undefined;
    let bytes = 0;
    for (let page = 0; page < mostProjectPages; page += 1) {
      const query = {
        limit: "400",
        ...(cursor === undefined ? {} : { cursor }),
        ...(organizationID === undefined ? {} : { org_id: organizationID }),
      };
      // Each page needs the cursor of the previous one.
      const answer = await this.#read("/projects", [], ProjectsAnswer, signal, query);
      if (answer.kind !== "ok") return answer;
      const { value } = answer;
      if ((value.unavailable_project_ids?.length ?? 0) > 0) complete = false;
      const before = projects.size;
      for (const project of value.projects) projects.set(project.id, project);
      const next = value.pagination?.cursor;
      if (next === undefined || next === cursor || value.projects.length === 0 || projects.size === before) {
        return { kind: "ok", status: answer.status, value: { projects: [...projects.values()], complete } };
      }
      bytes += answer.bytes ?? 0;
      if (bytes > mostBytes.endpoints) break;
      cursor = next;
    }
    return { kind: "ok", status: 200, value: { projects: [...projects.values()], complete: false } };
  }

  auth(signal: AbortSignal): Promise<Answer<AuthAnswer>> {
    return this.#read("/auth", [], AuthAnswer, signal);
  }

  async connectionURI(
    projectID: string,
    query: { database_name: string; role_name: string; endpoint_id: string; pooled: string },
    signal: AbortSignal,
  ): Promise<Answer<string>> {
    const answer = await this.#read("/projects/{p}/connection_uri", [projectID], ConnectionUriAnswer, signal, query);
    return mapped(answer, ({ uri }) => uri);
  }

  async #read<T>(
    route: string,
    ids: readonly string[],
    reader: AnswerReader<T>,
    signal: AbortSignal,
    query?: Readonly<Record<string, string>>,
  ): Promise<Answer<T>> {
    const sent = await exchange(this.#options, { method: "GET", route, ids, query }, signal);
    if (sent.kind === "failed") return this.#failed(sent.failure);
    const { response } = sent;
    const { status, bytes = 0 } = response;
    const isOk = status >= 200 && status < 300;
    const known = isOk ? reader.known?.(response) : undefined;
    if (!isOk || (known === undefined && !response.json)) {
      return this.#failed(failureOf(response, false, this.#hiding));
    }
    this.#options.onAccepted?.();
    if (known !== undefined) return { kind: "ok", status, value: known, bytes };
    const parsed = await reader.safeParse(response.body);
    if (parsed.success) return { kind: "ok", status, value: parsed.data, bytes };
    return this.#invalidResponse(`GET ${route}`, placeOf(parsed.error));
  }

  #write(
    method: WriteMethod,
    route: string,
    ids: readonly string[],
    body: unknown,
    signal: AbortSignal,
  ): Promise<Answer<Written>> {
    const none = { endpoint: undefined, operations: [] };
    return this.#send({ method, route, ids, body }, signal, (response) => {
      if (response.status === 204) return none;
      const parsed = EndpointAnswer.safeParse(response.body);
      if (parsed.success && isAbout(ids, parsed.data.endpoint)) {
        const { endpoint, operations } = parsed.data;
        this.#noteNames([endpoint]);
        return { endpoint, operations: (operations ?? []).map((one) => withoutKey(one, this.#hiding)) };
      }
      // Restart and start responses are undocumented, so any 2xx JSON body is accepted.
      return route.endsWith("/restart") && response.json ? none : undefined;
    });
  }

  /** Sends a write once; `read` takes the value out of a 2xx, or finds that it is not the service's own. */
  async #send<T>(
    call: WriteCall,
    signal: AbortSignal,
    read: (response: ServiceResponse) => T | undefined,
  ): Promise<Answer<T>> {
    const sent = await exchange(this.#options, call, signal);
    if (sent.kind === "failed") return this.#failed(sent.failure);
    const { response } = sent;
    if (response.status < 200 || response.status >= 300) return this.#failed(failureOf(response, true, this.#hiding));
    this.#options.onAccepted?.();
    const value = read(response);
    if (value !== undefined) return { kind: "ok", status: response.status, value };
    const message = `HTTP ${response.status} with a body that is not the service's`;
    return this.#failed({ kind: "ambiguous", message });
  }

  #noteNames(endpoints: readonly Endpoint[]): void {
    if (endpoints.some(({ name }) => name !== undefined)) this.#options.onNameShown?.();
  }

  /** A read whose answer is not what was asked for: nothing is concluded from it. */
  #invalidResponse(call: string, why: string): Failure {
    return this.#failed({ kind: "unavailable", message: `${call}: an invalid answer${why}` });
  }

  #failed(failure: Failure): Failure {
    return this.#options.onFailure?.(failure) ?? failure;
  }
}

/** True if an answer shows the endpoint that the request named, if it named one. */
function isAbout([, endpointID]: readonly string[], { id }: Endpoint): boolean {
  return endpointID === undefined || id === endpointID;
}

/** The error of an operation is shown to people too. */
function withoutKey(operation: Operation, hiding: (text: string) => string): Operation {
  return operation.error === undefined ? operation : { ...operation, error: hiding(operation.error) };
}

/** The answer with its value replaced. */
function mapped<T, U>(answer: Answer<T>, map: (value: T) => U): Answer<U> {
  return answer.kind === "ok" ? { ...answer, value: map(answer.value) } : answer;
}

/** The first invalid field of an answer, by its name in the schema. */
function placeOf({ issues: [issue] }: z.ZodError): string {
  return issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.join(".")}`;
}
