import { expect, it } from "vitest";
import { FrameReader } from "../../../src/service/postgres/driver/frames.ts";

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
