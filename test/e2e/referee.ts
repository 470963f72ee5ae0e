import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { freePort } from "../support/ports.ts";
import { goodKey } from "./manifests.ts";

const shownEndpoint = z.looseObject({
  id: z.string(),
  branch_id: z.string(),
  current_state: z.string(),
  pending_state: z.string().optional(),
  disabled: z.boolean().optional(),
});
type ShownEndpoint = z.infer<typeof shownEndpoint>;
const listBody = z.object({ endpoints: z.array(shownEndpoint) });
const patchBody = z.object({ endpoint: z.record(z.string(), z.unknown()) });

/** One write of the operator, as the referee saw it. */
export interface Play {
  /** Milliseconds since the epoch, by the clock that the service showed. */
  at: number;
  method: string;
  path: string;
  endpointID: string;
  /** The attributes of a PATCH. */
  sent: Record<string, unknown>;
  cuts: boolean;
  /** The endpoint in the last list that the operator had been answered, and the age of that list's request. */
  shown: ShownEndpoint | undefined;
  shownAgeMs: number;
  /** The endpoint as it was when the write arrived. */
  truth: ShownEndpoint | undefined;
  /** The ids of the others of its branch that were changing then. */
  busy: readonly string[];
  status?: number;
}

/** A moment in the life of a write, at which a test may do something before the write goes on. */
export type Stroke = "arrival" | "answer";

interface List {
  begun: number;
  headers: IncomingMessage["headers"];
  body: string;
}

const cuttingAttributes = ["autoscaling_limit_min_cu", "autoscaling_limit_max_cu", "settings", "branch_id"];

const busy = JSON.stringify({ code: "", message: "project already has running conflicting operations" });

/**
 * Stands between operator and service, on one port for ever. Records each write with the time, the list as shown before
 * and the compute as it was; shows another time than it is, and lists that lag.
 */
export class Referee implements AsyncDisposable {
  readonly baseURL: string;
  plays: Play[] = [];
  /** Number of lists answered. */
  lists = 0;
  /** Lists are this old when they are answered, in milliseconds; absent: they are new. */
  lagMs: number | undefined;
  /** Called at each stroke of each write; the write goes on once the answer resolves. */
  at: ((stroke: Stroke, play: Play) => Promise<void> | undefined) | undefined;
  /** Where it answers a status, the service hears nothing of the write. */
  refuses: ((play: Play) => number | undefined) | undefined;
  readonly #origin: string;
  readonly #server: Server;
  #aheadMs = 0;
  #kept: List[] = [];
  #answered: { begun: number; endpoints: ShownEndpoint[] } = { begun: Number.NEGATIVE_INFINITY, endpoints: [] };

  static async start(service: { baseURL: string }): Promise<Referee> {
    const port = await freePort();
    const referee = new Referee(port, new URL(service.baseURL).origin);
    await new Promise<void>((resolve, reject) => {
      referee.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    return referee;
  }

  private constructor(port: number, origin: string) {
    this.baseURL = `http://127.0.0.1:${port}/api/v2`;
    this.#origin = origin;
    this.#server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) => {
      this.#serve(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  /** The time as the service shows it, in milliseconds since the epoch. */
  get now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** From now on the service shows this time, and goes on from there. */
  show(time: string): void {
    this.#aheadMs = Date.parse(time) - Date.now();
  }

  /** The service's clock is set ahead, or back where negative. */
  jump(ms: number): void {
    this.#aheadMs += ms;
  }

  get cuts(): Play[] {
    return this.plays.filter(({ cuts }) => cuts);
  }

  clear(): void {
    this.plays = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = "GET", url: path = "/" } = incoming;
    const begun = performance.now();
    const body = await textOf(incoming);
    if (method !== "GET") return this.#write({ method, path, body, headers: incoming.headers }, outgoing);
    const isList = /\/projects\/[^/]+\/endpoints$/.test(path);
    const answer = await this.#ask(method, path, incoming.headers, body);
    if (!isList || answer.status !== 200) return this.#answer(answer, outgoing);
    this.#kept = [...this.#kept.filter((list) => begun - list.begun < 60_000), { begun, ...answer }];
    const lag = this.lagMs;
    const old = lag === undefined ? undefined : this.#kept.findLast((list) => list.begun <= begun - lag);
    const shown = lag === undefined ? answer : { ...answer, body: (old ?? this.#kept[0])?.body ?? answer.body };
    this.lists += 1;
    this.#answered = { begun, endpoints: listBody.parse(JSON.parse(shown.body)).endpoints };
    return this.#answer(shown, outgoing);
  }

  async #write(
    {
      method,
      path,
      body,
      headers,
    }: { method: string; path: string; body: string; headers: IncomingMessage["headers"] },
    outgoing: ServerResponse,
  ): Promise<void> {
    const endpointID = /\/endpoints\/(ep-[a-z0-9-]+)/.exec(path)?.[1] ?? "";
    const sent = method === "PATCH" ? patchBody.parse(JSON.parse(body)).endpoint : {};
    const isRestart = path.endsWith("/restart");
    const play: Play = {
      at: this.now,
      method,
      path,
      endpointID,
      sent,
      cuts: isRestart || cuttingAttributes.some((name) => name in sent),
      shown: this.#answered.endpoints.find(({ id }) => id === endpointID),
      shownAgeMs: performance.now() - this.#answered.begun,
      ...(await this.#truth(path, endpointID)),
    };
    this.plays.push(play);
    await this.at?.("arrival", play);
    const refused = this.refuses?.(play);
    const answer =
      refused === undefined
        ? await this.#ask(method, path, headers, body)
        : { status: refused, headers: {}, body: busy };
    play.status = answer.status;
    await this.at?.("answer", play);
    this.#answer(answer, outgoing);
  }

  async #truth(path: string, id: string): Promise<Pick<Play, "truth" | "busy">> {
    const list = path.replace(/\/endpoints\/.*$/, "/endpoints");
    const { status, body } = await this.#ask("GET", list, { authorization: `Bearer ${goodKey}` }, "");
    const endpoints = status === 200 ? listBody.parse(JSON.parse(body)).endpoints : [];
    const truth = endpoints.find((one) => one.id === id);
    const isBusy = ({ pending_state: pending, current_state: state }: ShownEndpoint) =>
      pending !== undefined || state !== "active";
    const others = endpoints.filter((one) => one.id !== id && one.branch_id === truth?.branch_id);
    return { truth, busy: others.filter(isBusy).map((one) => one.id) };
  }

  async #ask(method: string, path: string, headers: IncomingMessage["headers"], body: string) {
    const { host: _, ...onward } = headers;
    for (;;) {
      try {
        return await new Promise<{ status: number; headers: IncomingMessage["headers"]; body: string }>(
          (resolve, reject) => {
            const sent = request(`${this.#origin}${path}`, { method, headers: onward }, (answer) => {
              textOf(answer).then(
                (text) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }),
                reject,
              );
            });
            sent.on("error", reject);
            sent.end(body);
          },
        );
      } catch (error) {
        if (method !== "GET") throw error;
        await sleep(50);
      }
    }
  }

  #answer(
    { status, headers, body }: { status: number; headers: IncomingMessage["headers"]; body: string },
    outgoing: ServerResponse,
  ): void {
    const { "transfer-encoding": _, "content-length": __, ...kept } = headers;
    outgoing.writeHead(status, { ...kept, date: new Date(this.now).toUTCString() });
    outgoing.end(body);
  }
}

async function textOf(message: IncomingMessage): Promise<string> {
  message.setEncoding("utf8");
  let text = "";
  for await (const chunk of message) text += String(chunk);
  return text;
}
