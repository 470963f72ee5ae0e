import { globSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { elapsed } from "../../../../src/service/clock.ts";
import { AnswerTooLarge, mostDropped, SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { realClock } from "../../../support/real-clock.ts";

it("opens sessions in two places only, those of the service and of a client's own role, and at PgBouncer's console", () => {
  const root = join(import.meta.dirname, "..", "..", "..", "..");
  const opening = globSync("src/service/**/*.ts", { cwd: root }).filter((file) =>
    readFileSync(join(root, file), "utf8").includes("SqlClient.connect("),
  );
  expect(opening.toSorted()).toEqual([
    "src/service/postgres/driver/client-session.ts",
    "src/service/postgres/server/pooler.ts",
    "src/service/postgres/session/service-sessions.ts",
  ]);
});

function message(type: string, body: Buffer | string): Buffer {
  const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
  head.writeUInt32BE(Buffer.byteLength(body) + 4, 1);
  return Buffer.concat([head, Buffer.from(body)]);
}

/** Logs in to a server that gives one of these answers to each message, with room for 1000 bytes. */
async function loggingIn(...answers: readonly Buffer[]): Promise<SqlClient> {
  const directory = temporaryDirectory("sql-client");
  const path = join(directory.path, "socket");
  const left = answers.values();
  const server = createServer((socket) => {
    socket.on("error", () => {}).on("data", () => socket.write(left.next().value ?? ""));
  });
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return SqlClient.connect({ socket: path, user: "app", password: "secret", database: "stock" }, 1000);
}

const welcome = Buffer.concat([message("R", "\0\0\0\0"), message("Z", "I")]);

it.each(["D", "E", "N"])("gives up an answer whose message %s grows beyond what may be read", async (type) => {
  const client = await loggingIn(welcome, message(type, Buffer.alloc(2000)).subarray(0, 1500));
  await expect(client.query("SELECT 1")).rejects.toThrow(new AnswerTooLarge("the answer is larger than 1000 bytes"));
  await client.closed;
});

it("gives up a message that grows too long also where it began in the chunk that ended another", async () => {
  const notice = message("N", Buffer.alloc(2000));
  const client = await loggingIn(welcome, Buffer.concat([message("N", "\0"), notice.subarray(0, 1400)]));
  await expect(client.query("SELECT 1")).rejects.toThrow(new AnswerTooLarge("the answer is larger than 1000 bytes"));
});

it.each([
  ["rows", "D", "\0\0"],
  ["copied data", "d", "x"],
  ["notices", "N", "\0"],
  ["notifications", "A", "\0\0\0\x01a\0b\0"],
])("gives up an answer of many %s that are too long together", async (_, type, body) => {
  const many = Buffer.concat([...Array.from({ length: 300 }, () => message(type, body)), message("Z", "I")]);
  const client = await loggingIn(welcome, many);
  await expect(client.query("SELECT 1")).rejects.toThrow(new AnswerTooLarge("the answer is larger than 1000 bytes"));
});

it("goes on after an answer that was too long, where the server says little more of it", async () => {
  const long = Buffer.concat([message("N", Buffer.alloc(900)), message("N", Buffer.alloc(1500)), message("Z", "I")]);
  const client = await loggingIn(welcome, long);
  await expect(client.query("SELECT 1")).rejects.toThrow(new AnswerTooLarge("the answer is larger than 1000 bytes"));
  const states = [client.closed.then(() => "closed"), elapsed(realClock, 50).then(() => "open")];
  expect(await Promise.race(states)).toBe("open");
  client.close();
});

it.each([
  ["one that succeeded", message("C", "SELECT 1\0")],
  ["one that failed", message("E", "SERROR\0C22012\0Mdivision by zero\0\0")],
])("says why the server ended the session between two statements, also with the answer to %s", async (_, said) => {
  const answer = Buffer.concat([said, message("Z", "I")]);
  const reason = message("E", "SFATAL\0C25P03\0Mterminating connection due to idle-in-transaction timeout\0\0");
  const client = await loggingIn(welcome, Buffer.concat([answer, reason]), answer);
  await client.query("SELECT 1").catch(() => {});
  await expect(client.query("SELECT 2")).rejects.toThrow("due to idle-in-transaction timeout");
  await client.closed;
});

it("ends the connection of a statement that goes on saying things after it was told to end", async () => {
  const notice = message("N", Buffer.alloc(1000));
  const client = await loggingIn(welcome, Buffer.concat(Array<Buffer>(2000).fill(notice)));
  await expect(client.query("SELECT 1")).rejects.toThrow(new AnswerTooLarge("the answer is larger than 1000 bytes"));
  await client.closed;
  expect(2000 * notice.length).toBeGreaterThan(mostDropped);
});

it("a statement whose rows are refused is ended once, and nobody is given those that still come", async () => {
  const directory = temporaryDirectory("sql-client");
  const path = join(directory.path, "socket");
  const key = message("K", Buffer.from("12345678"));
  const rows = Buffer.concat(Array.from({ length: 30 }, () => message("D", "\0\x01\0\0\0\x011")));
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    let isLoggedIn = false;
    socket
      .on("error", () => {})
      .on("data", () => {
        socket.write(isLoggedIn ? Buffer.concat([rows, message("Z", "I")]) : Buffer.concat([key, welcome]));
        isLoggedIn = true;
      });
  });
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = await SqlClient.connect({ socket: path, user: "app", password: "secret", database: "stock" });
  let given = 0;
  const add = () => {
    given += 1;
    return new Error("enough");
  };
  await expect(client.execute("SELECT 1", [], { add, room: () => undefined })).rejects.toThrow("enough");
  // The session, and the request to end the statement.
  await expect.poll(() => connections).toBe(2);
  await new Promise((resolve) => setImmediate(resolve));
  expect([given, connections]).toEqual([1, 2]);
  client.destroy(new Error("the end"));
});

