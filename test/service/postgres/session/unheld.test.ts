import { beforeEach, describe, expect, it } from "vitest";
import { Held, ServerFailed } from "../../../../src/service/postgres/host/failure.ts";
import { unheld } from "../../../../src/service/postgres/session/unheld.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

let clock: VirtualClock;
/** What was asked in the session that looks at the server, in short. */
let looks: string[];
let statement: PromiseWithResolvers<readonly string[][]>;
/** True while the server's checkpoint waits for a page. */
let isStuck: boolean;
beforeEach(() => {
  isStuck = false;
  clock = new VirtualClock();
  looks = [];
  statement = Promise.withResolvers();
});

/** Runs a statement, whose end the test decides. */
async function begun(): Promise<{ ended: Promise<unknown> }> {
  const query = (sql: string) => {
    if (sql === "DROP") return statement.promise;
    if (/checkpointer/.test(sql)) return Promise.resolve(isStuck ? [[]] : []);
    const ends = /ClientWrite/.test(sql) ? "end unread" : "end holders";
    looks.push(
      /Checkpoint/.test(sql)
        ? "give up checkpoint"
        : /cancel/.test(sql)
          ? "give up"
          : /prepared/.test(sql)
            ? "prepared"
            : ends,
    );
    return Promise.resolve([]);
  };
  const connect = () => Promise.resolve({ query, [Symbol.dispose]: () => void looks.push("closed") });
  const session = await unheld(connect, clock)("stock");
  return { ended: session.query("DROP") };
}

describe("a statement of the service", () => {
  it("a statement that ends soon has nobody looked at", async () => {
    const { ended } = await begun();
    statement.resolve([]);
    await ended;
    await clock.advance(60_000);
    expect(looks).toEqual([]);
  });

  it("a statement that waits has its holders ended again and again, and nobody after its end", async () => {
    const { ended } = await begun();
    await clock.advance(1300);
    expect(looks).toEqual(["end holders", "prepared", "end holders", "prepared"]);
    const over = ended.then(() => looks.push("over"));
    statement.resolve([]);
    await clock.advance(1000);
    await over;
    expect(looks.slice(4)).toEqual(["closed", "over"]);
  });

  it("a statement that waits longer has clients ended that read nothing, and is given up in the end", async () => {
    const { ended } = await begun();
    await clock.advance(3300);
    expect([looks.includes("end unread"), looks.includes("give up")]).toEqual([true, false]);
    await clock.advance(4000);
    expect(looks.includes("give up")).toBe(true);
    statement.reject(new ServerFailed("canceled", { cause: Object.assign(new Error("canceled"), { code: "57014" }) }));
    const reason = ended.catch((error: unknown) => error);
    await clock.advance(1000);
    expect(await reason).toBeInstanceOf(Held);
  });

  it("a statement is given up whose checkpoint waits for a page in many looks, and in a few it is not", async () => {
    const { ended } = await begun();
    isStuck = true;
    await clock.advance(3000);
    isStuck = false;
    await clock.advance(400);
    isStuck = true;
    await clock.advance(2500);
    expect(looks).not.toContain("give up checkpoint");
    await clock.advance(1000);
    expect(looks).toContain("give up checkpoint");
    statement.resolve([]);
    await clock.advance(1000);
    await ended;
  });

  it("a session for which there is no place is opened as soon as there is one, or held after a while", async () => {
    const full = new ServerFailed("full", { cause: Object.assign(new Error("full"), { code: "53300" }) });
    let tries = 0;
    const session = { query: () => Promise.resolve([]), [Symbol.dispose]: () => {} };
    const open = (enough: number) => () => (++tries < enough ? Promise.reject(full) : Promise.resolve(session));
    const opened = unheld(open(3), clock)("stock");
    await clock.advance(1000);
    await expect((await opened).query("SELECT")).resolves.toEqual([]);
    expect(tries).toBe(3);
    const refused = unheld(open(Number.POSITIVE_INFINITY), clock)("stock").catch((error: unknown) => error);
    await clock.advance(7000);
    expect(await refused).toBeInstanceOf(Held);
  });

  it("a session for whose locks the server has no room is held at once", async () => {
    const none = new ServerFailed("none", { cause: Object.assign(new Error("none"), { code: "53200" }) });
    const refused = unheld(() => Promise.reject(none), clock)("stock");
    await expect(refused).rejects.toBeInstanceOf(Held);
  });

  it("a statement is held whose row a client changes at that moment", async () => {
    const { ended } = await begun();
    const cause = Object.assign(new Error("tuple concurrently updated"), { code: "XX000" });
    statement.reject(new ServerFailed(cause.message, { cause }));
    await expect(ended).rejects.toBeInstanceOf(Held);
  });

  it("a statement that fails for another reason is not held", async () => {
    const { ended } = await begun();
    const error = new ServerFailed("no", { cause: Object.assign(new Error("no"), { code: "42501" }) });
    statement.reject(error);
    await expect(ended).rejects.toBe(error);
  });
});
