import { describe, expect, it } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { type ClusterWeather, calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

// A service that answers writes in the same way for ever, and lists as ever. What the operator notes in the Compute
// before and after each of them comes back by the watch: that must not have it send the next one at once.

const place = { projectID: "shop", branchID: "br-0-a", scaleToZero: { enabled: false } };

const reply = (status: number, body: string) => ({ status, headers: {}, body });
const refusal = (status: number) => () => reply(status, JSON.stringify({ code: "", message: "no" }));
const none = () => {
  throw new NoResponseError("ECONNRESET: the connection was cut");
};

type Reply = () => ReturnType<typeof reply>;

/** The most requests in the first five minutes, and in the five after that. */
const most = { first: 12, later: 6 };
/** A busy project is tried every ten seconds. */
const mostIfBusy = { first: 37, later: 31 };

const replies: [string, Reply[], typeof most][] = [
  ["no answer", [none], most],
  ["a page of HTML", [() => reply(502, "<html>Bad Gateway</html>")], most],
  ["a success that is no JSON", [() => reply(200, "done")], most],
  ...[400, 401, 403, 404, 409, 412, 422, 429, 500, 503].map((status): [string, Reply[], typeof most] => [
    `HTTP ${status}`,
    [refusal(status)],
    most,
  ]),
  ["HTTP 423", [refusal(423)], mostIfBusy],
  ["no answer and HTTP 423 in turn", [none, refusal(423)], mostIfBusy],
  ["no answer and HTTP 422 in turn", [none, refusal(422)], most],
  ["no answer and HTTP 503 in turn", [none, refusal(503)], most],
];

describe.each<[string, boolean, (world: SmallWorld) => void]>([
  ["a create of a primary", false, (world) => world.declare(0, place)],
  ["a create of a primary with disabled", false, (world) => world.declare(0, { ...place, disabled: true })],
  ["a create of a replica", false, (world) => world.declare(0, { ...place, type: "read_only" })],
  [
    "a create in place of a lost endpoint",
    true,
    (world) => world.console("DELETE", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`),
  ],
  ["a PATCH", true, (world) => world.edit(0, { computeUnits: { min: 1, max: 2 } })],
  ["a PATCH that disables", true, (world) => world.edit(0, { disabled: true })],
  ["a restart", true, (world) => world.annotate(0, "restartedAt", "now")],
  ["a DELETE", true, (world) => world.remove(0)],
])("%s", (_write, stands, change) => {
  it.each(replies)(
    "that gets %s, for ever, is not sent at once again, nor marked",
    async (_reply, answers, { first, later }) => {
      let patches = 0;
      const weather: ClusterWeather = {
        ...calm,
        request: (request, timeoutMs) => {
          if (request.method !== "GET" && request.path.includes("/db-0")) patches += 1;
          return calm.request(request, timeoutMs);
        },
      };
      await using world = new SmallWorld([place.branchID], 1, {}, weather);
      if (stands) {
        world.declare(0, place);
        await world.settle(1);
        await world.clock.advance(60_000);
      }
      change(world);
      let sent = 0;
      world.host.instead = ({ method }) => (method === "GET" ? undefined : answers[sent++ % answers.length]?.());
      patches = 0;
      await world.clock.advance(300_000);
      const early = sent;
      expect(early).toBeGreaterThan(2);
      expect(early).toBeLessThanOrEqual(first);
      await world.clock.advance(300_000);
      expect(sent - early).toBeLessThanOrEqual(later);
      // A mark and a note before it, the mark after it, and the status.
      expect(patches).toBeLessThanOrEqual(4 * sent + 2);
    },
  );
});
