import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { refusal } from "../support/scripted-service.ts";
import { ManyProjects, type ManyProjectsOptions } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

const place = { projectID: "p", branchID: "br", computeUnits: { min: 1, max: 2 } };

/** What is shown of `c-0` over time, every 100 ms: each change with its milliseconds from the declaration. */
async function historyOf(
  service: ManyProjectsOptions,
  forMs: number,
  { others = 0, breaks = false }: { others?: number; breaks?: boolean } = {},
) {
  await using tenants = new Tenants();
  const { clock } = tenants;
  const many = new ManyProjects(clock, { answersAfterMs: 5, ...service });
  let isBroken = false;
  tenants.behaves("fleet.test", (request) =>
    isBroken && request.method === "GET" && request.path !== "/auth"
      ? { afterMs: 5, answer: refusal(500) }
      : many.behaviour(request),
  );
  tenants.tenant("fleet", "fleet.test");
  await clock.advance(3000);
  for (let n = 1; n <= others; n += 1) tenants.declare("fleet", `c-${n}`, { ...place, branchID: `br-${n}` });
  if (others > 0) await clock.advance(500);
  tenants.declare("fleet", "c-0", place);
  const history: { at: number; state: string | undefined; says: string; endpointID: string | undefined }[] = [];
  for (let at = 0; at <= forMs; at += 100) {
    if (breaks && many.writes.length > others) isBroken = true;
    const status = tenants.computes("fleet").find(({ metadata }) => metadata.name === "c-0")?.status ?? {};
    const ready = conditionOf(status, "Ready");
    const says = `${ready?.reason} ${ready?.message}`;
    if (ready !== undefined && history.at(-1)?.says !== says) {
      history.push({ at, state: status.state, says, endpointID: status.endpointID });
    }
    await clock.advance(100);
  }
  const { items } = tenants.send("GET", "/api/v1/namespaces/fleet/events");
  const events: string[] = items
    .filter((event: { involvedObject: { name: string } }) => event.involvedObject.name === "c-0")
    .map(({ type, reason }: { type: string; reason: string }) => `${type} ${reason}`);
  return { history, events };
}

describe("what a Compute shows while its create is on the way", () => {
  const sending = { at: expect.any(Number), says: expect.stringContaining("is being created"), endpointID: undefined };

  test.each([50, 5000])("a create that takes %i ms: that it is sent, and its end", async (operationMs) => {
    const { history, events } = await historyOf({ operationMs, locks: false }, 12_000);
    expect(history).toMatchObject([sending, { state: "Active", says: "Active The compute is as declared." }]);
    expect(history[1]?.at).toBeLessThanOrEqual(operationMs + 2100);
    expect(events).toEqual(["Normal Created"]);
  });

  test("a create that takes long: that it is sent, its end, and an event of its end too", async () => {
    const { history, events } = await historyOf({ operationMs: 15_000, locks: false }, 25_000);
    expect(history).toMatchObject([sending, { state: "Active", endpointID: "ep-1" }]);
    expect(events).toEqual(["Normal Created", "Normal Active"]);
  });

  test("a create that takes longer than a minute: its endpoint then", async () => {
    const { history, events } = await historyOf({ operationMs: 100_000, locks: false }, 65_000);
    expect(history).toMatchObject([sending, { state: "Creating", endpointID: "ep-1" }]);
    expect(history[1]?.says).toContain("Endpoint ep-1 was created. The service is starting it.");
    expect(history[1]?.at).toBeLessThanOrEqual(60_300);
    expect(events).toEqual(["Normal Created"]);
  });

  test("a create that has to wait for its turn: that it waits, after two seconds, and no event of it", async () => {
    const { history, events } = await historyOf({ operationMs: 5000, locks: true }, 20_000, { others: 1 });
    expect(history.at(-1)).toMatchObject({ state: "Active" });
    const waits = history.find(({ says }) => says.includes("Waiting: another operation runs in project p."));
    expect(waits?.at).toBeLessThanOrEqual(2500);
    expect(events).toEqual(["Normal Created"]);
  });

  test("a create after which nothing can be read any more: the endpoint that it made, after a minute", async () => {
    const { history } = await historyOf({ operationMs: 5000, locks: false }, 65_000, { breaks: true });
    expect(history[1]).toMatchObject({ state: "Creating", endpointID: "ep-1" });
    expect(history[1]?.at).toBeLessThanOrEqual(60_300);
  });
});
