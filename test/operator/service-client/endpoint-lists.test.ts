import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { EndpointLists } from "../../../src/operator/service-client/endpoint-lists.ts";

function endpoint(id: string, fields: object = {}) {
  return { id, branch_id: "br-main", type: "read_write", host: `${id}.example.com`, ...fields };
}

async function read(lists: EndpointLists, endpoints: readonly object[], project = "shop") {
  const text = JSON.stringify({ endpoints });
  let [parses, pauses] = [0, 0];
  const reader = lists.reader(project, async () => {
    pauses += 1;
  });
  const response = {
    status: 200,
    text,
    json: true,
    get body() {
      parses += 1;
      return JSON.parse(text);
    },
  };
  const known = reader.known?.(response);
  const result = known === undefined ? await reader.safeParse(response.body) : { success: true as const, data: known };
  const problem = result.success ? undefined : result.error;
  return { endpoints: result.success ? result.data : [], problem, parses, pauses };
}

test("a list that repeats the one before is the same array, and is not parsed", async () => {
  const lists = new EndpointLists();
  const first = await read(lists, [endpoint("ep-a"), endpoint("ep-b")]);
  const second = await read(lists, [endpoint("ep-a"), endpoint("ep-b")]);
  expect([first.parses, second.parses]).toEqual([1, 0]);
  expect(second.endpoints).toBe(first.endpoints);
});

test("a list of endpoints shares the endpoints that did not change, and shows those that did", async () => {
  const lists = new EndpointLists();
  const before = (await read(lists, [endpoint("ep-a"), endpoint("ep-b"), endpoint("ep-c")])).endpoints;
  const after = (await read(lists, [endpoint("ep-c"), endpoint("ep-a"), endpoint("ep-b", { current_state: "idle" })]))
    .endpoints;
  expect(after).toEqual([endpoint("ep-c"), endpoint("ep-a"), endpoint("ep-b", { current_state: "idle" })]);
  expect([after[0] === before[2], after[1] === before[0], after[2] === before[1]]).toEqual([true, true, false]);
});

test("a list of endpoints names in each list what cannot be read of an endpoint", async () => {
  const lists = new EndpointLists();
  for (const host of [7, 7, "a.example.com"]) {
    const [shown] = (await read(lists, [endpoint("ep-a", { host })])).endpoints;
    expect(shown?.unreadable).toEqual(typeof host === "number" ? ["host"] : undefined);
  }
});

test("a list is distinguished from that of another project, and from one from before the project was forgotten", async () => {
  const lists = new EndpointLists();
  const first = (await read(lists, [endpoint("ep-a")])).endpoints;
  expect((await read(lists, [endpoint("ep-a")], "other")).endpoints).not.toBe(first);
  lists.forget("shop");
  expect(await read(lists, [endpoint("ep-a")])).toMatchObject({ parses: 1, endpoints: [endpoint("ep-a")] });
});

test("a list that cannot be read says where, and the one before stays what others are compared with", async () => {
  const lists = new EndpointLists();
  const before = (await read(lists, [endpoint("ep-a")])).endpoints;
  const broken = await read(lists, [endpoint("ep-a"), { id: "ep-b" }]);
  expect(broken.problem?.issues[0]?.path.join(".")).toMatch(/^endpoints\.1/);
  expect((await read(lists, [endpoint("ep-a")])).endpoints).toBe(before);
});

test("a list is read ten endpoints at a time, though all have changed", async () => {
  const lists = new EndpointLists();
  const all = (last_active: string) => Array.from({ length: 1000 }, (_, n) => endpoint(`ep-${n}`, { last_active }));
  await read(lists, all("2026-01-01T00:00:00Z"));
  const { endpoints, pauses } = await read(lists, all("2026-01-01T00:05:00Z"));
  expect(endpoints).toEqual(all("2026-01-01T00:05:00Z"));
  expect(pauses).toBe(100);
});

test("a long list lets timers and sockets have their turn before it is read on", async () => {
  let letOn = () => {};
  const turn = new Promise<void>((resolve) => {
    letOn = resolve;
  });
  const reader = new EndpointLists().reader("shop", () => turn);
  const body = { endpoints: Array.from({ length: 201 }, (_, n) => endpoint(`ep-${n}`)) };
  let isRead = false;
  const reading = (async () => {
    const answer = await reader.safeParse(body);
    isRead = true;
    return answer;
  })();
  await setImmediate();
  expect(isRead).toBe(false);
  letOn();
  expect((await reading).success).toBe(true);
});
