import { describe, expect, test } from "vitest";
import { NoResponseError } from "../../../src/operator/service-client/transport.ts";
import { refusal } from "../../support/scripted-service.ts";
import { setUp } from "./reconciling.ts";

type World = Awaited<ReturnType<typeof setUp>>;

/** The patches of the Compute that the API server got, by their subresource. */
const patchesOf = ({ reach }: World) =>
  reach.cluster.requests.filter(({ method }) => method === "PATCH").map(({ path }) => path.split("/shop")[1] ?? "");

/** Has every POST get no reply, and not be carried out. */
const loseCreates = ({ reach }: World) => {
  reach.answer = ({ method }) => {
    if (method === "POST") throw new NoResponseError("reset");
    return undefined;
  };
};

describe("what a create costs at the API server", () => {
  test("a create is four patches: record, finalizer, link and the status at the end", async () => {
    const world = await setUp();
    await world.run(20_000);
    expect(world.shown()).toBe("Active");
    expect(patchesOf(world)).toEqual(["/status", "", "", "/status"]);
    await world.run(120_000);
    expect(world.self()?.status.pendingWrite).toBeUndefined();
    expect(patchesOf(world).length).toBeLessThanOrEqual(5);
  });

  test("a refused create is no patch more for the record", async () => {
    const world = await setUp();
    world.reach.answer = ({ method }) => (method === "POST" ? refusal(423) : undefined);
    await world.run(500);
    world.reach.answer = () => undefined;
    await world.run(30_000);
    expect(world.shown()).toBe("Active");
    expect(patchesOf(world).filter((path) => path === "")).toHaveLength(2);
    expect(world.self()?.status.pendingWrite).toBeUndefined();
  });
});

describe("a create without an answer", () => {
  test("a create without an answer is not repeated for 70 s, is repeated once then, and says so until then", async () => {
    const world = await setUp();
    loseCreates(world);
    await world.run(5000);
    expect(world.shown()).toBe("CreateUnknown");
    expect(world.self()?.status).toMatchObject({ state: "Creating", pendingWrite: { n: 1, operation: "create" } });
    world.reach.answer = () => undefined;
    world.reach.sent();
    await world.run(60_000);
    expect(world.reach.sent()).not.toContain("POST endpoints");
    await world.run(30_000);
    expect(world.reach.sent().filter((one) => one.startsWith("POST"))).toEqual(["POST endpoints"]);
    expect(world.shown()).toBe("Active");
  });

  test("a create without an answer is open for the next term too, from when that sees it", async () => {
    const world = await setUp();
    loseCreates(world);
    await world.run(60_000);
    world.restart();
    world.reach.answer = () => undefined;
    world.reach.sent();
    await world.run(60_000);
    expect(world.reach.sent()).not.toContain("POST endpoints");
    await world.run(30_000);
    expect(world.reach.sent()).toContain("POST endpoints");
  });

  test("a create whose record somebody drops is recorded again, and nothing else is sent", async () => {
    const world = await setUp();
    loseCreates(world);
    await world.run(5000);
    world.reach.write([{ op: "remove", path: "/status/pendingWrite" }], "/status");
    world.reach.sent();
    await world.run(30_000);
    expect(world.self()?.status.pendingWrite).toMatchObject({ n: 1, by: "unknown" });
    expect(world.reach.sent()).not.toContain("POST endpoints");
  });

  test("leaves no state Creating behind where the service refuses it", async () => {
    const world = await setUp();
    world.reach.answer = ({ method }) => (method === "POST" ? refusal(400) : undefined);
    await world.run(5000);
    expect([world.shown(), world.self()?.status.state]).toEqual(["Rejected", "NotCreated"]);
  });
});

test("an API server that drops the record gets one status with the reason, and nothing more for an hour", async () => {
  const world = await setUp();
  const { reach, run, shown } = world;
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computes.compute-operator.dev";
  const property = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/pendingWrite";
  const body = [{ op: "remove", path: property }];
  const contentType = "application/json-patch+json";
  expect(reach.cluster.server.handle({ method: "PATCH", path, body, contentType }).status).toBe(200);
  await run(10_000);
  expect(shown()).toBe("Rejected");
  expect(world.self()?.status.pendingWrite).toBeUndefined();
  const before = patchesOf(world).length;
  await run(3_000_000);
  expect(patchesOf(world).length - before).toBe(0);
  expect(reach.sent().filter((one) => one !== "list")).toEqual([]);
});
