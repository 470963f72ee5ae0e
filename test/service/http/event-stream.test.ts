import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, it, vi } from "vitest";
import { sendEvents } from "../../../src/service/http/event-stream.ts";
import type { EventSink } from "../../../src/service/http/exchange.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A stream to a client, with what it was sent. */
function begun() {
  const clock = new VirtualClock();
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  const sent = vi.spyOn(outgoing, "write");
  const { promise, resolve } = Promise.withResolvers<EventSink>();
  const close = vi.fn<() => void>();
  sendEvents(clock, outgoing, (sink) => {
    resolve(sink);
    return close;
  });
  return { clock, outgoing, close, sink: promise, events: () => sent.mock.calls.map(([event]) => event) };
}

it("a thousand events that come at once are two: the first, and after a rest the newest", async () => {
  const { clock, sink, events } = begun();
  const stream = await sink;
  for (let count = 1; count <= 1000; count += 1) stream.send(String(count));
  expect(events()).toEqual(["1"]);
  await clock.advance(99);
  expect(events()).toEqual(["1"]);
  await clock.advance(1);
  expect(events()).toEqual(["1", "1000"]);
  await clock.advance(1000);
  stream.send("1001");
  expect(events()).toEqual(["1", "1000", "1001"]);
});

it("an event that waits is sent to no client that has left, nor after the end of its stream", async () => {
  for (const leaves of [true, false]) {
    const { clock, outgoing, close, sink, events } = begun();
    const stream = await sink;
    stream.send("1");
    stream.send("2");
    if (leaves) outgoing.destroy();
    else stream.end();
    await clock.advance(1000);
    expect([events(), close.mock.calls.length]).toEqual([["1"], leaves ? 1 : 0]);
  }
});

it("a stream to a client that has left before it begins is ended at once, and follows nothing", async () => {
  const outgoing = new ServerResponse(new IncomingMessage(new Socket()));
  const left = once(outgoing, "close");
  outgoing.destroy();
  await left;
  const close = vi.fn<() => void>();
  sendEvents(new VirtualClock(), outgoing, () => close);
  expect(close).toHaveBeenCalledTimes(1);
});
