import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it } from "vitest";
import { Slices } from "../../../src/service/sharing/slices.ts";

/** The other end of a connection, its own, and how that is read. */
function connected() {
  const [other, raw] = duplexPair();
  for (const one of [other, raw]) one.on("error", () => {});
  return { other, raw, slices: new Slices(raw) };
}

it("bytes that come in one piece are read in their order, few of them in each turn of the loop", async () => {
  const { other, slices } = connected();
  const sent = Buffer.from(Array.from({ length: 40_000 }, (_, at) => at % 251));
  const read: Buffer[] = [];
  const inTurns = [0];
  slices.on("data", (chunk: Buffer) => {
    read.push(chunk);
    inTurns.push((inTurns.pop() ?? 0) + chunk.length);
  });
  other.write(sent);
  while (Buffer.concat(read).length < sent.length) {
    await turn();
    inTurns.push(0);
  }
  expect(Buffer.concat(read).equals(sent)).toBe(true);
  expect(Math.max(...inTurns)).toBe(2048);
});

it("a connection is read no further than its reader reads, and goes on where it stopped", async () => {
  const { other, slices } = connected();
  let isTaken = false;
  other.write(Buffer.alloc(300_000, 1), () => (isTaken = true));
  slices.once("readable", () => {});
  for (let turns = 0; turns < 400; turns += 1) await turn();
  expect([slices.readableLength < 100_000, isTaken]).toEqual([true, true]);
  other.end("end");
  let length = 0;
  for await (const chunk of slices) length += Buffer.from(chunk).length;
  expect(length).toBe(300_003);
});

it("what is written, and its end, reach the other end of a connection", async () => {
  const { other, slices } = connected();
  const said = once(other, "data");
  const ended = once(other, "end");
  slices.end("all of it");
  await ended;
  expect(String((await said)[0])).toBe("all of it");
});

it.each([
  ["its connection", "slices"],
  ["the connection that is read in slices", "raw"],
] as const)("the end of %s is that of the other, without an error", async (_, ended) => {
  const ends = connected();
  const close = (one: Duplex) => new Promise<void>((resolve) => one.once("close", () => resolve()));
  const closed = Promise.all([close(ends.raw), close(ends.slices)]);
  // Without a listener, an error of the slices would end the process.
  ends[ended].destroy(ended === "raw" ? new Error("ECONNRESET") : undefined);
  await closed;
  const answered = new Promise((resolve) => ends.slices.write("late", resolve));
  expect(await answered).toBeInstanceOf(Error);
});
