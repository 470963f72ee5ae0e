import { createConnection, type Socket } from "node:net";
import { serialize } from "pg-protocol/dist/index.js";
import type {
  BackendKeyDataMessage,
  BackendMessage,
  CommandCompleteMessage,
  DatabaseError,
  DataRowMessage,
  Field,
  RowDescriptionMessage,
} from "pg-protocol/dist/messages.js";
import { Parser } from "pg-protocol/dist/parser.js";
import { messageOf } from "../../error-message.ts";
import { Held, ServerFailed } from "../host/failure.ts";
import { requestCancel } from "./cancel-request.ts";
import { startupPacket } from "./messages.ts";
import { noSession, Rejection } from "./rejection.ts";
import type { RowSink, TextRow } from "./row-sink.ts";
import { ScramLogin } from "./scram.ts";

export interface Login {
  /** The path of the server's socket. */
  socket: string;
  user: string;
  password: string;
  /** In place of the password, where that was proved. */
  clientKey?: Buffer;
  database: string;
  /** Further parameters of the connection. */
  parameters?: Readonly<Record<string, string>>;
  /** Aborts where the server takes too long. */
  late?: AbortSignal;
  /** The longest message of the server that is read, in bytes. */
  longest?: number;
}

export type { Field } from "pg-protocol/dist/messages.js";
export type { TextRow } from "./row-sink.ts";

/** The answer to one statement. */
export interface StatementResult {
  fields: readonly Field[];
  rows: readonly TextRow[];
  /** As Postgres sends it, such as `INSERT 0 1`; empty for an empty statement. */
  tag: string;
}

/** The longest message of a server that is read, in bytes: its text must be a string, and these have a longest. */
const longestMessage = 256 * 1024 ** 2;

/** The longest error that is quoted, in characters: a client may raise one of hundreds of megabytes. */
const longestQuoted = 2000;

/** The longest piece that Node reads, in bytes. It reads 32 in one turn of the loop: 80 ms of short rows. */
const pieceLength = 65_536;

/** The most bytes of an answer that are read for a caller who takes no more of it: a server may have no end of them. */
export const mostDropped = 1024 ** 2;

/** The answers are larger than the caller allows, or a message of them than can be read. */
export class AnswerTooLarge extends ServerFailed {
  override name = "AnswerTooLarge";
}

/** A connection to a server: runs statements one after another. */
export class SqlClient {
  /** Resolves when the server has ended the connection. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #path: string;
  /** Bytes of the rows of all answers together that the caller takes at most. */
  #limit: number;
  readonly #longest: number;
  readonly #parser = new Parser();
  /** Bytes received of a message that is not complete. */
  #unread = 0;
  /** Bytes of answers so far that count: rows, copied data and notices. */
  #taken = 0;
  #answered: { fields: readonly Field[]; rows: TextRow[]; tag: string } = nothing();
  #error: Error | undefined;
  #sink: RowSink | undefined;
  #key: BackendKeyDataMessage | undefined;
  #waiting: { resolve: (result: StatementResult) => void; reject: (error: Error) => void } | undefined;
  #ended: Error | undefined;
  #isCancelled = false;

  private constructor({ socket: path, longest = longestMessage }: Login, limit: number) {
    this.#path = path;
    this.#limit = limit;
    this.#longest = longest;
    this.#socket = createConnection(path);
    this.closed = new Promise((resolve) => {
      this.#socket.once("close", () => resolve());
    });
  }

