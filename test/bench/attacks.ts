import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { CreatedBranch, PostgresRig, primary, project } from "../service/postgres/rig.ts";
import type { Bench, Figure } from "./figures.ts";

const megabyte = 1024 ** 2;
/** The time for which each attack is watched at most, in milliseconds. */
const watchMs = 30_000;
/** The time for which unfinished requests are left open, in milliseconds. */
const openMs = 3000;

/** Requests that are to stop the service, each on a connection of its own. */
interface Attack {
  name: string;
  /** Makes what the requests are about, before anything is measured; answers a path or an id for `head`. */
  prepare?: (rig: PostgresRig, uri: string) => Promise<string>;
  /** `uri`: of a role that can log in. */
  head: (uri: string, length: number, prepared: string) => string;
  body: () => Buffer;
  /** Default 1. */
  times?: number;
  /** The length that the head says, where the body never ends. */
  unfinished?: number;
}

const stranger = "postgresql://app:wrong@ep-none.localhost/stock";
const zeros = (megabytes: number) => () => list('{"queries":[', "0,", megabytes, "0]}");
const text = (megabytes: number) => () => list('{"query":"SELECT length($1)","params":["', "x", megabytes, '"]}');

/** A branch whose only function differs from that of its parent in all of its lines; answers its path. */
async function differing(rig: PostgresRig, uri: string): Promise<string> {
  const lines = (word: string) => Array.from({ length: 30_000 }, (_, at) => `-- ${word} ${at}`).join("\n");
  const long = (word: string) =>
    `CREATE OR REPLACE FUNCTION long() RETURNS int LANGUAGE sql AS $$ SELECT 1\n${lines(word)} $$`;
  await rig.query(uri, long("one"));
  const made = await rig.call("POST", `/projects/${project}/branches`, { endpoints: [{ type: "read_write" }] });
  const { branch, endpoints } = CreatedBranch.parse(made.body);
  await rig.settled();
  const endpoint = endpoints[0]?.id ?? "";
  await rig.query(await rig.uri({ endpoint }), long("other"));
  return `/api/v2/projects/${project}/branches/${branch.id}`;
}

const all: readonly Attack[] = [
  {
    name: "a comparison of schemas that differ in 30,000 lines, with a key",
    prepare: differing,
    head: (_, length, path) => apiHead("GET", `${path}/compare_schema?db_name=stock`, length),
    body: () => Buffer.alloc(0),
  },
  {
    name: "300 logins at /sql with a wrong password, at once",
    head: (uri, length) => sqlHead(uri.replace(/:[^:@]*@/, ":wrong@"), length),
    body: () => Buffer.from('{"query":"SELECT 1"}'),
    times: 300,
  },
  ...[2, 8, 60].map((size) => ({
    name: `${size} MB of zeros for statements, without a login`,
    head: (_: string, length: number) => sqlHead(stranger, length),
    body: zeros(size),
  })),
  { name: "60 MB of zeros for statements, logged in", head: sqlHead, body: zeros(60) },
  { name: "one parameter of 60 MB, logged in", head: sqlHead, body: text(60) },
  {
    name: "five million rows, logged in",
    head: sqlHead,
    body: () => Buffer.from('{"query":"SELECT 1 FROM generate_series(1, 5000000)"}'),
  },
  {
    name: "1 MB of addresses in allowed_ips, with a key",
    head: (_, length) => apiHead("PATCH", `/api/v2/projects/${project}`, length),
    body: () => list('{"project":{"settings":{"allowed_ips":{"ips":[', "0,", 0.9, "0]}}}}"),
  },
  {
    name: "20 unfinished bodies of 60 MB, without a login",
    head: (_, length) => sqlHead(stranger, length),
    body: text(50),
    times: 20,
    unfinished: 60 * megabyte,
  },
  {
    name: "20 unfinished bodies of 60 MB, logged in",
    head: sqlHead,
    body: text(50),
    times: 20,
    unfinished: 60 * megabyte,
  },
  {
    name: "10 unfinished frames of 60 MB, before a login",
    head: () => webSocketHead,
    body: () => Buffer.concat([frameHead(60 * megabyte), Buffer.alloc(50 * megabyte)]),
    times: 10,
    unfinished: 0,
  },
];

