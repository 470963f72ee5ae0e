import { BranchAnswer, BranchesAnswer, type ListedBranch } from "../../api/branch.ts";
import type { Operation } from "../../api/operation.ts";
import { RolePasswordAnswer } from "../../api/role.ts";
import type { Answer, Failure } from "./answer.ts";
import { allBranches, noteOf } from "./branch-pages.ts";
import type { AnswerReader } from "./endpoint-lists.ts";
import type { WriteCall } from "./exchange.ts";
import { RolePassword } from "./role-password.ts";
import type { ServiceResponse } from "./transport.ts";

/** The client's way of making calls. */
export interface Calls {
  read<T>(
    route: string,
    ids: readonly string[],
    reader: AnswerReader<T>,
    signal: AbortSignal,
    query?: Readonly<Record<string, string>>,
  ): Promise<Answer<T>>;
  send<T>(call: WriteCall, signal: AbortSignal, read: (response: ServiceResponse) => T | undefined): Promise<Answer<T>>;
  invalidResponse(call: string, why: string): Failure;
  /** Removes what nobody may see. */
  hiding: (text: string) => string;
}

/** The outcome of a write to a branch; the branch is absent if the service answers 204, because there is none. */
export interface WrittenBranch {
  branch: ListedBranch | undefined;
  operations: NonNullable<BranchAnswer["operations"]>;
}

/** The outcome of a reset of a role's password. */
export interface WrittenPassword {
  /** The answer shows no endpoint. */
  endpoint: undefined;
  password: RolePassword;
  operations: Operation[];
}

const route = "/projects/{p}/branches";
const one = `${route}/{b}`;

/** The service's calls on branches. */
export class BranchCalls {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** All branches of a project, or a failure if some may be missing. */
  async list(projectID: string, signal: AbortSignal): Promise<Answer<ListedBranch[]>> {
    const read = (query: Record<string, string>) => this.#calls.read(route, [projectID], BranchesAnswer, signal, query);
    const listed = await allBranches(read);
    return listed.kind === "incomplete" ? this.#calls.invalidResponse(`GET ${route}`, listed.problem) : listed;
  }

  /** `isDeleted`: the service shows the branch only because it can be recovered. */
  async get(projectID: string, id: string, signal: AbortSignal): Promise<Answer<{ isDeleted: boolean }>> {
    const answer = await this.#calls.read(one, [projectID, id], BranchAnswer, signal);
    if (answer.kind !== "ok") return answer;
    if (answer.value.branch.id !== id)
      return this.#calls.invalidResponse(`GET ${one}`, ": another branch than was asked for");
    return { ...answer, value: { isDeleted: answer.value.branch.recovery !== undefined } };
  }

  create(projectID: string, body: { branch: object }, signal: AbortSignal): Promise<Answer<WrittenBranch>> {
    return this.#write("POST", route, [projectID], body, signal);
  }

  patch(projectID: string, id: string, body: { branch: object }, signal: AbortSignal): Promise<Answer<WrittenBranch>> {
    return this.#write("PATCH", one, [projectID, id], body, signal);
  }

  delete(projectID: string, id: string, signal: AbortSignal): Promise<Answer<WrittenBranch>> {
    return this.#write("DELETE", one, [projectID, id], undefined, signal);
  }

  /** Gives a branch the state that another one has now. */
  reset(projectID: string, id: string, sourceID: string, signal: AbortSignal): Promise<Answer<WrittenBranch>> {
    return this.#write("POST", `${one}/restore`, [projectID, id], { source_branch_id: sourceID }, signal);
  }

  /** Gives a role of a branch another password. */
  resetPassword(ids: readonly [string, string, string], signal: AbortSignal): Promise<Answer<WrittenPassword>> {
    const call = { method: "POST", route: `${one}/roles/{r}/reset_password`, ids, body: undefined } as const;
    return this.#calls.send(call, signal, ({ body: answer }) => {
      const parsed = RolePasswordAnswer.safeParse(answer);
      if (!parsed.success || parsed.data.role.name !== ids[2]) return undefined;
      const { role, operations = [] } = parsed.data;
      return { endpoint: undefined, password: new RolePassword(role.password), operations: this.#shown(operations) };
    });
  }

  /** Operations whose errors people may see. */
  #shown(operations: readonly Operation[]): Operation[] {
    return operations.map((each) =>
      each.error === undefined ? each : { ...each, error: this.#calls.hiding(each.error) },
    );
  }

  #write(
    method: WriteCall["method"],
    path: string,
    ids: readonly string[],
    body: unknown,
    signal: AbortSignal,
  ): Promise<Answer<WrittenBranch>> {
    const [, id] = ids;
    return this.#calls.send({ method, route: path, ids, body }, signal, ({ status, body: answer }) => {
      if (status === 204) return { branch: undefined, operations: [] };
      const parsed = BranchAnswer.safeParse(answer);
      if (!parsed.success || (id !== undefined && parsed.data.branch.id !== id)) return undefined;
      const { branch, annotation, operations = [] } = parsed.data;
      const note = noteOf(annotation);
      return { branch: note === undefined ? branch : { ...branch, note }, operations: this.#shown(operations) };
    });
  }
}
