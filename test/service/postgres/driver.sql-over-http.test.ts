import { getEventListeners } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { ServiceReply } from "../../../src/service/http/message.ts";
import type { SqlCall } from "../../../src/service/http/sql-access.ts";
import { sqlOverHttp } from "../../../src/service/postgres/driver/sql-over-http.ts";
import type { Admission } from "../../../src/service/postgres/proxy/admission.ts";
import type { Target } from "../../../src/service/postgres/proxy/route.ts";
import { ScramServer } from "../../../src/service/postgres/proxy/scram-server.ts";
import { cancelPacket } from "../../../src/service/postgres/proxy/startup.ts";
import { message } from "../../../src/service/postgres/session/messages.ts";
import { Rejection } from "../../../src/service/postgres/session/rejection.ts";
import { parseVerifier, scramVerifier, unfitVerifier } from "../../../src/service/postgres/session/scram.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { realClock } from "../../support/real-clock.ts";

const headers = { "neon-connection-string": "postgresql://app:secret@ep-main.localhost/stock" };
const nothing = () => {};
const holding = {
  take: () => true,
  hold: nothing,
  room: () => Promise.resolve(true),
  moveTo: nothing,
  release: nothing,
};

/** A request whose body is read with the first call. */
function call(gone: AbortSignal, body = JSON.stringify({ query: "SELECT pg_sleep(600)" })): SqlCall {
  return { headers, from: "10.0.0.1", gone, hold: () => holding, body: () => Promise.resolve(body) };
}

const verifier = parseVerifier(await scramVerifier("secret", Buffer.from("0123456789abcdef"))) ?? unfitVerifier("", "");
const key = Buffer.from("12345678");
const ready = Buffer.from("Z\0\0\0\x05I", "latin1");
/** AuthenticationOk, the key for cancelling, and ReadyForQuery. */
const welcome = Buffer.concat([Buffer.from("R\0\0\0\x08\0\0\0\0K\0\0\0\x0c", "latin1"), key, ready]);

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
  const verifierOf = () => Promise.resolve(verifier);
  return {
    admission: {
      socket: () => Promise.resolve(socket),
      verifierOf,
      end: () => Promise.resolve(),
      inTurn: (check) => check(),
      alone: (hash) => hash(),
      onServerEnd: () => () => {},
      logout: new AbortController().signal,
      enter: () => {},
      leave,
    },
    left: () => count,
  };
}

it("a client that leaves while its compute wakes has no statement begun, and its place given back", async () => {
  const heard: string[] = [];
  const { admission, left } = await compute((socket) => {
    let isLoggedIn = false;
    socket.on("data", (chunk) => {
      if (!isLoggedIn) socket.write(welcome);
      else {
        heard.push(chunk.toString("latin1"));
        socket.end();
      }
      isLoggedIn = true;
    });
  });
  const gone = new AbortController();
  let from: string | undefined;
  const admit = (target: Target) => {
    from = target.from;
    gone.abort();
    return Promise.resolve(admission);
  };
  expect(await sqlOverHttp(call(gone.signal), admit)).toMatchObject({
    body: expect.stringContaining("the connection was closed"),
  });
  expect([left(), heard, from]).toEqual([1, [], "10.0.0.1"]);
  // Its password is being checked when it leaves.
  const checked = new AbortController();
  const verifierOf = (role: string) => {
    checked.abort();
    return admission.verifierOf(role);
  };
  expect(await sqlOverHttp(call(checked.signal), () => Promise.resolve({ ...admission, verifierOf }))).toMatchObject({
    body: expect.stringContaining("before it began"),
  });
  await expect.poll(left).toBe(2);
  expect(heard).toEqual(["X\0\0\0\x04"]);
});

