import { Agent, type Dispatcher } from "undici";
import { expect, it } from "vitest";
import { send } from "../../../src/operator/runtime/http.ts";

/** Connections over which nothing comes back. */
class Silent extends Agent {
  asked = 0;

  override dispatch(): boolean {
    this.asked += 1;
    return true;
  }
}

const request = { origin: "http://127.0.0.1:9", path: "/", method: "GET" } satisfies Dispatcher.RequestOptions;

it("a request whose signal has aborted already is not sent, and fails with the signal's reason", async () => {
  const way = new Silent();
  const signal = AbortSignal.abort(new Error("the operator stops"));
  await expect(send(way, { ...request, signal })).rejects.toThrow("the operator stops");
  expect(way.asked).toBe(0);
});

it("a request that waits for a connection ends with its signal", async () => {
  const stop = new AbortController();
  const sent = send(new Silent(), { ...request, signal: stop.signal });
  stop.abort(new Error("the operator stops"));
  await expect(sent).rejects.toThrow("the operator stops");
});
