import { expect, it } from "vitest";
import type { Ended } from "../../../../src/service/postgres/host/processes.ts";
import { SettingsAnswers } from "../../../../src/service/postgres/server/settings-answers.ts";
import { Refusal } from "../../../../src/service/refusal.ts";
import { Unanswered } from "../../../../src/service/unanswered.ts";

const taken: Ended = { status: 0, output: "100" };

/** Servers that are asked, and answer when the test says so. */
class Servers {
  readonly answers = new SettingsAnswers();
  readonly asked: ((ended: Ended) => void)[] = [];

  /** The answer that is there, or the promise of one. */
  ask(setting: string, { major = 17, owner = "acc-ana" } = {}): string | undefined | Promise<void> {
    try {
      return this.answers.refusal(
        { major, owner },
        [setting],
        () => new Promise((resolve) => this.asked.push(resolve)),
      );
    } catch (error) {
      if (error instanceof Unanswered) return error.answered;
      throw error;
    }
  }

  /** Answers the question that is being asked. */
  async answer(ended: Ended): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.asked.shift()?.(ended);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

it("a caller waits for a server's words about settings, and later ones have them at once", async () => {
  const servers = new Servers();
  const waiting = servers.ask("--work_mem=x");
  expect(waiting).toBeInstanceOf(Promise);
  await servers.answer({ status: 1, output: "LOG: one\nFATAL:  invalid value\n" });
  await waiting;
  expect(servers.ask("--work_mem=x")).toBe("invalid value");
  expect(servers.asked).toEqual([]);
});

it.each([
  ["takes them", taken, undefined],
  ["cannot be asked", { status: null, output: "spawn ENOMEM" }, undefined],
  ["gives no reason", { status: 1, output: "" }, "the server refuses them"],
  ["says it in words of its own", { status: 1, output: "\nno such thing\n" }, "no such thing"],
])("settings are refused in the words of a server, also where it %s", async (_, ended, refusal) => {
  const servers = new Servers();
  const waiting = servers.ask("--x=1");
  await servers.answer(ended);
  await waiting;
  expect(servers.ask("--x=1")).toBe(refusal);
});

it("callers with the same settings ask one server, one after another, and each version has its own", async () => {
  const servers = new Servers();
  const waiting = [servers.ask("--x=1"), servers.ask("--x=1"), servers.ask("--x=1", { major: 16 })];
  await servers.answer(taken);
  expect(servers.asked).toHaveLength(1);
  await servers.answer({ status: 1, output: "FATAL: not in 16" });
  await Promise.all(waiting.map((one) => Promise.resolve(one)));
  expect([servers.ask("--x=1"), servers.ask("--x=1", { major: 16 }), servers.asked]).toEqual([
    undefined,
    "not in 16",
    [],
  ]);
});

it("a caller beyond 50 of its owner that wait is refused and may try again, and those of others come in turn", async () => {
  const servers = new Servers();
  const waiting = Array.from({ length: 50 }, (_, index) => servers.ask(`--x=${index}`));
  expect(() => servers.ask("--x=more")).toThrow(Refusal);
  expect(() => servers.ask("--x=more")).toThrow(expect.objectContaining({ status: 503 }));
  const other = servers.ask("--x=other", { owner: "acc-bob" });
  let isAnswered = false;
  void Promise.resolve(other).then(() => (isAnswered = true));
  await servers.answer(taken);
  await servers.answer(taken);
  expect(isAnswered).toBe(false);
  await servers.answer(taken);
  expect(isAnswered).toBe(true);
  for (const _ of waiting) await servers.answer(taken);
  await Promise.all(waiting.map((one) => Promise.resolve(one)));
  expect(servers.ask("--x=more")).toBeInstanceOf(Promise);
});

it("1,000 answers are kept, and the oldest makes room", async () => {
  const servers = new Servers();
  for (let index = 0; index <= 1000; index += 1) {
    const waiting = servers.ask(`--x=${index}`);
    await servers.answer(taken);
    await waiting;
  }
  expect(servers.ask("--x=1")).toBeUndefined();
  expect(servers.ask("--x=0")).toBeInstanceOf(Promise);
});
