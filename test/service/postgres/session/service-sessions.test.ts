import { createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { Held } from "../../../../src/service/postgres/host/failure.ts";
import { socketIn } from "../../../../src/service/postgres/host/sockets.ts";
import { ServiceSessions } from "../../../../src/service/postgres/session/service-sessions.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

const welcome = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");
const done = Buffer.from("Z\0\0\0\x05I", "latin1");
const refusal = Buffer.concat([Buffer.from("E\0\0\0\x0eMno room\0\0", "latin1"), done]);

/** Opens a session in a server that gives one of these answers to each message, and then none. */
async function opening(answers: readonly Buffer[], major = 17, login?: { user: string; password: string }) {
  const directory = temporaryDirectory("service-sessions");
  const clock = new VirtualClock();
  const arrived = Promise.withResolvers<Socket>();
  const asked: Buffer[] = [];
  const left = answers.values();
  const server = createServer((socket) =>
    socket
      .on("error", () => {})
      .on("data", (chunk) => {
        asked.push(chunk);
        arrived.resolve(socket);
        socket.write(left.next().value ?? "");
      }),
  );
  onTestFinished(() => {
    server.close();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(socketIn(directory.path), resolve));
  const sessions = new ServiceSessions(clock);
  const opened = sessions.open({ sockets: directory.path, major }, "stock", login);
  opened.catch(() => {});
  return { clock, opened, asked, socket: await arrived.promise };
}

it("gives up a session that a server does not open, as where a client holds a lock on the database", async () => {
  const { clock, opened } = await opening([]);
  await clock.advance(20_000);
  await expect(opened).rejects.toThrow(new Held('database "stock" takes no session: a client may hold a lock on it'));
  await expect(opened).rejects.toBeInstanceOf(Held);
});

it.each([
  [16, false],
  [17, true],
])("gives a session at version %i what that version knows, transaction_timeout: %s", async (major, known) => {
  const { opened, asked } = await opening([welcome, done], major);
  (await opened).close();
  expect([asked[0]?.includes("statement_timeout"), asked[0]?.includes("transaction_timeout")]).toEqual([true, known]);
});

it("a session is of our own role, whatever a client has stored as role or session_authorization", async () => {
  const { opened, asked } = await opening([welcome, done]);
  (await opened).close();
  const words = asked[0]?.toString("latin1").split("\0") ?? [];
  for (const [name, value] of [
    ["role", "none"],
    ["session_authorization", "cloud_admin"],
  ] as const) {
    expect(words[words.indexOf(name) + 1]).toBe(value);
  }
});

it("leaves no timer behind for a session that is open", async () => {
  const { clock, opened } = await opening([welcome, done]);
  const session = await opened;
  expect(clock.pending).toBe(0);
  session.close();
});

it("ends a session in which it cannot undo what a client has stored", async () => {
  const { opened, socket } = await opening([welcome, refusal]);
  await expect(opened).rejects.toThrow("no room");
  await expect.poll(() => socket.destroyed).toBe(true);
});

it("a session is given all of these settings, of which some are a superuser's alone", async () => {
  const { opened, asked } = await opening([welcome, done]);
  (await opened).close();
  const words = asked[0]?.toString("latin1", 8).split("\0") ?? [];
  const given = Object.fromEntries(words.flatMap((word, at) => (at % 2 === 0 && word ? [[word, words[at + 1]]] : [])));
  expect(given).toMatchObject({
    user: "cloud_admin",
    database: "stock",
    search_path: "pg_catalog",
    session_authorization: "cloud_admin",
    role: "none",
    event_triggers: "off",
    session_preload_libraries: "",
    local_preload_libraries: "",
    client_encoding: "SQL_ASCII",
    client_min_messages: "error",
    standard_conforming_strings: "on",
    timezone_abbreviations: "Default",
    default_transaction_read_only: "off",
    default_transaction_isolation: "read committed",
    default_transaction_deferrable: "off",
    synchronous_commit: "on",
    statement_timeout: "0",
    transaction_timeout: "0",
    idle_session_timeout: "0",
    idle_in_transaction_session_timeout: "0",
    enable_seqscan: "off",
    jit: "off",
    lock_timeout: "10s",
  });
});

it("a session of another role than the service's own is given none of the settings that a superuser may give alone", async () => {
  const { opened, asked } = await opening([welcome, done], 17, { user: "copier", password: "secret" });
  (await opened).close();
  const words = asked[0]?.toString("latin1", 8).split("\0") ?? [];
  const names = words.filter((_, at) => at % 2 === 0);
  expect(words[words.indexOf("user") + 1]).toBe("copier");
  const [forAll, alone] = [
    ["role", "local_preload_libraries", "lock_timeout"],
    ["session_authorization", "event_triggers", "session_preload_libraries"],
  ];
  expect([...forAll, ...alone].filter((name) => names.includes(name))).toEqual(forAll);
});

it("a session quotes 2,000 characters of an error, which a client's function may raise, and reads none of 16 MB", async () => {
  const failed = (length: number) => {
    const body = Buffer.from(`M${"x".repeat(length)}\0\0`);
    const head = Buffer.from("E\0\0\0\0", "latin1");
    head.writeUInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body, done]);
  };
  const { opened } = await opening([welcome, done, failed(100_000), failed(17 * 1024 ** 2)]);
  const session = await opened;
  await expect(session.query("SELECT 1")).rejects.toThrow(/^x{2000}$/);
  await expect(session.query("SELECT 1")).rejects.toThrow("the answer is larger than 16777216 bytes");
});