it("reads two pieces of a long answer at most in a turn of the loop", async () => {
  const row = message("D", "\0\x01\0\0\0\x011");
  const count = 100_000;
  const client = await loggingIn(welcome, Buffer.concat([Buffer.concat(Array(count).fill(row)), message("Z", "I")]));
  client.limitAnswers(Number.POSITIVE_INFINITY);
  const turns = [0];
  let isReading = true;
  const turn = () => {
    turns.push(0);
    if (isReading) setImmediate(turn);
  };
  setImmediate(turn);
  const add = () => {
    turns[turns.length - 1] = (turns.at(-1) ?? 0) + 1;
    return undefined;
  };
  await client.execute("SELECT 1", [], { add, room: () => undefined });
  isReading = false;
  expect(turns.reduce((sum, rows) => sum + rows)).toBe(count);
  expect(Math.max(...turns)).toBeLessThanOrEqual(Math.ceil((2 * 65_536) / row.length));
});

it("reads no more rows than one piece while there is no room, and the rest once there is", async () => {
  const row = message("D", "\0\x01\0\0\0\x011");
  const client = await loggingIn(welcome, Buffer.concat([Buffer.concat(Array(50_000).fill(row)), message("Z", "I")]));
  client.limitAnswers(Number.POSITIVE_INFINITY);
  let rows = 0;
  const add = () => {
    rows += 1;
    return undefined;
  };
  const room = Promise.withResolvers<void>();
  const answer = client.execute("SELECT 1", [], { add, room: () => (rows === 0 ? undefined : room.promise) });
  await expect.poll(() => rows).toBeGreaterThan(0);
  await elapsed(realClock, 50);
  expect(rows).toBeLessThanOrEqual(Math.ceil(65_536 / row.length));
  room.resolve();
  await answer;
  expect(rows).toBe(50_000);
});

it("says how much of a long message has come, for which there may be no room", async () => {
  const row = message("D", Buffer.concat([Buffer.from("\0\x01\0\x07\xa1\x20", "latin1"), Buffer.alloc(500_000, "x")]));
  const client = await loggingIn(welcome, Buffer.concat([row, message("Z", "I")]));
  client.limitAnswers(Number.POSITIVE_INFINITY);
  const coming: number[] = [];
  const room = (bytes: number) => {
    coming.push(bytes);
    return undefined;
  };
  await client.execute("SELECT 1", [], { add: () => undefined, room });
  expect(Math.max(...coming)).toBeGreaterThan(400_000);
  expect(coming.at(-1)).toBe(0);
});

it("reads any number of short messages that a statement has no number of", async () => {
  const statuses = Array.from({ length: 2000 }, () => message("S", "a\0b\0"));
  const answer = Buffer.concat([...statuses, message("Z", "I")]);
  const client = await loggingIn(welcome, answer, answer);
  expect([await client.query("SELECT 1"), await client.query("SELECT 1")]).toEqual([[], []]);
});

it("ends a login with more iterations than it carries out, and nothing else", async () => {
  const challenge = "\0\0\0\x0br=nonce,s=c2FsdA==,i=30000";
  const login = loggingIn(message("R", "\0\0\0\nSCRAM-SHA-256\0\0"), message("R", challenge));
  await expect(login).rejects.toThrow(/30000 SCRAM iterations/);
});

