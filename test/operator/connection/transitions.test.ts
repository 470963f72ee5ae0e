import { expect, test } from "vitest";
import { Transitions } from "../../../src/operator/connection/transitions.ts";
import type { ServiceConnectionStatus } from "../../../src/operator/resources/service-connection.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { connection } from "../../support/connections.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

function statusWith(reason: string): ServiceConnectionStatus {
  const status = reason === "Authenticated" ? "True" : "False";
  const at = { observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z" };
  return { conditions: [{ type: "Ready", status, reason, message: `it is ${reason}`, ...at }] };
}

function setUp() {
  const lines: string[] = [];
  const events: string[] = [];
  const log = createLogger({
    level: "info",
    destination: { write: (line) => void lines.push(line) },
    clock: new VirtualClock(),
  });
  const transitions = new Transitions(log, (_kind, { metadata }, { type, reason }) =>
    events.push(`${type} ${metadata.name} ${reason}`),
  );
  return { transitions, events: () => events.splice(0), logged: () => lines.splice(0).length };
}

test("a connection that becomes unusable is a warning, once, and one that is usable again an ordinary event", () => {
  const { transitions, events, logged } = setUp();
  const own = connection();
  transitions.begin(own);
  transitions.report(own, statusWith("Authenticated"));
  expect([events(), logged()]).toEqual([[], 0]);
  for (let n = 0; n < 2; n += 1) {
    // Its status was not written, or the cache does not show it yet.
    transitions.begin(own);
    transitions.report(own, statusWith("Unauthorized"));
  }
  expect([events(), logged()]).toEqual([["Warning default Unauthorized"], 1]);
  transitions.begin(own);
  transitions.report(own, statusWith("Authenticated"));
  expect([events(), logged()]).toEqual([["Normal default Authenticated"], 1]);
});

test("a connection of which no status was seen counts as usable", () => {
  const { transitions, events } = setUp();
  transitions.report(connection(), statusWith("Authenticated"));
  expect(events()).toEqual([]);
});

test("of a connection that is forgotten all is reported again", () => {
  const { transitions, events, logged } = setUp();
  for (let n = 0; n < 2; n += 1) {
    transitions.begin(connection());
    transitions.report(connection(), statusWith("Unreachable"));
    expect([events(), logged()]).toEqual([["Warning default Unreachable"], 1]);
    transitions.forget("connection-1");
  }
});
