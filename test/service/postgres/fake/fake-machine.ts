import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { basename, join } from "node:path";
import type {
  Ended,
  GuardedServer,
  Processes,
  ProcessFacts,
  ProcessUser,
} from "../../../../src/service/postgres/host/processes.ts";
import { message } from "../../../../src/service/postgres/session/messages.ts";
import { FakeData } from "./fake-data.ts";
import { refusal, table, valuesIn } from "./fake-messages.ts";
import { FakePooler } from "./fake-pooler.ts";
import { changeOf, type Rows, rowsOf } from "./fake-sql.ts";

/** A statement as a server receives it. */
export interface Statement {
  data: string;
  database: string;
  user: string;
  sql: string;
  values: readonly (string | null)[];
  /** The id of its session. */
  session: number;
  /** What its session was begun with. */
  parameters: ReadonlyMap<string, string>;
}

/** The answer of a test in place of a server's; `undefined` where that answers itself. */
export type Answer = Rows | Error | undefined;

/** The programs and processes of Postgres without any: its servers are sockets in this process, and know little SQL. */
export class FakeMachine implements Processes {
  readonly self = { pid: 4711, uid: 1000, user: "ana", node: process.execPath };
  most = Number.POSITIVE_INFINITY;
  /** Number of the processes of each server. */
  number = 1;
  /** The servers that run, by their data. */
  readonly servers = new Map<string, FakeServer>();
  /** The poolers that run. */
  readonly poolers = new Set<GuardedServer>();
  /** Programs that were run, and servers that started and ended, in order. */
  readonly events: string[] = [];
  readonly statements: Statement[] = [];
  /** Ids of the sessions whose statements were to be ended. */
  readonly cancelled: number[] = [];
  /** The guarded programs, each with the user that it ran as. */
  readonly ranAs: [program: string, user: ProcessUser | undefined][] = [];
  /** What the next server says in its log in place of its start. */
  complaint: string | undefined;
  /** Time that a server takes to stop, in milliseconds. */
  stopMs = 3;
  /** Ends of programs other than the usual ones, by their command. */
  readonly ends = new Map<string, Ended>();
  answer: (statement: Statement) => Answer | Promise<Answer> = () => undefined;
  readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Makes a directory with the programs of Postgres. */
  install(directory: string): string {
    mkdirSync(directory, { recursive: true });
    for (const name of ["initdb", "postgres"]) writeFileSync(join(directory, name), "");
    return directory;
  }

  run(command: string, args: readonly string[]): Promise<Ended> {
    const program = basename(command);
    this.events.push([program, ...args].join(" "));
    const end = this.ends.get(program);
    if (end) return Promise.resolve(end);
    if (program === "initdb") FakeData.initialise(args[1] ?? "");
    const output = args[0] === "-V" ? "postgres (PostgreSQL) 17.2" : "";
    return Promise.resolve({ status: ["initdb", "postgres"].includes(program) ? 0 : null, output });
  }

  guard(
    command: string,
    [first = "", data = ""]: readonly string[],
    { logFile, user }: Parameters<Processes["guard"]>[2],
  ): GuardedServer {
    this.ranAs.push([basename(command), user]);
    if (basename(command) === "pgbouncer") return new FakePooler(this, first);
    const { complaint } = this;
    this.complaint = undefined;
    appendFileSync(logFile, complaint ?? "");
    if (complaint !== undefined) {
      return { ended: Promise.resolve(1), stop: () => {} };
    }
    return new FakeServer(this, data);
  }

  facts(pid: number): Promise<ProcessFacts | undefined> {
    return Promise.resolve(pid === this.self.pid ? { startedAt: 0, place: "" } : undefined);
  }

  processesIn(): Promise<number[]> {
    return Promise.resolve([]);
  }

  numberAt(): Promise<number> {
    return Promise.resolve(this.number);
  }

  signal(pid: number): void {
    this.events.push(`signal ${pid}`);
  }

  /** What a server was asked, but for what every session of the service begins with. */
  asked(database?: string): string[] {
    return this.statements
      .filter((one) => database === undefined || one.database === database)
      .map(({ sql }) => sql)
      .filter((sql) => !sql.startsWith("SELECT set_config("));
  }
}

/** A server on a data directory; clients of any password reach it through its socket. */
export class FakeServer implements GuardedServer {
  readonly ended: Promise<number | null>;
  readonly data: FakeData;
  readonly #machine: FakeMachine;
  readonly #listening: Server;
  readonly #sessions = new Set<Socket>();
  readonly #end = Promise.withResolvers<number | null>();
  #settings: Readonly<Record<string, string>>;

  constructor(machine: FakeMachine, directory: string) {
    this.#machine = machine;
    this.ended = this.#end.promise;
    this.data = new FakeData(directory);
    this.#settings = settingsIn(directory);
    const { port, unix_socket_directories: sockets = "" } = this.#settings;
    const { recovery_target_time: at, recovery_target_lsn: lsn } = this.#settings;
    if (at !== undefined) this.data.recover({ at: Date.parse(at), position: Number.POSITIVE_INFINITY });
    if (lsn !== undefined) this.data.recover({ at: Number.POSITIVE_INFINITY, position: Number(`0x${lsn.slice(2)}`) });
    this.data.begin();
    const path = join(sockets, `.s.PGSQL.${port}`);
    rmSync(path, { force: true });
    this.#listening = createServer((socket) => this.#serve(socket)).listen(path);
    writeFileSync(join(directory, "postmaster.pid"), `1\n${directory}\n0\n\n\n\n\nready\n`);
    machine.servers.set(directory, this);
    machine.events.push(`start ${basename(directory)}`);
  }

