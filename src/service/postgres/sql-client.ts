import { randomBytes } from "node:crypto";
import { createConnection, type Socket } from "node:net";
import { parse, serialize } from "pg-protocol/dist/index.js";
import type { BackendMessage, DatabaseError, DataRowMessage } from "pg-protocol/dist/messages.js";
import { messageOf, ServerFailed } from "./failure.ts";
import { ScramLogin } from "./scram.ts";

export interface Login {
  /** The path of the server's socket. */
  socket: string;
  user: string;
  password: string;
  database: string;
}

/** A row's columns as text, in the order of the query. */
export type TextRow = readonly (string | null)[];

/** A connection of our own to a server: runs statements one after another. */
export class SqlClient {
  readonly #socket: Socket;
  #rows: TextRow[] = [];
  #error: string | undefined;
  #waiting: { resolve: (rows: TextRow[]) => void; reject: (error: Error) => void } | undefined;
  #ended: string | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Rejects with `ServerFailed`. */
  static async connect({ socket: path, user, password, database }: Login): Promise<SqlClient> {
    const client = new SqlClient(createConnection(path));
    const login = new ScramLogin(password, randomBytes(18).toString("base64"));
    const socket = client.#socket;
    socket.once("error", (error) => client.#end(error.message));
    socket.once("close", () => client.#end("the server closed the connection"));
    void parse(socket, (message) => client.#receive(message, login)).catch((error: unknown) =>
      client.#end(messageOf(error)),
    );
    await client.#answer(() => socket.write(serialize.startup({ user, database })));
    return client;
  }

  /** Runs statements; answers the rows of all of them. Rejects with what the server says. */
  query(sql: string): Promise<TextRow[]> {
    return this.#answer(() => this.#socket.write(serialize.query(sql)));
  }

  close(): void {
    this.#socket.end(serialize.end());
  }

  #answer(send: () => void): Promise<TextRow[]> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(new ServerFailed(this.#ended));
        return;
      }
      this.#rows = [];
      this.#error = undefined;
      this.#waiting = { resolve, reject };
      send();
    });
  }

  #receive(message: BackendMessage, login: ScramLogin): void {
    if (message.name === "authenticationSASL") {
      this.#socket.write(serialize.sendSASLInitialResponseMessage("SCRAM-SHA-256", login.first));
    } else if (isChallenge(message)) {
      this.#socket.write(serialize.sendSCRAMClientFinalMessage(login.final(message.data)));
    } else if (isRow(message)) {
      this.#rows.push(message.fields);
    } else if (isError(message)) {
      this.#error ??= message.message;
    } else if (message.name === "readyForQuery") {
      const { resolve, reject } = this.#waiting ?? {};
      this.#waiting = undefined;
      if (this.#error === undefined) resolve?.(this.#rows);
      else reject?.(new ServerFailed(this.#error));
    }
  }

  #end(reason: string): void {
    this.#ended ??= this.#error ?? reason;
    this.#waiting?.reject(new ServerFailed(this.#ended));
    this.#waiting = undefined;
    this.#socket.destroy();
  }
}

function isChallenge(message: BackendMessage): message is BackendMessage & { data: string } {
  return message.name === "authenticationSASLContinue";
}

function isRow(message: BackendMessage): message is DataRowMessage {
  return message.name === "dataRow";
}

function isError(message: BackendMessage): message is DatabaseError {
  return message.name === "error";
}

export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return ` E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
