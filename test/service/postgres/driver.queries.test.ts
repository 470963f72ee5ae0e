import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { QueryAnswer } from "../../../src/service/domain/queries.ts";
import { mostRows, mostValues, type Query, StatementFailed } from "../../../src/service/domain/queries.ts";
import { Queries } from "../../../src/service/postgres/driver/queries.ts";
import type { Admission } from "../../../src/service/postgres/proxy/admission.ts";
import { message } from "../../../src/service/postgres/session/messages.ts";
import { Refusal } from "../../../src/service/refusal.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import type { Answer, Statement } from "./fake/fake-machine.ts";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import { main, primary } from "./rig.ts";

const second = 1000;

let fakes: ServiceOnFakes;
/** The statements of the console, as the server receives them, and what it answers. */
let asked: Statement[];
let answers: (statement: Statement) => Answer | Promise<Answer>;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
  asked = [];
  answers = () => [["1"]];
  fakes.machine.answer = (statement) => {
    if (statement.user !== "app") return undefined;
    asked.push(statement);
    return statement.sql.startsWith("BEGIN") ? [] : answers(statement);
  };
});
afterEach(() => fakes[Symbol.asyncDispose]());

const query: Query = {
  accountId: "acc-ana",
  endpointId: primary,
  database: "stock",
  role: { name: "app", password: "secret" },
  sql: "SELECT 1",
  writes: false,
  gone: undefined,
};

function run(given: Partial<Query> = {}): Promise<QueryAnswer> {
  return fakes.postgres.queries.run({ ...query, ...given });
}

/** What a statement is refused with. */
async function refusal(of: Promise<unknown>): Promise<unknown> {
  return of.then(
    () => "answered",
    (error: unknown) => error,
  );
}

const clients = () => fakes.core.context.backend.connections(fakes.compute(), false);

describe("a statement of the console", () => {
  it("the statement wakes its compute, runs as the role in the database, and the client is gone afterwards", async () => {
    expect(await run()).toEqual({ columns: ["c0"], rows: [["1"]], more: false, tag: "SELECT 1" });
    expect(asked.map(({ sql, database }) => [sql, database])).toEqual([
      ["BEGIN READ ONLY", "stock"],
      ["SELECT 1", "stock"],
    ]);
    expect(fakes.compute().currentState).toBe("active");
    await expect.poll(clients).toBe(0);
    expect(fakes.compute().suspendDue).toBeGreaterThan(fakes.clock.now());
  });

  it("the statement's session is that of the console, reads alone, and has a limit of its own", async () => {
    await run();
    await run({ writes: true });
    const names = ["application_name", "default_transaction_read_only", "statement_timeout"];
    const [reads, , writes] = asked.map(({ parameters }) => names.map((name) => parameters.get(name)));
    expect([reads, writes]).toEqual([
      ["compute-console", "on", "10000"],
      ["compute-console", "off", "10000"],
    ]);
  });

  it("the statement takes one of its compute's connections while it runs", async () => {
    let during = 0;
    answers = () => {
      during = clients();
      return [];
    };
    await run();
    expect(during).toBe(1);
  });

  it("an answer larger than a mebibyte is refused", async () => {
    const text = (length: number) => [["x".repeat(length)]];
    answers = () => text(1024 ** 2 - 1000);
    expect((await run()).rows).toHaveLength(1);
    answers = () => text(1024 ** 2);
    expect(await refusal(run())).toEqual(new StatementFailed("the answer is larger than 1048576 bytes", false));
  });

  it("a statement counts until its answer is taken, and four of an account at most", async () => {
    const reading = Array.from({ length: 4 }, () => new AbortController());
    for (const { signal } of reading) await run({ gone: signal });
    expect(await refusal(run())).toMatchObject({ status: 429 });
    expect(await refusal(run({ accountId: "acc-bob" }))).toBe("answered");
    reading[0]?.abort();
    await expect.poll(() => refusal(run())).toBe("answered");
    for (const one of reading) one.abort();
  });

  it("a person who leaves after the answer has nothing cancelled any more", async () => {
    const leaving = new AbortController();
    await run({ gone: leaving.signal });
    leaving.abort();
    await run();
    expect(fakes.machine.cancelled).toEqual([]);
  });

  it("a statement that writes begins no transaction that only reads", async () => {
    await run({ writes: true });
    expect(asked.map(({ sql }) => sql)).toEqual(["SELECT 1"]);
  });

  it("the words of the server are told, and whether the statement might have written", async () => {
    answers = () => new Error("no such table");
    for (const writes of [true, false]) {
      expect(await refusal(run({ writes }))).toEqual(new StatementFailed("no such table", writes));
    }
    await fakes.change(`PATCH /projects/shop/endpoints/${primary}`, { endpoint: { disabled: true } });
    const refused = await refusal(run());
    expect(refused).toBeInstanceOf(StatementFailed);
    expect(String(refused)).toContain(`compute ${primary} is disabled`);
  });

  it("no wait is left behind by statements that have ended, well or not", async () => {
    await run();
    await expect.poll(clients).toBe(0);
    const { pending } = fakes.clock;
    await run();
    answers = () => new Error("no such table");
    await refusal(run());
    await expect.poll(() => fakes.clock.pending).toBe(pending);
  });

  it.each([
    [mostRows, 1, mostRows, false],
    [mostRows + 1, 1, mostRows, true],
    [30, mostValues / 10, 10, true],
    [10, mostValues / 10, 10, false],
    [2, mostValues + 1, 1, true],
  ])("an answer of %i rows with %i columns shows %i; there are more: %s", async (rows, columns, shown, more) => {
    const row = Array.from({ length: columns }, () => "1");
    answers = () => Array.from({ length: rows }, () => row);
    const answer = await run();
    expect([answer.rows.length, answer.columns.length, answer.more]).toEqual([shown, columns, more]);
  });
});

