import { describe, expect, test } from "vitest";
import { Attempt, type AttemptOptions } from "../../../src/operator/life/attempt.ts";
import {
  afterShown,
  closed,
  never,
  opened,
  settlesAt,
  showsAt,
  unmade,
  unsent,
  type Write,
} from "../../../src/operator/life/record.ts";
import type { Answer } from "../../../src/operator/service-client/answer.ts";

type Record = { n: number };

const record = { n: 1 };
const leavesAt = 5;
const endsAt = 9;
const ok: Answer<string> = { kind: "ok", status: 200, value: "made" };
const answer = (kind: "ambiguous" | "superseded" | "busy" | "rateLimited" | "unavailable" | "forbidden" | "notFound") =>
  ({ kind, message: "" }) as const;

/** A record in memory, and a clock at which a request leaves and ends. */
class Memory {
  write: Write<Record> | undefined;
  phaseWhileSent: string | undefined;

  constructor(write?: Write<Record>) {
    this.write = write;
  }

  async send(
    call: () => Promise<Answer<string>> | Answer<string>,
    options: Partial<AttemptOptions<Write<Record>, string>> = {},
  ): Promise<Answer<string>> {
    const times = [leavesAt, endsAt];
    const attempt = new Attempt<Write<Record>, string>({
      clock: { monotonic: () => times.shift() ?? Number.NaN },
      keep: (change) => {
        this.write = change(this.write);
      },
      ...options,
    });
    return attempt.send(async () => {
      this.phaseWhileSent = this.write?.phase;
      return call();
    });
  }
}

describe("an attempt", () => {
  test("a record opens as the request leaves, and the caller gets the answer", async () => {
    const memory = new Memory(unsent(record));
    expect(await memory.send(() => ok)).toBe(ok);
    expect(memory.phaseWhileSent).toBe("open");
  });

  test("a request that a defect or a death interrupts stays open from when it left", async () => {
    const memory = new Memory(unsent(record));
    await expect(memory.send(() => Promise.reject(new Error("a defect")))).rejects.toThrow("a defect");
    expect(memory.write).toEqual({ record, phase: "open", openedAt: leavesAt });
  });

  test("a request without a usable answer is open from its end on", async () => {
    const memory = new Memory(unsent(record));
    await memory.send(() => answer("ambiguous"));
    expect(memory.write).toEqual({ record, phase: "open", openedAt: endsAt });
  });

  test.each(["superseded", "busy", "rateLimited", "unavailable", "forbidden", "notFound"] as const)(
    "a request that the service refused, or that never left, leaves the record as it was: %s",
    async (kind) => {
      const before = [unsent(record), opened(unsent(record), 1), closed(unsent(record), 1), undefined];
      for (const write of before) {
        const memory = new Memory(write);
        await memory.send(() => answer(kind), { noted: () => unsent({ n: 2 }) });
        expect(memory.write).toEqual(write);
      }
    },
  );

  test("a success leaves the record open until a list closes it, where the kind says nothing else", async () => {
    const memory = new Memory(unsent(record));
    await memory.send(() => ok);
    expect(memory.write).toEqual({ record, phase: "open", openedAt: endsAt });
  });

  test("a success closes or forgets the record as the kind says, by what was before and by the answer's value", async () => {
    const before = opened(unsent(record), 1);
    const memory = new Memory(before);
    const said: unknown[] = [];
    await memory.send(() => ok, {
      accepted: (answered, value) => {
        said.push(answered, value);
        return closed(answered.open, answered.now);
      },
    });
    const open = { record, phase: "open", openedAt: endsAt };
    expect(said).toEqual([{ open, before, now: endsAt }, "made"]);
    expect(memory.write).toEqual({ ...open, phase: "closed", closedAt: endsAt });
    await memory.send(() => ok, { accepted: () => undefined });
    expect(memory.write).toBeUndefined();
  });

  test("an answer that counts as none keeps the record open, and one that counts as a refusal does not", async () => {
    const accepted = () => undefined;
    const memory = new Memory(unsent(record));
    await memory.send(() => ok, { accepted, meaning: () => ({ kind: "ambiguous" }) });
    expect(memory.write).toMatchObject({ phase: "open" });
    memory.write = unsent(record);
    await memory.send(() => ok, { accepted, meaning: () => ({ kind: "refused" }) });
    expect(memory.write).toEqual(unsent(record));
  });

  test("a record that is kept in memory alone is noted as the request leaves, from the one before", async () => {
    const memory = new Memory(unsent(record));
    await memory.send(() => answer("ambiguous"), { noted: (before) => unsent({ n: (before?.record.n ?? 0) + 1 }) });
    expect(memory.write).toEqual({ record: { n: 2 }, phase: "open", openedAt: endsAt });
  });

  test("a request without a record keeps none", async () => {
    const memory = new Memory();
    expect(await memory.send(() => ok)).toBe(ok);
    expect(memory.write).toBeUndefined();
  });
});

describe("a record", () => {
  test("a record that is not remembered opens when it is seen, and one that is stays as it was", () => {
    const shown = unsent({ n: 2 });
    expect(afterShown({ remembered: undefined, isKnown: false }, shown, 7)).toEqual(opened(shown, 7));
    const remembered = closed(unsent(record), 3);
    expect(afterShown({ remembered, isKnown: false }, shown, 7)).toEqual(opened(shown, 7));
    expect(afterShown({ remembered, isKnown: true }, shown, 7)).toBe(remembered);
  });

  test("a record is settled by a list that begins after the settle time and the lag of lists", () => {
    expect(settlesAt(opened(unsent(record), 7), 60_000)).toBe(70_007);
    expect(settlesAt(unsent(record), 60_000)).toBe(never);
  });

  test("an answer is shown by lists that begin after their lag", () => {
    expect(showsAt(closed(unsent(record), 7))).toBe(10_007);
    expect(showsAt(closed(unsent(record)))).toBe(never);
  });

  test("a record that made nothing may be used again, and remembers when it was open", () => {
    expect(unmade(opened(unsent(record), 7))).toEqual({ record, phase: "unsent", openedAt: 7 });
  });
});
