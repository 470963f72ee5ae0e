import { describe, expect, test } from "vitest";
import type { ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { endpoint } from "../../support/builders.ts";
import { clientOf, json, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const forever = new AbortController().signal;

function setUp(answer: () => ServiceResponse) {
  const clock = new VirtualClock();
  const service = new ScriptedService(answer);
  return { service, client: clientOf(service, clock) };
}

describe("a list of endpoints that came over a network", () => {
  /** As the real transport answers: the body is parsed only when it is read. */
  function network(answers: readonly { status?: number; text: string }[]) {
    const parses = { count: 0 };
    let call = 0;
    const world = setUp(() => {
      const { status = 200, text } = answers[Math.min(call++, answers.length - 1)] ?? { text: "" };
      const parsed = () => {
        parses.count += 1;
        try {
          return { body: JSON.parse(text), json: true };
        } catch {
          return { body: undefined, json: false };
        }
      };
      return {
        status,
        text,
        get body() {
          return parsed().body;
        },
        get json() {
          return parsed().json;
        },
      };
    });
    return { ...world, parses };
  }
  const text = JSON.stringify({ endpoints: [endpoint()] });

  test("a list is not parsed again where it is the same text", async () => {
    const { client, parses } = network([{ text }]);
    const first = await client.listEndpoints("shop", forever);
    const after = parses.count;
    const second = await client.listEndpoints("shop", forever);
    expect([parses.count - after, first.kind, second]).toEqual([0, "ok", first]);
  });

  test("a list that is not JSON is unavailable, and says so", async () => {
    const { client } = network([{ text: "<html>" }]);
    expect(await client.listEndpoints("shop", forever)).toEqual({
      kind: "unavailable",
      message: "HTTP 200 with a body that is not the service's",
    });
  });

  test("a list with HTTP 500 is unavailable, though the text is the same", async () => {
    const { client } = network([{ text }, { status: 500, text }]);
    await client.listEndpoints("shop", forever);
    expect(await client.listEndpoints("shop", forever)).toMatchObject({ kind: "unavailable" });
  });
});

test("a write with a reservation is sent where nothing says that it was withdrawn", async () => {
  const { client, service } = setUp(() => json(200, { endpoint: endpoint() }));
  const within = client.within(client.reservation("uid", () => {}));
  expect((await within.deleteEndpoint("shop", "ep-one", forever)).kind).toBe("ok");
  expect(service.asked).toEqual(["DELETE /projects/shop/endpoints/ep-one"]);
});