  /** `limit`: the most bytes of the rows of all answers together. Rejects with `ServerFailed`. */
  static async connect(login: Login, limit = Number.POSITIVE_INFINITY): Promise<SqlClient> {
    const { user, password, clientKey, database, parameters, late } = login;
    const client = new SqlClient(login, limit);
    const scram = new ScramLogin(clientKey ? { clientKey } : { password });
    const socket = client.#socket;
    socket.once("error", (error) => client.#end(new ServerFailed(error.message)));
    socket.once("close", () => client.#end(new ServerFailed("the server closed the connection")));
    socket.on("data", (chunk: Buffer) => {
      client.#read(chunk, scram);
      const room = client.#sink?.room(client.#unread);
      if (chunk.length < pieceLength && room === undefined) return;
      socket.pause();
      void Promise.resolve(room).finally(() => setImmediate(() => socket.resume()));
    });
    late?.addEventListener("abort", () => client.#end(new Held(noSession(database))));
    const given = { client_encoding: "UTF8", ...parameters, user, database };
    await client.#answer([startupPacket(0x30000, new Map(Object.entries(given)))]);
    return client;
  }

  /** Runs statements; answers the rows of all of them. Rejects with what the server says. */
  async query(sql: string): Promise<readonly TextRow[]> {
    return (await this.#answer([serialize.query(sql)])).rows;
  }

  /**
   * Runs one statement with parameters as text. Rejects with what the server says, and with what `sink` answers: the
   * server is then told to end the statement. Of more than `most` rows the server sends so many, and carries out the
   * statement all the same.
   */
  execute(sql: string, values: readonly (string | null)[], sink?: RowSink, most = 0): Promise<StatementResult> {
    const messages = [
      serialize.parse({ text: sql }),
      serialize.bind({ values: [...values] }),
      serialize.describe({ type: "P" }),
      serialize.execute({ rows: most }),
      serialize.sync(),
    ];
    return this.#answer(messages, sink);
  }

  /** Limits all answers from here on together. */
  limitAnswers(bytes: number): void {
    this.#taken = 0;
    this.#limit = bytes;
  }

  /** The server's process of this session; absent before it has logged in. */
  get processId(): number | undefined {
    return this.#key?.processID;
  }

  /** Has the server end the statement that runs. No other begins: where none runs, the server forgets the request. */
  cancel(): void {
    this.#isCancelled = true;
    const key = this.#key;
    if (key === undefined || this.#ended !== undefined) return;
    void requestCancel(this.#path, serialize.cancel(key.processID, key.secretKey));
  }

  /** Gives up what runs: whatever the server says to it, the caller is told this reason. */
  giveUp(reason: string): void {
    this.#stop(new ServerFailed(reason));
  }

  close(): void {
    this.#socket.end(serialize.end());
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** Ends the connection at once, with a reason for what waits. */
  destroy(reason: Error): void {
    this.cancel();
    this.#end(reason);
  }

  #answer(messages: readonly Buffer[], sink?: RowSink): Promise<StatementResult> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined || this.#isCancelled) {
        reject(this.#ended ?? new ServerFailed("the statement was cancelled before it began"));
        return;
      }
      this.#answered = nothing();
      this.#sink = sink;
      this.#waiting = { resolve, reject };
      this.#socket.cork();
      for (const message of messages) this.#socket.write(message);
      this.#socket.uncork();
    });
  }

  /** Reads what the server says: a client may have chosen it, so it ends no more than this connection. */
  #read(chunk: Buffer, login: ScramLogin): void {
    this.#unread += chunk.length;
    try {
      this.#parser.parse(chunk, (message) => {
        this.#unread -= message.length + 1;
        this.#receive(message, login);
      });
    } catch (error) {
      this.#end(error instanceof Rejection ? error : new ServerFailed(messageOf(error)));
    }
    const longest = Math.min(this.#longest, this.#limit);
    if (this.#unread > longest) this.#end(new AnswerTooLarge(`the answer is larger than ${longest} bytes`));
  }

  #receive(message: BackendMessage, login: ScramLogin): void {
    const answered = this.#answered;
    if (message.name === "authenticationSASL") {
      this.#socket.write(serialize.sendSASLInitialResponseMessage("SCRAM-SHA-256", login.first));
    } else if (is(message, "authenticationSASLContinue")) {
      void this.#prove(login, message.data);
    } else if (is(message, "backendKeyData")) {
      this.#key = message;
    } else if (is(message, "rowDescription")) {
      answered.fields = message.fields;
    } else if (is(message, "dataRow")) {
      this.#row(message);
    } else if (is(message, "commandComplete")) {
      answered.tag = message.text;
    } else if (message.name === "copyInResponse") {
      // The server has ignored the Sync that came before.
      this.#socket.write(Buffer.concat([serialize.copyFail("no data can be sent here"), serialize.sync()]));
    } else if (isCounted.has(message.name)) {
      this.#take(message.length);
    } else if (is(message, "error")) {
      this.#error ??= new ServerFailed(message.message.slice(0, longestQuoted).toWellFormed(), { cause: message });
      // A server says nothing between two statements but why it ends the session.
      if (!this.#waiting) this.#end(this.#error);
    } else if (message.name === "readyForQuery") {
      const { resolve, reject } = this.#waiting ?? {};
      const error = this.#error;
      this.#waiting = undefined;
      this.#error = undefined;
      if (error === undefined) resolve?.(answered);
      else reject?.(error);
    }
  }

  async #prove(login: ScramLogin, challenge: string): Promise<void> {
    try {
      this.#socket.write(serialize.sendSCRAMClientFinalMessage(await login.final(challenge)));
    } catch (error) {
      this.#end(error instanceof Rejection ? error : new ServerFailed(messageOf(error)));
    }
  }

  #row({ length, fields: row }: DataRowMessage): void {
    const answered = this.#answered;
    if (!this.#take(length)) return;
    if (this.#sink === undefined) answered.rows.push(row);
    else {
      const reason = this.#sink.add(row, answered.fields);
      if (reason !== undefined) this.#stop(reason);
    }
  }

  /** Counts bytes of an answer; false where it is more than the caller takes, or was before. */
  #take(bytes: number): boolean {
    this.#taken += bytes;
    if (this.#taken <= this.#limit) return this.#error === undefined;
    const reason = new AnswerTooLarge(`the answer is larger than ${this.#limit} bytes`);
    if (this.#taken > this.#limit + mostDropped) this.#end(reason);
    else if (this.#error === undefined) this.#stop(reason);
    return false;
  }

  #stop(reason: Error): void {
    this.#answered.rows = [];
    this.#error ??= reason;
    this.cancel();
  }

  #end(reason: Error): void {
    this.#ended ??= this.#error ?? reason;
    this.#waiting?.reject(this.#ended);
    this.#socket.destroy();
  }
}

/** Messages beside rows of which a statement can have any number. */
const isCounted = new Set(["copyData", "notice", "notification"]);

function nothing(): { fields: readonly Field[]; rows: TextRow[]; tag: string } {
  return { fields: [], rows: [], tag: "" };
}

/** The messages that carry more than their name, which the parser's own type does not tell apart. */
interface Carrying {
  authenticationSASLContinue: BackendMessage & { data: string };
  backendKeyData: BackendKeyDataMessage;
  rowDescription: RowDescriptionMessage;
  dataRow: DataRowMessage;
  commandComplete: CommandCompleteMessage;
  error: DatabaseError;
}

function is<Name extends keyof Carrying>(message: BackendMessage, name: Name): message is Carrying[Name] {
  return message.name === name;
}
