import { createServer, type ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import type { Exchange } from "../../../src/service/http/exchange.ts";
import { LongAnswers } from "../../../src/service/http/long-answers.ts";
import { Refusal } from "../../../src/service/refusal.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { Visitor } from "../console/visitor.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

/** An answer on its way to a client that takes nothing, and the client's end. */
async function unread(): Promise<{ outgoing: ServerResponse; leave: () => void }> {
  const arrived = Promise.withResolvers<ServerResponse>();
  const server = createServer((_, outgoing) => arrived.resolve(outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const socket = connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return { outgoing: await arrived.promise, leave: () => socket.destroy() };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

function answerOf(length: number): Exchange {
  return { kind: "answer", reply: { status: 200, headers: {}, body: "x".repeat(length) }, delayMs: 0 };
}

it("long answers of one caller, and short ones, are made one by one, those of others in between", async () => {
  const answers = new LongAnswers(new Shares(), () => 0);
  const { outgoing } = await unread();
  const made: string[] = [];
  const make = (caller: string, name: string, length: number) =>
    void answers.make({ caller, outgoing, reads: true }, () => {
      made.push(name);
      return answerOf(length);
    });
  make("ana", "first", 100_000);
  make("ana", "second", 100_000);
  make("ana", "third", 10);
  make("ana", "fourth", 10);
  make("bob", "other", 100_000);
  const turns = [["first", "other"], ["second"], ["third"], ["fourth"]];
  for (const [turn] of turns.entries()) {
    expect(made).toEqual(turns.slice(0, turn + 1).flat());
    await nextTurn();
  }
  make("ana", "later", 100_000);
  expect(made.at(-1)).toBe("later");
});

it.each([
  [0, 1],
  [10, 11],
  [-5, 1],
  [3_600_000, 51],
])(
  "an answer made in %i ms gives strangers' connections so many turns, and others none to wait for",
  async (ms, turns) => {
    let now = 0;
    const answers = new LongAnswers(new Shares(), () => now);
    const { outgoing } = await unread();
    const made: string[] = [];
    const make = (caller: string, name: string) =>
      answers.make({ caller, outgoing, reads: true }, () => {
        made.push(name);
        now += ms;
        return answerOf(10);
      });
    for (const [caller, name] of [
      ["ana", "first"],
      ["ana", "second"],
      ["bob", "other"],
    ] as const)
      void make(caller, name);
    const taken = async (name: string) => {
      for (let turn = 1; ; turn += 1) {
        await nextTurn();
        if (made.includes(name)) return turn;
      }
    };
    expect(made).toEqual(["first", "other"]);
    expect(await taken("second")).toBe(turns);
    void make("ana", "third");
    expect(await taken("third")).toBe(turns);
  },
);

it("a call waits also for a long answer that has waited itself", async () => {
  const answers = new LongAnswers(new Shares(), () => 0);
  const { outgoing } = await unread();
  const made: string[] = [];
  const make = (name: string) =>
    void answers.make({ caller: "ana", outgoing, reads: true }, () => {
      made.push(name);
      return answerOf(100_000);
    });
  make("first");
  make("second");
  await nextTurn();
  make("third");
  expect(made).toEqual(["first", "second"]);
  await nextTurn();
  expect(made).toEqual(["first", "second", "third"]);
});

it("a call waits for the last turn of an answer that takes several, and those of others come in between", async () => {
  const answers = new LongAnswers(new Shares(), () => 0);
  const { outgoing } = await unread();
  const made: string[] = [];
  const make = (caller: string, name: string, turns: number) =>
    void answers.make({ caller, outgoing, reads: true }, (turn) => {
      made.push(`${name} ${turns - 1}`);
      const rest = async () => {
        for (let left = turns - 2; left >= 0; left -= 1) {
          await turn();
          made.push(`${name} ${left}`);
        }
        return "x";
      };
      return turns > 1 ? waitedFor(rest()) : answerOf(1);
    });
  make("ana", "long", 3);
  make("ana", "next", 1);
  make("bob", "other", 2);
  const seen: string[][] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    seen.push(made.splice(0));
    await nextTurn();
  }
  expect(seen).toEqual([["long 2", "other 1"], ["long 1", "other 0"], ["long 0"], ["next 0"], []]);
});

it("a long answer that fails keeps none of its caller's waiting", async () => {
  const answers = new LongAnswers(new Shares(), () => 0);
  const { outgoing } = await unread();
  const call = { caller: "ana", outgoing, reads: true };
  const first = answers.make(call, () => answerOf(100_000));
  const failing = answers.make(call, () => {
    throw new Error("the answer fails");
  });
  const last = answers.make(call, () => answerOf(10));
  await expect(failing).rejects.toThrow("the answer fails");
  expect([await first, await last]).toEqual([answerOf(100_000), answerOf(10)]);
});

it("long answers that are not taken count in the share of their caller until their client has left: a further one is refused, or dropped after a change", async () => {
  const bytes = new Shares(500_000);
  const answers = new LongAnswers(bytes, () => 0);
  const { outgoing, leave } = await unread();
  const make = async (reads = true) => {
    const made = await answers.make({ caller: "ana", outgoing, reads }, () => answerOf(200_000));
    return made instanceof Refusal ? "refused" : made.kind;
  };
  expect([await make(), await make(), await make(false), bytes.all]).toEqual(["answer", "refused", "dropped", 200_000]);
  const short = { caller: "ana", outgoing, reads: true };
  await nextTurn();
  expect(await answers.make(short, () => answerOf(65_535))).toEqual(answerOf(65_535));
  expect(bytes.all).toBe(200_000);
  leave();
  await expect.poll(() => bytes.all).toBe(0);
  expect(await make()).toBe("answer");
  expect(bytes.all).toBe(0);
});

it("long answers count by their bytes, of which some characters have three", async () => {
  const bytes = new Shares(1_000_000);
  const answers = new LongAnswers(bytes, () => 0);
  const { outgoing } = await unread();
  const page: Exchange = { kind: "answer", reply: { status: 200, headers: {}, body: "頁".repeat(30_000) }, delayMs: 0 };
  await answers.make({ caller: "ana", outgoing, reads: true }, () => page);
  expect(bytes.all).toBe(90_000);
});

it("what a caller holds of long answers counts against its account, or the network of a stranger, and nobody else", async () => {
  const bytes = new Shares(140_000_000);
  await using shop = await ListeningShop.start({}, { bytes });
  vi.spyOn(shop.core, "exchange").mockReturnValue(answerOf(40_000_000));
  const wires: Wire[] = [];
  const sent = (key: string | undefined, method = "GET", from = "127.0.0.1") => {
    const wire = new Wire(shop, from);
    wires.push(wire);
    wire.socket.once("data", () => wire.socket.pause());
    const by = key === undefined ? "" : `Authorization: Bearer ${key}\r\n`;
    wire.send(`${method} /api/v2/projects HTTP/1.1\r\nHost: localhost\r\n${by}\r\n`);
    return wire;
  };
  const statusOf = async (...of: Parameters<typeof sent>) => (await sent(...of).answer()).slice(9, 12);
  expect([await statusOf(keys.ana), await statusOf(keys.ana)]).toEqual(["200", "503"]);
  const changed = sent(keys.ana, "DELETE");
  await changed.ended;
  expect([changed.received, await statusOf(keys.bob)]).toEqual(["", "200"]);
  expect(await statusOf(undefined)).toBe("503");
  expect(bytes.all).toBe(80_000_000);
  for (const { socket } of wires) socket.destroy();
  await expect.poll(() => bytes.all).toBe(0);
  expect([await statusOf(undefined), await statusOf(undefined)]).toEqual(["200", "503"]);
  expect(await statusOf(undefined, "GET", "127.0.0.2")).toBe("200");
  for (const { socket } of wires) socket.destroy();
});

it("what a person holds at the console counts against its account, and not against all at its address", async () => {
  const bytes = new Shares(140_000_000);
  await using shop = await ListeningShop.start({}, { bytes });
  const [ana, bob] = ["acc-ana", "acc-bob"].map((account) => new Visitor(shop.core).signIn(account).cookie ?? "");
  vi.spyOn(shop.core, "exchange").mockReturnValue(answerOf(40_000_000));
  const wires: Wire[] = [];
  const statusOf = async (cookie: string) => {
    const wire = new Wire(shop);
    wires.push(wire);
    wire.socket.once("data", () => wire.socket.pause());
    wire.send(`GET /app/projects HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\n\r\n`);
    return (await wire.answer()).slice(9, 12);
  };
  expect([await statusOf(ana ?? ""), await statusOf(ana ?? ""), await statusOf(bob ?? "")]).toEqual([
    "200",
    "503",
    "200",
  ]);
  for (const { socket } of wires) socket.destroy();
  await expect.poll(() => bytes.all).toBe(0);
});

it("a client that takes nothing of its answer gets no more of it after its time, and holds nothing of the budget", async () => {
  const bytes = new Shares(140_000_000);
  await using shop = await ListeningShop.start({}, { bytes, answerTimeoutMs: 100 });
  vi.spyOn(shop.core, "exchange").mockReturnValue(answerOf(40_000_000));
  const wire = new Wire(shop);
  wire.socket.once("data", () => wire.socket.pause());
  wire.send("GET /api/v2/projects HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await wire.answer();
  await expect.poll(() => bytes.all).toBe(0);
  wire.socket.resume();
  await wire.ended;
  expect(wire.received.length).toBeLessThan(40_000_000);
});

it("a stranger's long answers count for its network, of which a host has all addresses", async () => {
  const callers: string[] = [];
  const made = vi.spyOn(LongAnswers.prototype, "make").mockImplementation(({ caller }) => {
    callers.push(caller);
    return Promise.resolve(answerOf(2));
  });
  const taken = vi.spyOn(Socket.prototype, "setKeepAlive").mockImplementation(function from(this: Socket) {
    return Object.defineProperty(this, "remoteAddress", { value: "2001:db8:1:2::9" });
  });
  onTestFinished(() => [made, taken].forEach((spy) => spy.mockRestore()));
  await using shop = await ListeningShop.start();
  await fetch(`${shop.baseURL}/projects`);
  await fetch(`${shop.baseURL}/projects`, { headers: { authorization: `Bearer ${keys.ana}` } });
  expect(callers).toEqual(["2001:db8:1:2", "acc-ana"]);
});

/** An answer that has to be waited for, such as a schema. */
function waitedFor(later: Promise<string>): Exchange {
  const whole = later.then((body) => ({ status: 200, headers: {}, body }));
  return { kind: "answer", reply: { status: 200, headers: {}, later: whole }, delayMs: 0 };
}

const MiB = 1024 ** 2;

it("long answers that have to be waited for count as those that are there at once", async () => {
  const bytes = new Shares(20 * MiB);
  const answers = new LongAnswers(bytes, () => 0);
  const { outgoing, leave } = await unread();
  const make = async (length: number, reads = true) => {
    const later = Promise.resolve("x".repeat(length));
    const made = await answers.make({ caller: "ana", outgoing, reads }, () => waitedFor(later));
    return made instanceof Refusal ? "refused" : "reply" in made ? made.reply.body?.length : undefined;
  };
  expect([await make(10), bytes.all]).toEqual([10, 0]);
  expect([await make(2 * MiB, false), await make(200_000), bytes.all]).toEqual([2 * MiB, 200_000, 2 * MiB + 200_000]);
  // With these, the share of one caller.
  expect([await make(0), await make(200_000, false)]).toEqual(["refused", 200_000]);
  leave();
  await expect.poll(() => bytes.all).toBe(0);
});

it("a caller has no more long answers made at one time than its share, and others have theirs", async () => {
  const bytes = new Shares(40 * MiB);
  const answers = new LongAnswers(bytes, () => 0);
  const { outgoing } = await unread();
  const { promise, resolve } = Promise.withResolvers<string>();
  const make = (caller: string) =>
    answers.make({ caller, outgoing, reads: true }, () => waitedFor(promise)).then((made) => made instanceof Refusal);
  const [first, second, third, other] = [make("ana"), make("ana"), make("ana"), make("bob")];
  expect(await third).toBe(true);
  expect(bytes.all).toBe(24 * MiB);
  resolve("a short one after all");
  expect([await first, await second, await other, bytes.all]).toEqual([false, false, false, 0]);
});
