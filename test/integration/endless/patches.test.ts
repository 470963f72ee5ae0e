import { describe, expect, it } from "vitest";
import { type Answer, Endless, type Fate, kinds, mostIfBusy, none, refusal } from "./writes.ts";

// An API server that loses every reply to a patch, or refuses it, for ever: what is noted about a write can then not be
// written, or nobody hears that it was. Neither has the write sent at once again.

const isStatus = (path: string) => path.endsWith("/status");
const removes = (body: string) => body.includes('"remove"');
const lost = { kind: "lost", arriveMs: 1, afterMs: 20 } as const;
const refused = { kind: "status", status: 500, afterMs: 1 } as const;

describe.each<[string, Fate]>([
  ["whose marks' patches get no reply", (path) => (isStatus(path) ? undefined : lost)],
  ["whose marks' removals get no reply", (path, body) => (!isStatus(path) && removes(body) ? lost : undefined)],
  ["whose statuses get no reply", (path) => (isStatus(path) ? lost : undefined)],
  ["whose patches get no reply", () => lost],
  ["whose marks' patches are refused", (path) => (isStatus(path) ? undefined : refused)],
  ["whose marks' removals are refused", (path, body) => (!isStatus(path) && removes(body) ? refused : undefined)],
  ["whose statuses are refused", (path) => (isStatus(path) ? refused : undefined)],
])("a Compute %s", (_patches, fate) => {
  describe.each(kinds)("has %s", (_write, stands, change) => {
    it.each<[string, Answer, number]>([
      ["nothing, as it is carried out", () => undefined, 1],
      ["no answer", none, 11],
      ["HTTP 503", refusal(503), 11],
      ["HTTP 422", refusal(422), 11],
      ["HTTP 423", refusal(423), mostIfBusy.first],
    ])("a patch that gets %s waits before it is sent again", async (_, answer, most) => {
      await using endless = new Endless(fate);
      const { world } = endless;
      if (stands) await endless.stand();
      endless.begin([answer]);
      change(world);
      await world.clock.advance(300_000);
      expect(endless.sent).toBeLessThanOrEqual(most);
      // Each reconcile that failed is tried again with waits of its own, and what a write noted is written for each.
      expect(endless.patches).toBeLessThanOrEqual(70 + 4 * endless.sent);
    });
  });
});
