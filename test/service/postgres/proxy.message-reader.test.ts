import { PassThrough } from "node:stream";
import { expect, it, vi } from "vitest";
import { MessageReader } from "../../../src/service/postgres/proxy/message-reader.ts";
import { message } from "../../../src/service/postgres/session/messages.ts";

it.each([1, 3])(
  "a message in %s bytes and then byte by byte is put together once for its head and once for its body",
  async (first) => {
    const stream = new PassThrough();
    const reader = new MessageReader(stream, Buffer.alloc(0));
    const bytes = message("p", "x".repeat(1000));
    const concat = vi.spyOn(Buffer, "concat");
    try {
      const read = reader.next(65_535);
      stream.write(bytes.subarray(0, first));
      for (const byte of bytes.subarray(first)) stream.write(Buffer.from([byte]));
      const { type, body, whole } = await read;
      expect([type, body.length, whole.equals(bytes), concat.mock.calls.length]).toEqual(["p", 1000, true, 2]);
    } finally {
      concat.mockRestore();
    }
  },
);

it("a message is taken from a length of its own four bytes up to the longest", async () => {
  const read = async (length: number) => {
    const bytes = Buffer.alloc(12, "x");
    bytes.writeUInt32BE(length, 1);
    const next = new MessageReader(new PassThrough(), bytes).next(10);
    return next.then(({ whole }) => whole.length, String);
  };
  const refused = "Rejection: invalid length of a message";
  expect(await Promise.all([3, 4, 10, 11].map(read))).toEqual([refused, 5, 11, refused]);
});

it("a message that comes byte by byte leaves no listener on its stream", async () => {
  const stream = new PassThrough();
  const listeners = () => ["data", "close"].map((event) => stream.listenerCount(event));
  const before = listeners();
  const read = new MessageReader(stream, Buffer.alloc(0)).next(100);
  for (const byte of message("p", "secret")) stream.write(Buffer.from([byte]));
  expect((await read).body.toString()).toBe("secret");
  expect(listeners()).toEqual(before);
});
