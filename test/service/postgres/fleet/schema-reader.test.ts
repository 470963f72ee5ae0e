import { getEventListeners } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SchemaReader } from "../../../../src/service/postgres/fleet/schema-reader.ts";
import { PostgresUnusable, ServerFailed } from "../../../../src/service/postgres/host/failure.ts";
import { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { refusals } from "../../../../src/service/refusal.ts";
import { Shares } from "../../../../src/service/sharing/shares.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { main, project, Shop } from "../../support/shop.ts";

/** AuthenticationOk and ReadyForQuery. */
const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");

/** A server that lets everybody in, and hands what each then sends to `answer`; answers the path of its socket. */
async function listening(answer: (connection: Socket, chunk: Buffer) => void): Promise<string> {
  const directory = temporaryDirectory("schema-reader");
  const socket = join(directory.path, "socket");
  const server = createServer((connection) => {
    connection.once("data", () => {
      connection.write(welcome);
      connection.on("data", (chunk) => answer(connection, chunk));
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  return socket;
}

function readerOf(
  connect: (database: string) => Promise<SqlClient>,
  processShares = new Shares(Number.POSITIVE_INFINITY),
  ensure = () => Promise.resolve(),
): SchemaReader {
  return new SchemaReader({
    store: new Shop().core.context.store,
    fleet: { reading: (_branch, _version, act) => act(connect) },
    copies: { ensure },
    processShares,
  });
}

it("a client that leaves while the session for its schema opens has nothing read", async () => {
  const heard: string[] = [];
  const socket = await listening((connection, chunk) => {
    heard.push(chunk.toString("latin1"));
    connection.end();
  });
  const gone = new AbortController();
  const connect = async (database: string) => {
    const client = await SqlClient.connect({ socket, user: "cloud_admin", password: "", database });
    gone.abort();
    return client;
  };
  await expect(readerOf(connect).read(main, "stock", gone.signal)).rejects.toThrow("cannot be read now");
  await expect.poll(() => heard).toEqual(["X\0\0\0\x04"]);
});

it("a schema cannot be read now where its branch's data, or a program of Postgres, is missing", async () => {
  for (const error of [new ServerFailed("no data"), new PostgresUnusable("no data")])
    await expect(readerOf(() => Promise.reject(error)).read(main, "stock")).rejects.toThrow(
      "the schema of database stock cannot be read now: no data",
    );
  const refusal = refusals.unprocessable("not here");
  await expect(readerOf(() => Promise.reject(refusal)).read(main, "stock")).rejects.toBe(refusal);
});

it("the schema of a branch is read once it has its data, and not before", async () => {
  const steps: string[] = [];
  const note = async (step: string) => {
    await new Promise((resolve) => setImmediate(resolve));
    steps.push(step);
  };
  const connect = async () => {
    steps.push("read");
    throw new ServerFailed("no session");
  };
  const reading = readerOf(connect, undefined, () => note("has its data")).read(main, "stock");
  await expect(reading).rejects.toThrow("no session");
  expect(steps).toEqual(["has its data", "read"]);
});

it("the session in which a schema could not be read is ended, and its client's end heard no more", async () => {
  let heard = "";
  const gone = new AbortController();
  const refused = Buffer.from("E\0\0\0\x17SERROR\0C42501\0Mno\0\0Z\0\0\0\x05I", "latin1");
  const socket = await listening((connection, chunk) => {
    heard += chunk.toString("latin1");
    connection.write(refused);
  });
  const connect = (database: string) => SqlClient.connect({ socket, user: "cloud_admin", password: "", database });
  await expect(readerOf(connect).read(main, "stock", gone.signal)).rejects.toThrow("no");
  expect(getEventListeners(gone.signal, "abort")).toEqual([]);
  await expect.poll(() => heard.slice(-5)).toBe("X\0\0\0\x04");
});

it("a schema is read in a session that counts in the share of its owner: none opens where that is taken", async () => {
  const shares = new Shares(3);
  const held: number[] = [];
  const reader = readerOf(() => {
    held.push(shares.all);
    return Promise.reject(new ServerFailed("locked"));
  }, shares);
  await expect(reader.read(main, "stock")).rejects.toThrow("locked");
  expect([held, shares.all]).toEqual([[1], 0]);
  const owner = new Shop().core.context.store.projects.get(project)?.owner.id ?? "";
  shares.of(owner).hold(1);
  await expect(reader.read(main, "stock")).rejects.toThrow("suspend another compute");
  expect([held, shares.all]).toEqual([[1], 1]);
});
