import { ApiKeyCreated, ApiKeysAnswer } from "../../../src/api/api-keys.ts";
import { EndpointAnswer, EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { OperationsAnswer } from "../../../src/api/operation.ts";

/** What a writer knows about one thing from answers, and what it has requested without an answer. */
interface Known {
  /** The name that the service last confirmed. */
  name: string;
  /** The name in a request that was never answered. */
  unanswered?: string;
}

/**
 * Writes to a project of its own and remembers every answer. A request that gets none may have had its effect or
 * not; everything that was answered must be found again.
 */
export class Writer {
  readonly #project: string;
  readonly #branch: string;
  readonly #key: string;
  readonly #random: () => number;
  readonly #endpoints = new Map<string, Known>();
  readonly #keys = new Map<number, { secret: string; revoked: boolean }>();
  /** Ids whose deletion or revocation was never answered. */
  readonly #doubtful = new Set<string | number>();
  /** Names of computes whose creation was never answered. */
  readonly #maybeCreated = new Set<string>();
  #keysMaybeCreated = 0;
  #counter = 0;
  /** Writes that were answered. */
  answered = 0;

  constructor({
    project,
    branch,
    key,
    random,
  }: { project: string; branch: string; key: string; random: () => number }) {
    this.#project = project;
    this.#branch = branch;
    this.#key = key;
    this.#random = random;
  }

  /** Writes one thing after another until the service is gone. */
  async writeUntilItEnds(baseURL: string): Promise<void> {
    try {
      for (;;) await this.#write(baseURL);
    } catch (error) {
      // A connection that ends is what this is about; a wrong answer is not.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  async #write(baseURL: string): Promise<void> {
    const chance = this.#random();
    const [id] = [...this.#endpoints.keys()].filter((known) => !this.#doubtful.has(known));
    if (id === undefined || (chance < 0.3 && this.#endpoints.size < 8)) await this.#create(baseURL);
    else if (chance < 0.7) await this.#rename(baseURL, id);
    else if (chance < 0.8) await this.#delete(baseURL, id);
    else if (chance < 0.95) await this.#createKey(baseURL);
    else await this.#revokeKey(baseURL);
  }

  async #create(baseURL: string): Promise<void> {
    const name = this.#nextName();
    this.#maybeCreated.add(name);
    const endpoint = { branch_id: this.#branch, type: "read_only", name };
    const answer = await this.#send(baseURL, "POST", `/projects/${this.#project}/endpoints`, { endpoint });
    this.#maybeCreated.delete(name);
    if (answer.status !== 201) return;
    this.#endpoints.set(EndpointAnswer.parse(await answer.json()).endpoint.id, { name });
    this.answered += 1;
  }

  async #rename(baseURL: string, id: string): Promise<void> {
    const known = this.#endpoints.get(id);
    if (!known) return;
    const name = this.#nextName();
    known.unanswered = name;
    const path = `/projects/${this.#project}/endpoints/${id}`;
    const { status } = await this.#send(baseURL, "PATCH", path, { endpoint: { name } });
    this.#endpoints.set(id, { name: status === 200 ? name : known.name });
    this.answered += 1;
  }

  async #delete(baseURL: string, id: string): Promise<void> {
    this.#doubtful.add(id);
    const { status } = await this.#send(baseURL, "DELETE", `/projects/${this.#project}/endpoints/${id}`);
    this.#doubtful.delete(id);
    if (status !== 200) return;
    this.#endpoints.delete(id);
    this.answered += 1;
  }

  async #createKey(baseURL: string): Promise<void> {
    this.#keysMaybeCreated += 1;
    const answer = await this.#send(baseURL, "POST", "/api_keys", { key_name: this.#nextName() });
    this.#keysMaybeCreated -= 1;
    if (answer.status !== 200) return;
    const { id, key } = ApiKeyCreated.parse(await answer.json());
    this.#keys.set(id, { secret: key, revoked: false });
    this.answered += 1;
  }

  async #revokeKey(baseURL: string): Promise<void> {
    const [id] = [...this.#keys].find(([, { revoked }]) => !revoked) ?? [];
    if (id === undefined) return;
    this.#doubtful.add(id);
    const { status } = await this.#send(baseURL, "DELETE", `/api_keys/${id}`);
    this.#doubtful.delete(id);
    const key = this.#keys.get(id);
    if (status === 200 && key) key.revoked = true;
    this.answered += 1;
  }

  /**
   * All that the service has lost, invented or left half done since it was killed. What it has is then taken as known.
   */
  async problems(baseURL: string): Promise<string[]> {
    const path = `/projects/${this.#project}`;
    const listed = EndpointsAnswer.parse(
      await (await this.#send(baseURL, "GET", `${path}/endpoints`)).json(),
    ).endpoints;
    const operations = OperationsAnswer.parse(await (await this.#send(baseURL, "GET", `${path}/operations`)).json());
    const started = new Set(operations.operations.map(({ endpoint_id }) => endpoint_id));
    const problems: string[] = [];
    for (const [id, { name, unanswered }] of this.#endpoints) {
      const found = listed.find((endpoint) => endpoint.id === id);
      if (!found && !this.#doubtful.has(id)) problems.push(`${id} (${name}) was answered and is lost`);
      if (found && found.name !== name && found.name !== unanswered) {
        problems.push(`${id} is named ${found.name}, but ${name} was answered`);
      }
    }
    for (const { id, name = "" } of listed) {
      if (!started.has(id)) problems.push(`${id} is there, but its start is not: half done`);
      if (!this.#endpoints.has(id) && !this.#maybeCreated.has(name))
        problems.push(`${id} (${name}) was never asked for`);
    }
    problems.push(...(await this.#keyProblems(baseURL)));
    this.#takeAsKnown(listed);
    return problems;
  }

  async #keyProblems(baseURL: string): Promise<string[]> {
    const listed = ApiKeysAnswer.parse(await (await this.#send(baseURL, "GET", "/api_keys")).json());
    const ids = new Set(listed.map(({ id }) => id));
    const problems: string[] = [];
    for (const [id, { revoked }] of this.#keys) {
      if (this.#doubtful.has(id)) continue;
      if (revoked && ids.has(id)) problems.push(`key ${id} was revoked and is back`);
      if (!revoked && !ids.has(id)) problems.push(`key ${id} was answered and is lost`);
    }
    const unknown = listed.filter(({ id }) => !this.#keys.has(id)).length - this.#keysMaybeCreated - 1;
    if (unknown > 0) problems.push(`${unknown} keys are there that nobody asked for`);
    const [probe] = [...this.#keys].filter(([id]) => !this.#doubtful.has(id)).slice(-1);
    if (probe) {
      const headers = { authorization: `Bearer ${probe[1].secret}` };
      const { status } = await fetch(`${baseURL}/auth`, { headers });
      if ((status === 200) === probe[1].revoked) problems.push(`key ${probe[0]} answers ${status}`);
    }
    return problems;
  }

  #takeAsKnown(listed: EndpointsAnswer["endpoints"]): void {
    this.#endpoints.clear();
    for (const { id, name = "" } of listed) this.#endpoints.set(id, { name });
    for (const id of this.#doubtful) if (typeof id === "number") this.#keys.delete(id);
    this.#keysMaybeCreated += [...this.#doubtful].filter((id) => typeof id === "number").length;
    this.#doubtful.clear();
    this.#maybeCreated.clear();
  }

  #nextName(): string {
    this.#counter += 1;
    return `${this.#project}-${this.#counter}`;
  }

  #send(baseURL: string, method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(`${baseURL}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}` },
      // A service that hangs is a failure of its own, and no crash.
      signal: AbortSignal.timeout(60_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}