it("a session begins with what the password has proved, and not with as many rounds as the server's verifier asks", async () => {
  // Another salt and number of rounds, which give another key of the same password.
  const login = new ScramServer({ ...verifier, salt: Buffer.from("another"), iterations: 5000 }, "nonce", undefined);
  const asked = (kind: number, text: string) => {
    const head = Buffer.alloc(4);
    head.writeUInt32BE(kind);
    return message("R", Buffer.concat([head, Buffer.from(text)]));
  };
  const proved: boolean[] = [];
  const { admission } = await compute((socket) => {
    let messages = 0;
    socket.on("data", (chunk) => {
      messages += 1;
      if (messages === 1) return socket.write(asked(10, "SCRAM-SHA-256\0\0"));
      const text = chunk.toString("latin1");
      if (messages === 2)
        return socket.write(asked(11, login.challenge("SCRAM-SHA-256", text.slice(text.indexOf("n,,")))));
      proved.push(login.finish(text.slice(5)) !== undefined);
      return socket.end();
    });
  });
  await sqlOverHttp(call(new AbortController().signal), () => Promise.resolve(admission));
  expect(proved).toEqual([true]);
});

it("a client that leaves has the statement that runs cancelled, and those after it do not begin", async () => {
  const gone = new AbortController();
  let statements: Socket | undefined;
  let begun = 0;
  const { admission, left } = await compute((socket) => {
    socket.on("data", (chunk) => {
      if (chunk.equals(cancelPacket(key))) statements?.write(done);
      else if (!statements) (statements = socket).write(welcome);
      else if (chunk[0] === "X".charCodeAt(0)) socket.end();
      else {
        begun += 1;
        if (begun === 1) socket.write(done);
        else gone.abort();
      }
    });
  });
  const body = JSON.stringify({ queries: Array.from({ length: 3 }, () => ({ query: "SELECT pg_sleep(600)" })) });
  const answer = await sqlOverHttp(call(gone.signal, body), () => Promise.resolve(admission));
  expect(answer).toMatchObject({ body: expect.stringContaining("before it began") });
  await expect.poll(left).toBe(1);
  // `BEGIN` and the first statement.
  expect(begun).toBe(2);
});

it("a client that leaves with its answer has nothing cancelled any more", async () => {
  const heard: Buffer[] = [];
  let connections = 0;
  const { admission, left } = await compute((socket) => {
    connections += 1;
    let isLoggedIn = false;
    socket.on("data", (chunk) => {
      heard.push(chunk);
      if (!isLoggedIn) socket.write(welcome);
      else if (chunk[0] === "X".charCodeAt(0)) socket.end();
      else socket.write(done);
      isLoggedIn = true;
    });
  });
  const gone = new AbortController();
  expect(await sqlOverHttp(call(gone.signal), () => Promise.resolve(admission))).toMatchObject({ status: 200 });
  await expect.poll(left).toBe(1);
  expect(getEventListeners(gone.signal, "abort")).toEqual([]);
  gone.abort();
  expect(connections).toBe(1);
});

it("a client whose login holds no more while its statement runs is answered at once, with the reason", async () => {
  const [logout, heard] = [new AbortController(), [] as Buffer[]];
  const { admission, left } = await compute((socket) => {
    let isLoggedIn = false;
    socket.on("data", (chunk) => {
      heard.push(chunk);
      if (!isLoggedIn) socket.write(welcome);
      else if (!chunk.equals(cancelPacket(key))) logout.abort();
      isLoggedIn = true;
    });
  });
  const answer = await sqlOverHttp(call(new AbortController().signal), () =>
    Promise.resolve({ ...admission, logout: logout.signal }),
  );
  expect(answer).toMatchObject({ status: 400, body: expect.stringContaining("a password of the branch was reset") });
  expect(JSON.parse(answer.body ?? "")).toMatchObject({ code: "57P01", severity: "FATAL" });
  await expect.poll(left).toBe(1);
  await expect.poll(() => heard.some((chunk) => chunk.equals(cancelPacket(key)))).toBe(true);
});

it("a client gets its place back where the server of its compute takes nobody", async () => {
  const { admission, left } = await compute((socket) => socket.destroy());
  const answer = await sqlOverHttp(call(new AbortController().signal), () => Promise.resolve(admission));
  expect([answer.status, left()]).toEqual([502, 1]);
});

