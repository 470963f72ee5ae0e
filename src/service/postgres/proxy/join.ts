import { randomBytes } from "node:crypto";
import { createConnection } from "node:net";
import type { Duplex } from "node:stream";
import type { ServiceClock } from "../../clock.ts";
import { type Parameters, startupPacket } from "../session/messages.ts";
import { errorResponse, loggedOut, Rejection } from "../session/rejection.ts";
import { mostDropped } from "../session/sql-client.ts";
import type { Admission } from "./admission.ts";
import { endClient } from "./end-client.ts";
import { type LoggedIn, logIn } from "./login.ts";
import { replicationCommands } from "./replication-commands.ts";
import { serverMessages } from "./server-messages.ts";

/** By the proxy's key as text: where a cancelled query runs, and the server's own key. */
export type CancelKeys = Map<string, { socket: string; key: Buffer }>;

/** Time for a client to take what the server of its compute sent before its end, in milliseconds. */
const lastBytesMs = 10_000;

export interface Joining {
  admission: Admission;
  /** The path of the server's socket. */
  socket: string;
  parameters: Parameters;
  /** Of the protocol. */
  version: number;
  /** Words to the client about it, in the server's place. */
  told?: Buffer;
  keys: CancelKeys;
  clock: Pick<ServiceClock, "after">;
}

/** Logs in to the server for a client that has logged in to the proxy, and carries bytes between both to their end. */
export async function join(client: Duplex, { secret, rest }: LoggedIn, joining: Joining): Promise<void> {
  const { admission, socket, parameters, version, told = Buffer.alloc(0), keys, clock } = joining;
  const server = createConnection(socket);
  const key = randomBytes(8);
  key.writeUInt32BE(key.readUInt32BE(0) >>> 1, 0);
  const name = key.toString("hex");
  const messages = serverMessages(key, (own) => keys.set(name, { socket, key: own }));
  const shown = (said: Buffer) => messages.push(said);
  server.on("error", () => {});
  const stopFollowing = endWithCompute(server, joining);
  server.once("close", () => {
    stopFollowing();
    keys.delete(name);
    admission.leave();
  });
  // A server process whose client has left ends its query first, and counts until then.
  const leave = () => {
    // A client that has ended its own side and takes nothing would stay for ever, its answer read for nobody.
    endClient(client, clock);
    dropAnswers(server);
    server.end();
  };
  client.once("end", leave).once("close", leave);
  // A client let in by PgBouncer would go on with the next one's login.
  admission.logout.addEventListener("abort", () => {
    endClient(client, clock, errorResponse(loggedOut()));
    server.destroy();
  });
  server.write(startupPacket(version, parameters));
  // Until then the caller tells the client why its server is gone.
  const said = await logIn(server, secret);
  client.write(Buffer.concat([told, shown(said)]));
  server.once("close", () => endClient(client, clock));
  const asked = parameters.has("replication") ? commandsOf(client, server, clock) : (chunk: Buffer) => chunk;
  if (rest.length > 0) server.write(asked(rest));
  forward(server, client, shown);
  forward(client, server, asked);
}

/**
 * Reads what a server still says to a client that has left. One that goes on, as its answer is long or has no end,
 * finds the connection broken, as it does where its own client leaves: its process ends.
 */
function dropAnswers(server: Duplex): void {
  let dropped = 0;
  server.on("data", ({ length }: Buffer) => {
    dropped += length;
    if (dropped > mostDropped) server.destroy();
  });
  server.resume();
}

/**
 * Ends the connection to a server that is gone with its compute. Nothing of it is read while the client takes nothing,
 * which hides that end, and the client would count for ever. Answers how to let it be.
 */
function endWithCompute(server: Duplex, { admission, clock }: Joining): () => void {
  let stopTimer = () => {};
  const stopFollowing = admission.onServerEnd(() => {
    stopTimer = clock.after(lastBytesMs, () => server.destroy());
  });
  return () => {
    stopFollowing();
    stopTimer();
  };
}

/** Lets the commands of a client that replicates pass; a refused one ends its connection with the reason. */
function commandsOf(client: Duplex, server: Duplex, clock: Joining["clock"]): (chunk: Buffer) => Buffer {
  const commands = replicationCommands();
  return (chunk) => {
    try {
      return commands.push(chunk);
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      endClient(client, clock, errorResponse(error));
      server.end();
      return Buffer.alloc(0);
    }
  };
}

/** Writes what comes from one end to the other, no faster than that takes it. */
function forward(from: Duplex, to: Duplex, changed = (chunk: Buffer) => chunk): void {
  from.on("data", (chunk: Buffer) => {
    const passed = changed(chunk);
    if (passed.length === 0) return;
    if (to.writable && !to.write(passed)) from.pause();
  });
  to.on("drain", () => from.resume());
  from.resume();
}
