import { createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { Running } from "../../../../src/service/postgres/fleet/fleet-ports.ts";
import { Verifiers } from "../../../../src/service/postgres/fleet/verifiers.ts";
import { socketIn } from "../../../../src/service/postgres/host/sockets.ts";
import { parseVerifier, scramVerifier } from "../../../../src/service/postgres/session/scram.ts";
import { ServiceSessions } from "../../../../src/service/postgres/session/service-sessions.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { realClock } from "../../../support/real-clock.ts";
import { table } from "../fake/fake-messages.ts";
import type { Rows } from "../fake/fake-sql.ts";

const ready = Buffer.from("Z\0\0\0\x05I", "latin1");
const welcome = Buffer.concat([Buffer.from("R\0\0\0\x08\0\0\0\0", "latin1"), ready]);

const running: Running = JSON.parse('{"endpoint": {"id": "ep-main"}, "server": {}, "config": {"major": 17}}');

/** A server that takes every session and answers each question with these rows: its sessions, and what it was asked. */
async function listening(
  rows: Rows = [],
  refused = "",
): Promise<{ verifiers: Verifiers; opened: Socket[]; asked: string[] }> {
  const directory = temporaryDirectory("verifiers");
  running.config.sockets = directory.path;
  const opened: Socket[] = [];
  const asked: string[] = [];
  const server = createServer((socket) => {
    opened.push(socket);
    socket
      .on("error", () => {})
      .once("data", () => {
        socket.write(welcome);
        socket.on("data", (question: Buffer) => {
          asked.push(question.toString("latin1"));
          socket.write(rows.length === 0 ? ready : Buffer.concat([table(rows), ready]));
        });
      });
  });
  onTestFinished(() => {
    server.close();
    for (const socket of opened) socket.destroy();
    directory.remove();
  });
  await new Promise<void>((resolve) => server.listen(socketIn(directory.path), resolve));
  const verifiers = new Verifiers({
    sessions: new ServiceSessions(realClock),
    secret: "secret",
    fleet: { refusesLogin: (_branchId, role) => role === refused },
  });
  return { verifiers, opened, asked };
}

it("a role that is not there has a verifier of its own, always the same, as one that is there has", async () => {
  const { verifiers } = await listening();
  const [app, ana, again] = await Promise.all(["app", "ana", "app"].map((role) => verifiers.of(running, role)));
  expect(again).toEqual(app);
  expect(ana?.salt).not.toEqual(app?.salt);
  expect(app).not.toHaveProperty("oid");
});

it("a role that is there has the verifier of its server and its number, by which it is told from a later one", async () => {
  const text = await scramVerifier("secret");
  const known = await listening([[text, "16385"]]);
  expect(await known.verifiers.of(running, "app")).toEqual({ ...parseVerifier(text), oid: "16385" });
});

it("a role whose login holds no more has a verifier that nothing fits, whatever its server has, and no number", async () => {
  const text = await scramVerifier("stolen");
  const name = "r".repeat(63);
  const { verifiers } = await listening([[text, "16385"]], name);
  const [own, long, other] = await Promise.all(
    [name, `${name}-more`, "ana"].map((role) => verifiers.of(running, role)),
  );
  for (const one of [own, long]) {
    expect(one?.salt).not.toEqual(parseVerifier(text)?.salt);
    expect(one).not.toHaveProperty("oid");
  }
  expect(other).toEqual({ ...parseVerifier(text), oid: "16385" });
});

it("the session that looks up passwords is opened once, and again after its server has ended it", async () => {
  const { verifiers, opened } = await listening();
  await Promise.all([verifiers.of(running, "app"), verifiers.of(running, "ana")]);
  expect(opened).toHaveLength(1);
  opened[0]?.destroy();
  const asked = () =>
    verifiers.of(running, "app").then(
      () => "answered",
      () => "refused",
    );
  await expect.poll(asked).toBe("answered");
  expect(opened).toHaveLength(2);
});

it("networks take turns: the verifier of a login is not asked for behind those of another network's thousands", async () => {
  const { verifiers, asked } = await listening();
  const strangers = Array.from({ length: 100 }, (_, index) => verifiers.of(running, `stranger-${index}`, "10.0.0.1"));
  await Promise.all([...strangers, verifiers.of(running, "client", "10.0.0.2")]);
  const roles = asked.map((question) => /stranger-\d+|client/.exec(question)?.[0]).filter((role) => role !== undefined);
  expect(roles.slice(0, 4)).toEqual(["stranger-0", "stranger-1", "client", "stranger-2"]);
  expect(roles).toHaveLength(101);
});