it("ends a connection on which a server says what is no message", async () => {
  const client = await loggingIn(welcome, message("R", "\0\0\0\x63"));
  await expect(client.query("SELECT 1")).rejects.toThrow(/Unknown authenticationOk message type 99/);
});

/** The answer of one row with one column of this name and 400 bytes. */
function answerOf(name: string): Buffer {
  const value = Buffer.alloc(400, "x");
  const [described, row] = [
    Buffer.from(`\0\x01${name}${"\0".repeat(19)}`),
    Buffer.from("\0\x01\0\0\x01\x90", "latin1"),
  ];
  return Buffer.concat([message("T", described), message("D", Buffer.concat([row, value])), message("Z", "I")]);
}

it("gives up the answers of one connection that are larger together than the caller takes", async () => {
  const client = await loggingIn(welcome, answerOf("a"), answerOf("a"), answerOf("a"));
  expect([(await client.query("SELECT")).length, (await client.query("SELECT")).length]).toEqual([1, 1]);
  await expect(client.query("SELECT")).rejects.toThrow(AnswerTooLarge);
});

const refusal = (text: string) => message("E", `M${text}\0\0`);

it("a statement that wants data is refused them, and the connection goes on", async () => {
  const client = await loggingIn(
    welcome,
    message("G", "\0\0\0"),
    Buffer.concat([refusal("no data"), message("Z", "I")]),
    answerOf("a"),
  );
  await expect(client.query("COPY word FROM STDIN")).rejects.toThrow("no data");
  expect(await client.query("SELECT")).toHaveLength(1);
});

it("the first of several complaints about one statement is told, and the next statement has none of them", async () => {
  const two = Buffer.concat([refusal("first"), refusal("second"), message("Z", "I")]);
  const client = await loggingIn(welcome, two, answerOf("a"));
  await expect(client.query("SELECT")).rejects.toThrow("first");
  expect(await client.query("SELECT")).toHaveLength(1);
});

it("a connection that was ended says always why, at first and to those who ask later", async () => {
  const client = await loggingIn(welcome);
  const waiting = client.query("SELECT");
  client.destroy(new Error("it took too long"));
  client.destroy(new Error("again"));
  await expect(waiting).rejects.toThrow("it took too long");
  await client.closed;
  await expect(client.query("SELECT")).rejects.toThrow("it took too long");
});

it("the answers from a new limit on are counted from nothing", async () => {
  const client = await loggingIn(welcome, answerOf("a"), answerOf("a"), answerOf("a"), answerOf("a"));
  for (let asked = 0; asked < 4; asked += 1) {
    client.limitAnswers(500);
    expect(await client.query("SELECT")).toHaveLength(1);
  }
});

it("a connection that is destroyed has the server end what it runs", async () => {
  const directory = temporaryDirectory("sql-client");
  const path = join(directory.path, "socket");
  const key = message("K", Buffer.from("12345678"));
  const connections: Buffer[][] = [];
  const server = createServer((socket) => {
    const sent: Buffer[] = [];
    const isFirst = connections.push(sent) === 1;
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        sent.push(chunk);
        if (isFirst && sent.length === 1) socket.write(Buffer.concat([key, welcome]));
      });
  });
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = await SqlClient.connect({ socket: path, user: "app", password: "secret", database: "stock" });
  const waiting = client.query("SELECT pg_sleep(60)");
  client.destroy(new Error("it took too long"));
  await expect(waiting).rejects.toThrow("it took too long");
  const request = Buffer.concat([Buffer.from([0, 0, 0, 16, 4, 210, 22, 46]), Buffer.from("12345678")]);
  await expect.poll(() => Buffer.concat(connections[1] ?? [])).toEqual(request);
});

it("a request to end a statement leaves no connection, also where the server has no process for it", async () => {
  const directory = temporaryDirectory("sql-client");
  const path = join(directory.path, "socket");
  const key = message("K", Buffer.from("12345678"));
  let connections = 0;
  const server = createServer((socket) => {
    const isFirst = ++connections === 1;
    socket
      .on("error", () => {})
      .once("data", () => {
        if (isFirst) socket.write(Buffer.concat([key, welcome]));
        else socket.end("Ecould not fork new process for connection\n\0");
      });
  });
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const client = await SqlClient.connect({ socket: path, user: "app", password: "secret", database: "stock" });
  const pipes = () => process.getActiveResourcesInfo().filter((kind) => kind === "PipeWrap").length;
  const before = pipes();
  for (let times = 0; times < 3; times += 1) client.cancel();
  await expect.poll(() => [connections, pipes()]).toEqual([4, before]);
  client.close();
});
