import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { SqlCall } from "../../../src/service/http/sql-access.ts";
import { sqlOverHttp } from "../../../src/service/postgres/driver/sql-over-http.ts";
import type { Admission } from "../../../src/service/postgres/proxy/proxy.ts";
import { cancelPacket } from "../../../src/service/postgres/proxy/startup.ts";
import { temporaryDirectory } from "../../support/guardian.ts";

const headers = { "neon-connection-string": "postgresql://app:secret@ep-main.localhost/stock" };
const holding = { take: () => true, release: () => {} };

/** A request whose body is read with the first call. */
function call(gone: AbortSignal, body = JSON.stringify({ query: "SELECT pg_sleep(600)" })): SqlCall {
  return { headers, gone, hold: () => holding, body: () => Promise.resolve(body) };
}

const key = Buffer.from("12345678");
const ready = Buffer.from("Z\0\0\0\x05I", "latin1");
/** AuthenticationOk, the key for cancelling, and ReadyForQuery. */
const welcome = Buffer.concat([Buffer.from("R\0\0\0\x08\0\0\0\0K\0\0\0\x0c", "latin1"), key, ready]);
const cancelled = Buffer.concat([Buffer.from("E\0\0\0\x0fC57014\0Mx\0\0", "latin1"), ready]);

/** A compute with a server on a socket; `left` counts the clients that it gave back. */
async function compute(serve: (socket: Socket) => void): Promise<{ admission: Admission; left: () => number }> {
  const directory = temporaryDirectory("sql-over-http");
  const server = createServer((socket) => serve(socket.on("error", () => {})));
  const socket = join(directory.path, "socket");
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  let count = 0;
  const leave = () => {
    count += 1;
  };
  const verifierOf = () => Promise.reject(new Error("not asked"));
  return { admission: { socket, verifierOf, enter: () => {}, leave }, left: () => count };
}

it("a client that leaves while its compute wakes has its statement cancelled, and its place given back", async () => {
  const both = Promise.withResolvers<void>();
  let statements: Socket | undefined;
  const heard: Buffer[] = [];
  const { admission, left } = await compute((socket) => {
    socket.on("data", (chunk) => {
      heard.push(chunk);
      if (heard.length === 1) (statements = socket).write(welcome);
      if (heard.length === 3) both.resolve();
    });
  });
  const gone = new AbortController();
  const admit = () => {
    gone.abort();
    return Promise.resolve(admission);
  };
  const answering = sqlOverHttp(call(gone.signal), admit);
  await expect.poll(() => heard.some((chunk) => chunk.equals(cancelPacket(key)))).toBe(true);
  await both.promise;
  statements?.end(cancelled);
  expect(await answering).toMatchObject({ status: 400, body: expect.stringContaining("57014") });
  await expect.poll(left).toBe(1);
});

it("a client gets its place back where the server of its compute takes nobody", async () => {
  const { admission, left } = await compute((socket) => socket.destroy());
  const answer = await sqlOverHttp(call(new AbortController().signal), () => Promise.resolve(admission));
  expect([answer.status, left()]).toEqual([502, 1]);
});
