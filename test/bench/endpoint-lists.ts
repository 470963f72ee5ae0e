import { Agent, request } from "undici";
import { ServiceProcess } from "../support/processes.ts";
import type { Bench, Figure } from "./figures.ts";
import { accounts, computesPerProject, largeSeed, projects } from "./large-seed.ts";

const rounds = 10;
const requestsPerRound = 200;
/** Milliseconds for each request at 150 requests a second. */
const promised = 6.67;

/** GET endpoints of a project with 1,000 computes, 10,000 in the store: each body is some 0.7 MB. */
export const endpointLists: Bench = {
  name: "endpoint-lists",
  measures: `the service's list of ${computesPerProject} computes, ${projects * computesPerProject} in its store; it runs on one core`,
  async run(progress) {
    await using service = await ServiceProcess.start({ seed: largeSeed() });
    const agent = new Agent({ connections: 4 });
    const client = new Client(service.baseURL, agent);
    await client.list();
    progress(`each list has ${client.bytes} bytes`);
    const unchanged = await client.rounds(() => client.list());
    const changing = await client.rounds(async () => {
      await client.rename();
      await client.list();
    });
    await agent.close();
    return [
      figure("time for each list, nothing changing", unchanged, promised),
      figure("time for each change and the list after it", changing),
    ];
  },
};

class Client {
  readonly #baseURL: string;
  readonly #agent: Agent;
  #account = 0;
  bytes = 0;

  constructor(baseURL: string, agent: Agent) {
    this.#baseURL = baseURL;
    this.#agent = agent;
  }

  async list(): Promise<void> {
    const { statusCode, body } = await this.#send("GET", "/projects/project-0/endpoints");
    const bytes = (await body.arrayBuffer()).byteLength;
    if (statusCode !== 200) throw new Error(`the list was answered with ${statusCode}`);
    this.bytes = bytes;
  }

  async rename(): Promise<void> {
    const body = { endpoint: { name: `name-${this.#account}` } };
    const answer = await this.#send("PATCH", "/projects/project-0/endpoints/ep-0-0", body);
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`the change was answered with ${answer.statusCode}`);
  }

  /** Milliseconds for each call, over several rounds of calls from four clients at once. */
  async rounds(call: () => Promise<void>): Promise<number[]> {
    const samples: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          for (let sent = 0; sent < requestsPerRound / 4; sent++) await call();
        }),
      );
      samples.push((performance.now() - began) / requestsPerRound);
    }
    return samples;
  }

  #send(method: "GET" | "PATCH", path: string, body?: unknown) {
    this.#account = (this.#account + 1) % accounts;
    return request(`${this.#baseURL}${path}`, {
      dispatcher: this.#agent,
      method,
      headers: { authorization: `Bearer key-${this.#account}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}

function figure(name: string, samples: readonly number[], below?: number): Figure {
  return { name, unit: "ms", samples, ...(below !== undefined && { below }) };
}