it("a client with a wrong password is refused before the server of its compute sees it", async () => {
  let connections = 0;
  const { admission, left } = await compute(() => (connections += 1));
  const wrong = {
    ...call(new AbortController().signal),
    headers: { "neon-connection-string": "postgresql://app:wrong@ep-main.localhost/stock" },
  };
  expect(await sqlOverHttp(wrong, () => Promise.resolve(admission))).toMatchObject({
    status: 400,
    body: expect.stringContaining("28P01"),
  });
  expect([connections, left()]).toEqual([0, 1]);
});

it("a client for which its compute, or the share of its owner, has no place gets no process of the server", async () => {
  let connections = 0;
  const { admission, left } = await compute(() => (connections += 1));
  const enter = () => {
    throw new Rejection("53300", "too many clients");
  };
  const answer = await sqlOverHttp(call(new AbortController().signal), () => Promise.resolve({ ...admission, enter }));
  expect(answer).toMatchObject({ status: 400, body: expect.stringContaining("53300") });
  expect([connections, left()]).toEqual([0, 1]);
});

/** One row of a column, many times, and the end of a query. */
const row = Buffer.from("D\0\0\0\x14\0\x01\0\0\0\x0a0123456789", "latin1");
const done = Buffer.concat([Buffer.from("C\0\0\0\x0dSELECT 1\0", "latin1"), ready]);

it.each([
  ["INSERT 0 3", "INSERT", 3],
  ["UPDATE 2", "UPDATE", 2],
  ["CREATE TABLE", "CREATE", null],
])("a statement whose server says %s is the command %s of %s rows", async (tag, command, rowCount) => {
  const { admission } = await compute((socket) => {
    socket.once("data", () => {
      socket.write(welcome);
      socket.once("data", () => socket.write(Buffer.concat([message("C", `${tag}\0`), ready])));
    });
  });
  const answer = await sqlOverHttp(call(new AbortController().signal), () => Promise.resolve(admission));
  expect(JSON.parse(Buffer.concat([...(answer.pieces ?? [])]).toString())).toMatchObject({ command, rowCount });
});

it("an answer beyond the share of its compute ends the statement, and says why", async () => {
  const heard: Buffer[] = [];
  const { admission, left } = await compute((socket) => {
    let isLoggedIn = false;
    socket.on("data", (chunk) => {
      if (chunk.equals(cancelPacket(key))) heard.push(chunk);
      else if (!isLoggedIn) socket.write(welcome);
      else socket.write(Buffer.concat([...Array.from({ length: 20_000 }, () => row), done]));
      isLoggedIn = true;
    });
  });
  const bytes = new Shares(300_000);
  const request = { ...call(new AbortController().signal), hold: (id: string) => bytes.of(id) };
  await expect(sqlOverHttp(request, () => Promise.resolve(admission))).rejects.toMatchObject({ status: 503 });
  await expect.poll(() => heard.length).toBe(1);
  await expect.poll(left).toBe(1);
});

it("twenty long answers at once of one owner all arrive, one after another where there is no room for all", async () => {
  const { admission, left } = await compute((socket) => {
    let isLoggedIn = false;
    socket.on("data", (chunk) => {
      if (chunk[0] === "X".charCodeAt(0)) socket.end();
      else socket.write(isLoggedIn ? Buffer.concat([...Array.from({ length: 20_000 }, () => row), done]) : welcome);
      isLoggedIn = true;
    });
  });
  // Each answer has some 340,000 bytes, and the owner four million at most.
  const bytes = new Shares(8_000_000);
  const answers = Array.from({ length: 20 }, async () => {
    const part = bytes.of("owner", realClock);
    const request = { ...call(new AbortController().signal), hold: () => part };
    const { status } = await sqlOverHttp(request, () => Promise.resolve(admission));
    expect(bytes.all).toBeLessThanOrEqual(4_000_000);
    part.release();
    return status;
  });
  expect(await Promise.all(answers)).toEqual(answers.map(() => 200));
  expect(bytes.all).toBe(0);
  await expect.poll(left).toBe(20);
});

/** The description of an answer with a hundred columns of long names. */
const wide = message("T", `\0\x64${`${"n".repeat(60)}${"\0".repeat(19)}`.repeat(100)}`);

const batch = JSON.stringify({ queries: Array.from({ length: 1000 }, () => ({ query: "TABLE wide" })) });

