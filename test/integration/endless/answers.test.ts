import { describe, expect, it } from "vitest";
import { type Answer, Endless, kinds, most, mostIfBusy, noJSON, none, page, place, refusal } from "./writes.ts";

// A service that answers writes in the same way for ever, and lists as ever. What the operator notes in the Compute
// before and after each of them comes back by the watch: that must not have it send the next one at once.

const replies: [string, Answer[], typeof most][] = [
  ["no answer", [none], most],
  ["a page of HTML", [page], most],
  ["a success that is no JSON", [noJSON], most],
  ...[400, 401, 403, 404, 409, 412, 422, 429, 500, 503].map((status): [string, Answer[], typeof most] => [
    `HTTP ${status}`,
    [refusal(status)],
    most,
  ]),
  ["HTTP 423", [refusal(423)], mostIfBusy],
  ["no answer and HTTP 423 in turn", [none, refusal(423)], mostIfBusy],
  ["no answer and HTTP 422 in turn", [none, refusal(422)], most],
  ["no answer and HTTP 503 in turn", [none, refusal(503)], most],
];

describe.each(kinds)("%s", (_write, stands, change) => {
  it.each(replies)(
    "a write that gets %s, for ever, is not sent at once again, nor marked",
    async (_, answers, { first, later }) => {
      await using endless = new Endless();
      const { world } = endless;
      if (stands) await endless.stand();
      endless.begin(answers);
      change(world);
      await world.clock.advance(300_000);
      const { sent } = endless;
      expect(sent).toBeGreaterThan(2);
      expect(sent).toBeLessThanOrEqual(first);
      await world.clock.advance(300_000);
      expect(endless.sent - sent).toBeLessThanOrEqual(later);
      // A mark and a note before it, the mark after it, and the status.
      expect(endless.patches).toBeLessThanOrEqual(4 * endless.sent + 2);
    },
  );
});

it("a create without an answer waits while annotations of the Compute change", async () => {
  await using endless = new Endless();
  const { world } = endless;
  endless.begin([none]);
  world.declare(0, place);
  for (let second = 0; second < 300; second += 3) {
    await world.clock.advance(3000);
    world.annotate(0, "seen-by-somebody", String(second));
  }
  expect(endless.sent).toBeGreaterThan(2);
  expect(endless.sent).toBeLessThanOrEqual(most.first);
});