/** The service under single requests and unfinished ones: the longest wait for `/healthz`, and memory. */
export const attacks: Bench = {
  name: "attacks",
  measures: "the longest wait for /healthz under each attack, beside its usual one; resident memory, highest and after",
  async run(progress) {
    const figures: Figure[] = [];
    for (const attack of all) {
      // Each has a service of its own: one that has ended is no measure of the next.
      await using rig = await PostgresRig.start();
      const uri = await rig.uri();
      await rig.query(uri, "SELECT 1");
      const prepared = (await attack.prepare?.(rig, uri)) ?? "";
      const { waits, usual, highest, after } = await watched(rig, attack, uri, prepared);
      progress(`${attack.name}: ${Math.max(...waits).toFixed(0)} ms`);
      figures.push(
        { name: `${attack.name}: /healthz before`, unit: "ms", samples: usual },
        { name: `${attack.name}: /healthz meanwhile`, unit: "ms", samples: waits },
        { name: `${attack.name}: memory, highest`, unit: "MB", samples: [highest] },
        { name: `${attack.name}: memory, after`, unit: "MB", samples: [after] },
      );
    }
    return figures;
  },
};

async function watched(rig: PostgresRig, { head, body, times = 1, unfinished }: Attack, uri: string, prepared: string) {
  const bytes = body();
  const health = new Health(rig.serviceAddress);
  const usual = await health.during(sleep(1000));
  const sockets = Array.from({ length: times }, () => {
    const { hostname, port } = new URL(`http://${rig.serviceAddress}`);
    const socket = connect(Number(port), hostname).on("error", () => {});
    socket.write(head(uri, unfinished ?? bytes.length, prepared));
    socket.write(bytes);
    return socket;
  });
  const end = unfinished === undefined ? Promise.all(sockets.map(ended)).then(() => sleep(200)) : sleep(openMs);
  const waits = await health.during(Promise.race([end, sleep(watchMs)]));
  const highest = memory(rig.child.pid, "VmHWM");
  for (const socket of sockets) socket.destroy();
  await sleep(1000);
  health.close();
  return { waits, usual, highest, after: memory(rig.child.pid, "VmRSS") };
}

/** Resolves when an answer has come whole, or the connection has ended. */
function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    // The request says that the connection ends with its answer.
    socket.once("close", () => resolve());
    socket.resume();
  });
}

/** Asks for `/healthz` without a pause. */
class Health {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  /** Milliseconds that each answer took until then; infinite for one that did not come. */
  async during(until: Promise<unknown>): Promise<number[]> {
    const samples: number[] = [];
    const state = { isOver: false };
    const end = () => {
      state.isOver = true;
    };
    until.then(end, end);
    while (!state.isOver) {
      const began = performance.now();
      const isAnswered = await this.#ask();
      samples.push(isAnswered ? performance.now() - began : Number.POSITIVE_INFINITY);
      await sleep(isAnswered ? 5 : 200);
    }
    return samples;
  }

  close(): void {
    this.#agent.destroy();
  }

  #ask(): Promise<boolean> {
    return new Promise((resolve) => {
      const asked = request(`http://${this.#address}/healthz`, { agent: this.#agent }, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode === 200));
      });
      asked.once("error", () => resolve(false)).end();
    });
  }
}

function list(before: string, part: string, megabytes: number, after: string): Buffer {
  return Buffer.concat([Buffer.from(before), Buffer.alloc(megabytes * megabyte, part), Buffer.from(after)]);
}

function sqlHead(uri: string, length: number): string {
  return `POST /sql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nNeon-Connection-String: ${uri}\r\nContent-Length: ${length}\r\n\r\n`;
}

function apiHead(method: string, path: string, length: number): string {
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ana-key\r\nContent-Length: ${length}\r\n\r\n`;
}

const webSocketHead = [
  `GET /v2?address=${primary}.localhost HTTP/1.1`,
  "Host: localhost",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "",
  "",
].join("\r\n");

/** The head of a masked frame of this length. */
function frameHead(length: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = 0x82;
  head[1] = 0xff;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** What Linux says of a process's memory, in megabytes; none of one that has ended. */
function memory(pid: number, field: "VmHWM" | "VmRSS"): number {
  try {
    const [, kilobytes = "NaN"] =
      new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kilobytes) / 1024;
  } catch {
    return Number.NaN;
  }
}
