import { expect, it, onTestFinished, vi } from "vitest";
import { MessageFilter, message } from "../../../../src/service/postgres/session/messages.ts";

/** Holds messages of type `Q`, and puts another in the place of one that says `other`. */
function filter(): MessageFilter {
  return new MessageFilter({
    holds: (type) => type === 0x51,
    replaced: (_, body) => (body.toString() === "other" ? message("Q", "another") : undefined),
  });
}

const sent = [
  ["Q", "first"],
  ["D", "any data"],
  ["Q", "other"],
  ["S", ""],
  ["Q", "last"],
  ["Q", ""],
] as const;
const bytes = Buffer.concat(sent.map(([type, body]) => message(type, body)));
const expected = bytes.toString("latin1").replace("\tother", "\vanother");

it.each([1, 2, 3, 4, 5, 6, 7, 11, 1000])(
  "messages pass by their rules, however they come: %i bytes a chunk",
  (length) => {
    const rules = filter();
    let passed = "";
    for (let at = 0; at < bytes.length; at += length) {
      passed += rules.push(bytes.subarray(at, at + length)).toString("latin1");
      // Of a message that passes as it comes, what is there has passed.
      expect(passed.length).toBeGreaterThanOrEqual(at === 0 ? 0 : at + length - message("Q", "another").length);
    }
    expect(passed).toBe(expected);
  },
);

it("the bytes of a message that is held are put together once, although each is a chunk", () => {
  const rules = filter();
  const long = message("Q", "x".repeat(2000));
  const put = vi.spyOn(Buffer, "concat");
  onTestFinished(() => put.mockRestore());
  const parts = Array.from(long, (byte) => rules.push(Buffer.from([byte])));
  expect(put).not.toHaveBeenCalled();
  expect(parts.filter((part) => part.length > 0)).toEqual([long]);
});
