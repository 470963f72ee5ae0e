import { expect, it, vi } from "vitest";
import { BrokenFrame, FrameReader, frameHead } from "../../../src/service/postgres/driver/frames.ts";

/** A masked frame whose mask changes nothing. */
function frame(opcode: number, content: string): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | content.length, 0, 0, 0, 0]), Buffer.from(content)]);
}

it("the last ping of a chunk is answered for those before it, and none of what is between them is lost", () => {
  const pings: string[] = [];
  const data: string[] = [];
  const reader = new FrameReader({
    data: (piece) => data.push(String(piece)),
    ping: (content) => pings.push(String(content)),
    close: () => {},
  });
  reader.push(Buffer.concat([frame(9, "one"), frame(2, "a"), frame(9, "two"), frame(2, "b"), frame(9, "three")]));
  expect([pings, data.join("")]).toEqual([["three"], "ab"]);
  reader.push(frame(2, "c"));
  reader.push(frame(9, "four"));
  expect([pings, data.join("")]).toEqual([["three", "four"], "abc"]);
});

it.each([
  ["without content", frame(0, "")],
  ["that answer nothing", frame(10, "x")],
  ["that ask", frame(9, "x")],
])("a thousand frames %s in one chunk are read, and more end the connection", (_, one) => {
  const reader = new FrameReader({ data: () => {}, ping: () => {}, close: () => {} });
  const many = (count: number) => Buffer.concat(Array.from({ length: count }, () => one));
  reader.push(many(1000));
  reader.push(many(1000));
  expect(() => reader.push(many(1001))).toThrow(BrokenFrame);
});

it("any number of frames with content may come in one chunk, and are passed on as one piece", () => {
  const pieces: number[] = [];
  const reader = new FrameReader({ data: (piece) => pieces.push(piece.length), ping: () => {}, close: () => {} });
  reader.push(Buffer.concat(Array.from({ length: 5000 }, () => frame(2, "x"))));
  expect(pieces).toEqual([5000]);
});

it("a text in frames of one byte each, under masks of their own, arrives in order however its chunks are cut", () => {
  const text = "Frames of one byte each, masked one by one.";
  const frames = Buffer.concat(
    Array.from(Buffer.from(text), (byte, index) => {
      const mask = [index, 7 * index, 0x80, 0xff].map((part) => part & 0xff);
      return Buffer.from([0x82, 0x81, ...mask, byte ^ index]);
    }),
  );
  const all = Buffer.concat([frames, frame(9, "are you there"), frame(2, "!")]);
  for (const length of [all.length, 100, 10, 3, 1]) {
    let received = "";
    const pings: string[] = [];
    const reader = new FrameReader({
      data: (piece) => void (received += String(piece)),
      ping: (content) => pings.push(String(content)),
      close: () => {},
    });
    for (let at = 0; at < all.length; at += length) reader.push(Buffer.from(all.subarray(at, at + length)));
    expect([received, pings], `chunks of ${length}`).toEqual([`${text}!`, ["are you there"]]);
  }
});

it("a masked frame arrives in order however its chunks are cut", () => {
  const text = "A mask of four bytes goes on where the chunk before has ended.";
  const mask = [0x11, 0x22, 0x44, 0x88];
  const masked = Buffer.from(text).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
  const whole = Buffer.concat([Buffer.from([0x82, 0x80 | masked.length, ...mask]), masked]);
  for (const length of [whole.length, 11, 7, 2, 1]) {
    let received = "";
    const events = { data: (piece: Buffer) => void (received += String(piece)), ping: () => {}, close: () => {} };
    const reader = new FrameReader(events);
    for (let at = 0; at < whole.length; at += length) reader.push(Buffer.from(whole.subarray(at, at + length)));
    expect(received, `chunks of ${length}`).toBe(text);
  }
});

it("content is passed on before what ends the connection in the same chunk", () => {
  const seen: string[] = [];
  const events = { data: (piece: Buffer) => seen.push(String(piece)), ping: () => {}, close: () => seen.push("close") };
  new FrameReader(events).push(Buffer.concat([frame(2, "a"), frame(2, "b"), frame(8, ""), frame(2, "c")]));
  expect(seen).toEqual(["ab", "close", "c"]);
  expect(() => new FrameReader(events).push(Buffer.concat([frame(2, "d"), frame(11, "")]))).toThrow(BrokenFrame);
  expect(seen.at(-1)).toBe("d");
});

it.each([
  ["with the first reserved bit", "c28000000000"],
  ["with the second reserved bit", "a28000000000"],
  ["with the third reserved bit", "928000000000"],
  ["without a mask", "820161"],
  ["of the first kind that is not known", "838000000000"],
  ["of the last kind that is not known before those that control", "878000000000"],
  ["of a kind that is not known after those that control", "8b8000000000"],
  ["that asks and is not whole", "098000000000"],
  ["that closes and is not whole", "088000000000"],
  ["that asks in more than 125 bytes", "89fe007e00000000"],
])("a frame %s ends the connection", (_, bytes) => {
  const passed = vi.fn<() => void>();
  const reader = new FrameReader({ data: passed, ping: passed, close: passed });
  expect(() => reader.push(Buffer.from(bytes, "hex"))).toThrow(BrokenFrame);
  expect(passed).not.toHaveBeenCalled();
});

it.each([
  [0, "8200"],
  [125, "827d"],
  [126, "827e007e"],
  [65_535, "827effff"],
  [65_536, "827f0000000000010000"],
])("the head of a frame of %s bytes has the length in the fewest bytes", (length, head) => {
  expect(frameHead(2, length).toString("hex")).toBe(head);
});