  /** Number of sessions on it. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** A setting with which it runs. */
  setting(name: string): string | undefined {
    return this.#settings[name];
  }

  /** Takes a moment, as a checkpoint does: its data is in order when it has ended, and not before. */
  stop(): void {
    this.#leaveSocket();
    setTimeout(() => {
      if (!this.#runs) return;
      this.data.end();
      this.#over("end", 0);
    }, this.#machine.stopMs);
  }

  /** Ends as a killed process does. */
  crash(): void {
    this.#over("crash", 9);
  }

  get #runs(): boolean {
    return this.#machine.servers.get(this.data.directory) === this;
  }

  #over(how: string, status: number): void {
    if (!this.#runs) return;
    const { directory } = this.data;
    this.#machine.servers.delete(directory);
    this.#machine.events.push(`${how} ${basename(directory)}`);
    rmSync(join(directory, "postmaster.pid"), { force: true });
    this.#leaveSocket();
    this.#end.resolve(status);
  }

  /** Ends all sessions, and begins none. */
  #leaveSocket(): void {
    for (const socket of this.#sessions) socket.destroy();
    this.#listening.close();
  }

  #serve(socket: Socket): void {
    this.#sessions.add(socket);
    const session = new FakeSession(socket, this.#machine, (statement) => this.#answer(statement));
    socket.on("error", () => {}).on("close", () => this.#sessions.delete(socket));
    socket.on("data", (chunk: Buffer) => session.receive(chunk));
  }

  async #answer(given: Omit<Statement, "data">): Promise<Rows | Error> {
    const { data } = this;
    const statement = { ...given, data: data.directory };
    this.#machine.statements.push(statement);
    const own = await this.#machine.answer(statement);
    if (own !== undefined) return own;
    const { sql, values } = given;
    if (sql === "SELECT pg_reload_conf()") this.#settings = settingsIn(data.directory);
    if (sql === "SELECT pg_switch_wal()") return [[data.switchLog()]];
    if (sql.includes("pg_backup_start")) return [[data.segmentName]];
    if (sql.includes("pg_backup_stop")) return [["label", data.segmentName, data.lsn]];
    const change = changeOf(sql);
    if (change) data.change(this.#machine.now(), change);
    return rowsOf(sql, values, data.content);
  }
}

const ready = message("Z", "I");
let sessions = 0;

/** The server's side of one connection. */
class FakeSession {
  readonly #socket: Socket;
  readonly #machine: FakeMachine;
  readonly #answer: (statement: Omit<Statement, "data">) => Promise<Rows | Error>;
  readonly #id = ++sessions;
  #received: Buffer = Buffer.alloc(0);
  #parameters: ReadonlyMap<string, string> | undefined;
  #parsed = "";
  #values: (string | null)[] = [];
  #turn = Promise.resolve();

  constructor(
    socket: Socket,
    machine: FakeMachine,
    answer: (statement: Omit<Statement, "data">) => Promise<Rows | Error>,
  ) {
    this.#socket = socket;
    this.#machine = machine;
    this.#answer = answer;
  }

  receive(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const head = this.#parameters ? 1 : 0;
      if (this.#received.length < head + 4) return;
      const end = head + this.#received.readUInt32BE(head);
      if (this.#received.length < end) return;
      const [type, body] = [this.#received.toString("latin1", 0, head), this.#received.subarray(head + 4, end)];
      this.#received = this.#received.subarray(end);
      if (this.#parameters) this.#take(type, body);
      else this.#begin(body);
    }
  }

  #begin(body: Buffer): void {
    if (body.readUInt32BE(0) === 80_877_102) {
      this.#machine.cancelled.push(body.readUInt32BE(4));
      this.#socket.end();
      return;
    }
    const words = body.toString("utf8", 4).split("\0");
    this.#parameters = new Map(
      words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1] ?? ""]] : [])),
    );
    const key = Buffer.alloc(8);
    key.writeUInt32BE(this.#id, 0);
    this.#socket.write(Buffer.concat([message("R", "\0\0\0\0"), message("K", key), ready]));
  }

  #take(type: string, body: Buffer): void {
    if (type === "Q") this.#run(body.toString("utf8").replace(/\0$/, ""), []);
    else if (type === "P") this.#parsed = body.toString("utf8").split("\0")[1] ?? "";
    else if (type === "B") this.#values = valuesIn(body);
    else if (type === "S") this.#run(this.#parsed, this.#values);
    else if (type === "X") this.#socket.end();
  }

  /** Statements of a session run one after another. */
  #run(sql: string, values: readonly (string | null)[]): void {
    const before = this.#turn;
    this.#turn = this.#runAfter(before, sql, values);
  }

  async #runAfter(before: Promise<void>, sql: string, values: readonly (string | null)[]): Promise<void> {
    await before;
    const [user = "", database = ""] = ["user", "database"].map((name) => this.#parameters?.get(name));
    const given = { sql, values, user, database, session: this.#id, parameters: this.#parameters ?? new Map() };
    const answer = await this.#answer(given);
    if (!this.#socket.writable) return;
    this.#socket.write(Buffer.concat([answer instanceof Error ? refusal(answer) : table(answer), ready]));
  }
}

function settingsIn(directory: string): Record<string, string> {
  const text = readFileSync(join(directory, "postgresql.conf"), "utf8");
  return Object.fromEntries([...text.matchAll(/^(\S+) = '(.*)'$/gm)].map(([, key = "", value = ""]) => [key, value]));
}