describe("statements of one account", () => {
  it("four statements of an account run at once, and those of others besides", async () => {
    const held = Promise.withResolvers<Answer>();
    answers = () => held.promise;
    const four = Array.from({ length: 4 }, () => run());
    const fifth = await refusal(run());
    expect(fifth).toBeInstanceOf(Refusal);
    expect(fifth).toMatchObject({ status: 429, message: expect.stringContaining("4 statements of yours are running") });
    const other = run({ accountId: "acc-bob" });
    held.resolve([["1"]]);
    expect(await Promise.all([...four, other])).toHaveLength(5);
    expect((await run()).rows).toEqual([["1"]]);
  });

  it("statements that have ended count no more, while others still run", async () => {
    const held = Promise.withResolvers<Answer>();
    const waits = ({ sql }: Statement) => (sql === "SELECT slow" ? held.promise : [["1"]]);
    answers = waits;
    const slow = [run({ sql: "SELECT slow" }), run({ sql: "SELECT slow" }), run({ sql: "SELECT slow" })];
    for (let times = 0; times < 3; times += 1) await run();
    const last = run({ sql: "SELECT slow" });
    expect(await refusal(run())).toMatchObject({ status: 429 });
    held.resolve([]);
    await Promise.all([...slow, last]);
    expect((await run()).rows).toEqual([["1"]]);
  });
});

describe("a statement that takes too long", () => {
  const waiting = async (given: Partial<Query> = {}) => {
    answers = () => new Promise(() => {});
    const running = refusal(run(given));
    await fakes.until(() => asked.length === 2);
    return running;
  };

  it("the statement has a limit of its own in the server, and its session is ended two seconds later", async () => {
    const running = waiting();
    await fakes.until(() => asked.length === 2);
    fakes.clock.advance(11 * second);
    await new Promise((resolve) => setImmediate(resolve));
    expect(fakes.machine.asked().filter((sql) => sql.includes("pg_terminate_backend"))).toEqual([]);
    fakes.clock.advance(second);
    expect(String(await running)).toContain("the statement took too long");
    expect(fakes.machine.asked().filter((sql) => sql.includes("pg_terminate_backend"))).toEqual([
      `SELECT pg_terminate_backend(${asked[0]?.session})`,
    ]);
    await expect.poll(clients).toBe(0);
  });

  it("the person is told so where the server says first that it ended the session", async () => {
    const held = Promise.withResolvers<Answer>();
    answers = () => held.promise;
    const running = refusal(run());
    const { answer } = fakes.machine;
    fakes.machine.answer = async (statement) => {
      if (!statement.sql.includes("pg_terminate_backend")) return answer(statement);
      held.resolve(new Error("terminating connection due to administrator command"));
      await running;
      return [["t"]];
    };
    await fakes.until(() => asked.length === 2);
    fakes.clock.advance(12 * second);
    expect(String(await running)).toContain("the statement took too long");
  });

  it("a person who leaves has the statement cancelled", async () => {
    const leaving = new AbortController();
    const running = waiting({ gone: leaving.signal });
    await fakes.until(() => asked.length === 2);
    leaving.abort();
    await expect.poll(() => fakes.machine.cancelled).toEqual([asked[0]?.session]);
    fakes.clock.advance(12 * second);
    await running;
  });

  it("a statement of a person who has left by then does not run", async () => {
    const refused = await refusal(run({ gone: AbortSignal.abort() }));
    expect([refused instanceof Refusal, asked]).toEqual([true, []]);
    expect(fakes.store.endpoints.byId(primary)?.branchId).toBe(main);
  });
});

const opened = Buffer.concat([message("R", "\0\0\0\0"), message("Z", "I")]);
const none = Buffer.alloc(0);

it.each<[string, Buffer, string, string, Buffer, string]>([
  ["opens", none, "stock", 'database "stock" takes no session', none, ""],
  ["opens in time", none, "stock", 'database "stock" takes no session', opened, message("X", "").toString("latin1")],
  ["ends", opened, "BEGIN", "the statement took too long", none, ""],
])(
  "a session that its server never %s counts until its process has ended",
  async (_, welcome, asks, told, late, closes) => {
    const directory = temporaryDirectory("queries");
    const socket = join(directory.path, "socket");
    let session: Socket | undefined;
    let heard = "";
    const server = createServer({ allowHalfOpen: true }, (one) => {
      session = one.on("data", (chunk) => (heard += chunk.toString("latin1")));
      session.write(welcome);
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    onTestFinished(() => {
      server.close();
      directory.remove();
    });
    let [entered, left] = [0, 0];
    const admission: Admission = {
      socket: () => Promise.resolve(socket),
      verifierOf: () => Promise.reject(new Error("not asked")),
      end: () => Promise.resolve(),
      inTurn: (check) => check(),
      alone: (hash) => hash(),
      onServerEnd: () => () => {},
      logout: new AbortController().signal,
      enter: () => {
        entered += 1;
      },
      leave: () => {
        left += 1;
      },
    };
    const clock = new VirtualClock();
    const queries = new Queries(clock, () => Promise.resolve(admission));
    const refused = refusal(queries.run(query));
    await expect.poll(() => heard).toContain(asks);
    await clock.advance(12 * second);
    expect(String(await refused)).toContain(told);
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect([entered, left]).toEqual([1, 0]);
    session?.write(late);
    await expect.poll(() => heard).toContain(closes);
    session?.end();
    await expect.poll(() => left).toBe(1);
  },
);