/** A compute whose tables have many columns and no rows. */
function wideTables(onStatement: () => void): ReturnType<typeof compute> {
  return compute((socket) => {
    let isLoggedIn = false;
    socket.on("data", (chunk) => {
      if (chunk[0] === "X".charCodeAt(0)) socket.end();
      else {
        if (isLoggedIn) onStatement();
        socket.write(isLoggedIn ? Buffer.concat([wide, done]) : welcome);
        isLoggedIn = true;
      }
    });
  });
}

it("a batch whose columns alone fill the share waits for room after each statement, and arrives", async () => {
  let begun = 0;
  const { admission } = await wideTables(() => (begun += 1));
  const full: number[] = [];
  const waited: number[] = [];
  const part = { ...holding, take: () => full.push(begun) < 0, room: () => Promise.resolve(waited.push(begun) > 0) };
  const request = { ...call(new AbortController().signal, batch), hold: () => part };
  expect(await sqlOverHttp(request, () => Promise.resolve(admission))).toMatchObject({ status: 200 });
  expect(full.length).toBeGreaterThan(10);
  // No statement has begun meanwhile.
  expect(waited).toEqual(full);
});

it("the names of columns count in the share of a compute for each statement of a batch", async () => {
  let begun = 0;
  const { admission, left } = await wideTables(() => (begun += 1));
  const bytes = new Shares(600_000);
  const request = { ...call(new AbortController().signal, batch), hold: (id: string) => bytes.of(id) };
  await expect(sqlOverHttp(request, () => Promise.resolve(admission))).rejects.toMatchObject({ status: 503 });
  // What comes after the one that finds no room does not run.
  expect(begun).toBeLessThan(100);
  expect(bytes.all).toBeGreaterThan(200_000);
  expect(bytes.all).toBeLessThanOrEqual(300_000);
  await expect.poll(left).toBe(1);
});

/** The answer to a statement that the server refuses with an error of such fields. */
async function answerToRefused(fields: string): Promise<ServiceReply> {
  const raised = message("E", fields);
  const { admission } = await compute((socket) => {
    let isLoggedIn = false;
    socket.on("data", () => {
      socket.write(isLoggedIn ? Buffer.concat([raised, ready]) : welcome);
      isLoggedIn = true;
    });
  });
  return sqlOverHttp(call(new AbortController().signal), () => Promise.resolve(admission));
}

it("an error with a long text is shown with its beginning", async () => {
  const answer = await answerToRefused(`SERROR\0C22000\0M${"\u0001".repeat(900_000)}\0Hh${"🐘".repeat(200_000)}\0\0`);
  expect(answer.body?.length).toBeLessThan(7 * 65_536 + 1000);
  expect(JSON.parse(answer.body ?? "")).toMatchObject({
    code: "22000",
    message: `${"\u0001".repeat(65_536)}…`,
    // No half of a character, which strict readers of JSON refuse.
    hint: `h${"🐘".repeat(32_767)}\u{fffd}…`,
  });
});

it("a full temporary disk is shown as that of a full disk, with the error's other fields", async () => {
  const exceeded = 'temporary file size exceeds "temp_file_limit" (2097kB)';
  const answer = await answerToRefused(`SERROR\0C53400\0M${exceeded}\0RFileWrite\0\0`);
  expect(JSON.parse(answer.body ?? "")).toMatchObject({
    severity: "ERROR",
    code: "53100",
    message: expect.stringMatching(/No space left on device$/),
    routine: "FileWrite",
  });
});

it("the body of a client that cannot log in is not read", async () => {
  const { admission } = await compute((socket) => socket.end(Buffer.from("E\0\0\0\x0fC28P01\0Mx\0\0", "latin1")));
  const body = () => Promise.reject(new Error("read"));
  const request = { ...call(new AbortController().signal), body };
  const refused = await sqlOverHttp(request, () => Promise.resolve(admission));
  expect(refused).toMatchObject({ status: 400, body: expect.stringContaining("28P01") });
  const nowhere = sqlOverHttp(request, () => Promise.reject(new Rejection("08004", "there is no compute")));
  expect((await nowhere).status).toBe(400);
});
