import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, fetch, type Response } from "undici";
import { ServiceProcess } from "../support/processes.ts";
import type { Bench, Figure } from "./figures.ts";
import { computesPerProject, largeSeed, projects } from "./large-seed.ts";

const rounds = 50;
const idleSeconds = 10;
/** Milliseconds of one tick of the clock that Linux counts a process's CPU in. */
const tickMs = 10;

const branch = "/app/projects/project-0/branches/br-0";
const pages = {
  "the list of projects": "/",
  "a project": "/app/projects/project-0",
  "a branch, its first 50 computes": branch,
  "a branch, its last 50 computes": `${branch}?page=20`,
  "a compute": `${branch}/computes/ep-0-0`,
  "the operations of a project": "/app/projects/project-0/operations",
  "API keys": "/app/keys",
};

/** Pages of a branch with 1,000 computes, and what a service costs that nobody asks for anything. */
export const consolePages: Bench = {
  name: "console-pages",
  measures: `the console's pages at ${computesPerProject} computes on a branch, ${projects * computesPerProject} in the store`,
  async run(progress) {
    await using service = await ServiceProcess.start({ seed: largeSeed() });
    const visitor = new Visitor(service.baseURL.replace("/api/v2", ""));
    await visitor.signIn("acc-0");
    const figures: Figure[] = [];
    for (const [name, path] of Object.entries(pages)) {
      const samples = await visitor.rounds(path);
      figures.push({ name, unit: "ms", samples, below: 50 });
      progress(`${path} done`);
    }
    const open = await visitor.get("/app/changes");
    await sleep(1000);
    const before = cpuMs(service.child.pid);
    await sleep(idleSeconds * 1000);
    const idle = cpuMs(service.child.pid) - before;
    await open.body?.cancel();
    await visitor.close();
    const name = `CPU of the idle service in ${idleSeconds} s, a page open`;
    return [...figures, { name, unit: "ms", samples: [idle], below: 50 }];
  },
};

/** Somebody at the console, signed in. */
class Visitor {
  readonly #address: string;
  readonly #agent = new Agent();
  #cookie = "";

  constructor(address: string) {
    this.#address = address;
  }

  async signIn(account: string): Promise<void> {
    const front = await this.get("/");
    this.#keep(front);
    const token = /name="token" value="([^"]+)"/.exec(await front.text())?.[1] ?? "";
    const body = new URLSearchParams({ account, token });
    const init = { method: "POST", body, redirect: "manual", headers: { cookie: this.#cookie } } as const;
    const answer = await fetch(`${this.#address}/app/sign-in`, { ...init, dispatcher: this.#agent });
    if (answer.status !== 303) throw new Error(`not signed in: ${answer.status}`);
    this.#keep(answer);
  }

  async get(path: string): Promise<Response> {
    const answer = await fetch(`${this.#address}${path}`, {
      dispatcher: this.#agent,
      headers: { cookie: this.#cookie },
    });
    if (answer.status !== 200) throw new Error(`${path} is answered with ${answer.status}`);
    return answer;
  }

  /** Milliseconds for each of several loads of a page, one after the other. */
  async rounds(path: string): Promise<number[]> {
    const samples: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const began = performance.now();
      await (await this.get(path)).text();
      samples.push(performance.now() - began);
    }
    return samples;
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  #keep({ headers }: Response): void {
    this.#cookie = headers.get("set-cookie")?.split(";")[0] ?? this.#cookie;
  }
}

/** What a process has used of the CPU since it began, as Linux counts it. */
function cpuMs(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user = "0", system = "0"] = fields.split(" ").slice(11, 13);
  return (Number(user) + Number(system)) * tickMs;
}
