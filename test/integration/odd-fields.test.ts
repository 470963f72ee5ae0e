import { describe, expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { goodKey, project } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const branches = ["br-0-a", "br-1-a"];
const place = (index: number) => ({ projectID: project, branchID: branches[index] ?? "" });
type Fields = Record<string, unknown>;

/** The service's lists and answers show these fields of some endpoints otherwise than they are. */
function showing(world: SmallWorld, odd: (endpoint: Fields) => Fields): void {
  world.host.instead = ({ method, path, body }) => {
    if ((method !== "GET" && method !== "PATCH") || !path.includes("/endpoints")) return undefined;
    const headers = { authorization: `Bearer ${goodKey}` };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const reply = world.host.service.call({ method, path: `/api/v2${path}`, headers, ...sent });
    const answer: { endpoint?: Fields; endpoints?: Fields[] } = JSON.parse(reply.body ?? "{}");
    const shown = (endpoint: Fields) => ({ ...endpoint, ...odd(endpoint) });
    if (answer.endpoint !== undefined) answer.endpoint = shown(answer.endpoint);
    if (answer.endpoints !== undefined) answer.endpoints = answer.endpoints.map(shown);
    return { ...reply, body: JSON.stringify(answer) };
  };
}

const first = (world: SmallWorld) => world.compute(0).status.endpointID;
const conditionsOf = (world: SmallWorld, index = 0) =>
  Object.fromEntries((world.compute(index).status.conditions ?? []).map((one) => [one.type, one]));

/** Two settled Computes; `odd` is what the service then shows of the first one's endpoint. */
async function twoWith(odd: Fields, spec: Fields = {}): Promise<SmallWorld> {
  const world = new SmallWorld(branches, 1);
  world.declare(0, { ...place(0), ...spec });
  world.declare(1, place(1));
  await world.settle(2);
  const id = first(world);
  showing(world, (endpoint) => (endpoint["id"] === id ? odd : {}));
  await world.clock.advance(120_000);
  return world;
}

it("an unreadable field is reported by its Compute with one event, and changes neither its conditions nor any other Compute", async () => {
  await using world = await twoWith({ settings: { pg_settings: { work_mem: 65_536 } }, last_active: 7 });
  const sentence =
    "The service shows last_active, settings.pg_settings.work_mem in a form that cannot be read, so the status leaves it out.";
  const { Ready, Synced, Stalled } = conditionsOf(world);
  expect([Ready?.status, Synced?.status, Stalled]).toEqual(["True", "True", undefined]);
  expect(Ready?.message).toContain(sentence);
  expect([world.events("ServiceUnavailable"), world.timesEmitted("ServiceUnavailable")]).toEqual([[sentence], 1]);
  world.edit(1, { disabled: true });
  await world.settle(2);
  expect(conditionsOf(world, 1)["Ready"]?.message).not.toContain("cannot be read");
  await world.clock.advance(600_000);
  expect(world.timesEmitted("ServiceUnavailable")).toBe(1);
  world.host.instead = undefined;
  await world.clock.advance(60_000);
  expect(conditionsOf(world)["Ready"]?.message).not.toContain("cannot be read");
});

it("an unreadable field that the spec sets makes Synced no claim: it is sent once for each edit, and never in a loop", async () => {
  await using world = await twoWith(
    { suspend_timeout_seconds: "300" },
    { scaleToZero: { enabled: true, after: "5m" } },
  );
  const before = world.writes.length;
  expect(conditionsOf(world)["Ready"]).toMatchObject({ status: "False", reason: "ServiceUnavailable" });
  expect(conditionsOf(world)["Synced"]?.status).toBe("Unknown");
  expect(conditionsOf(world)["Ready"]?.message).toContain("scaleToZero.after in a form that cannot be read");
  await world.clock.advance(600_000);
  expect(world.writes.length).toBe(before);
  world.edit(0, { scaleToZero: { enabled: true, after: "10m" } });
  await world.clock.advance(600_000);
  expect(world.writes.slice(before)).toEqual([`PATCH /projects/${project}/endpoints/${first(world)}`]);
  expect(world.endpoint(first(world)).suspend_timeout_seconds).toBe(600);
  expect(world.timesEmitted("ServiceUnavailable")).toBeLessThanOrEqual(2);
});

it("an unreadable Postgres setting of others is not wiped: settings are then not sent, and the Compute says why", async () => {
  const pg_settings = { work_mem: "4MB", shared_buffers: 65_536 };
  await using world = await twoWith({ settings: { pg_settings } }, { postgresSettings: { work_mem: "4MB" } });
  expect(isReady(world.compute(0))).toBe(true);
  const before = world.writes.length;
  world.edit(0, { postgresSettings: { work_mem: "8MB" }, disabled: true });
  await world.clock.advance(300_000);
  expect(world.writes.length).toBe(before + 1);
  expect(world.host.calls.filter(({ method }) => method === "PATCH").map(({ body }) => body)).toEqual([
    { endpoint: { disabled: true } },
  ]);
  expect(conditionsOf(world)["Ready"]).toMatchObject({ status: "False", reason: "ServiceUnavailable" });
});

describe("a name that cannot be read", () => {
  const odd = { name: "x".repeat(2000) };
  const replica = { ...place(0), type: "read_only" };
  /** A create of the replica was sent, and its outcome is not known. */
  async function pendingBeside(endpoint: Fields): Promise<SmallWorld> {
    const world = new SmallWorld(branches, 1);
    world.declare(1, place(0));
    await world.clock.advance(60_000);
    const made = world.console("POST", `/projects/${project}/endpoints`, {
      endpoint: { branch_id: branches[0], type: "read_only" },
    });
    await world.clock.advance(30_000);
    showing(world, ({ id }) => (id === made.endpoint.id ? endpoint : {}));
    world.host.service.setFaults([{ kind: "drop-before", method: "POST", route: "*", count: 1 }]);
    world.declare(0, replica);
    await world.clock.advance(300_000);
    return world;
  }
  const posts = (world: SmallWorld) => world.writes.filter((write) => write.startsWith("POST"));

  it("an unreadable name on the branch of a pending create keeps another from being sent, until a person says which it is", async () => {
    await using world = await pendingBeside(odd);
    const { length } = posts(world);
    expect(conditionsOf(world)["Ready"]).toMatchObject({ status: "False", reason: "CreateUnknown" });
    await world.clock.advance(600_000);
    expect(posts(world).length).toBe(length);
    world.annotate(0, "confirmLoss", "none is ours");
    await world.settle(1);
    expect(posts(world).length).toBe(length + 1);
  });

  it("does not make a linked endpoint another's: the status proves it, and it goes with its Compute", async () => {
    await using world = await twoWith(odd);
    const id = first(world);
    world.remove(0);
    await world.clock.advance(120_000);
    expect([world.isGone(0), world.endpoints.some((endpoint) => endpoint.id === id)]).toEqual([true, false]);
  });
});
