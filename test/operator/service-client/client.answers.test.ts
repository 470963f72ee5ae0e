import { describe, expect, test } from "vitest";
import { mostBytes, type ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { endpoint, operation } from "../../support/builders.ts";
import { forever } from "../../support/request-budget.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

function setUp(answer: (requests: number) => ServiceResponse) {
  const service = new ScriptedService(() => answer(service.requests.length));
  const reported: string[] = [];
  const client = clientOf(service, new VirtualClock(), {
    onAccepted: () => reported.push("accepted"),
    onNameShown: () => reported.push("name shown"),
  });
  return { service, reported, client };
}

const html = (status: number) => ({ status, body: undefined, json: false });
const restart = (answer: ServiceResponse) => setUp(() => answer).client.restartEndpoint("shop", "ep-one", forever);
const both = {
  list: (client: ReturnType<typeof clientOf>) => client.listEndpoints("shop", forever),
  get: (client: ReturnType<typeof clientOf>) => client.getEndpoint("shop", "ep-one", forever),
  patch: (client: ReturnType<typeof clientOf>) => client.patchEndpoint("shop", "ep-one", { endpoint: {} }, forever),
};

test("a restart is accepted with any JSON, for its answer is not documented", async () => {
  const accepted = { kind: "ok", status: 200, value: { endpoint: undefined, operations: [] } };
  expect(await restart(json(200, {}))).toEqual(accepted);
});

test("a restart is ambiguous where the answer is not JSON", async () => {
  expect(await restart(html(200))).toEqual({
    kind: "ambiguous",
    message: "HTTP 200 with a body that is not the service's",
  });
});

test.each([
  ["get", "unavailable"],
  ["patch", "ambiguous"],
] as const)("HTTP 300 is no acceptance of a %s, whatever its body", async (name, kind) => {
  const { client, reported } = setUp(() => json(300, { endpoint: endpoint() }));
  expect((await both[name](client)).kind).toBe(kind);
  expect(reported).toEqual([]);
});

test.each(["list", "get", "patch"] as const)("each 2xx reports that the service takes the key: %s", async (name) => {
  const { client, reported } = setUp(() => json(200, { endpoint: endpoint(), endpoints: [endpoint()] }));
  await both[name](client);
  expect(reported).toEqual(["accepted"]);
});

test.each(["list", "get", "patch"] as const)(
  "a refusal does not report that the service takes the key: %s",
  async (name) => {
    const { client, reported } = setUp(() => refusal(404));
    await both[name](client);
    expect(reported).toEqual([]);
  },
);

test.each(["list", "get", "patch"] as const)(
  "one endpoint with a name reports that the service shows names: %s",
  async (name) => {
    const named = endpoint({ name: "k8s-one" });
    const { client, reported } = setUp(() =>
      json(200, { endpoint: named, endpoints: [endpoint({ id: "ep-two" }), named] }),
    );
    await both[name](client);
    expect(reported).toEqual(["accepted", "name shown"]);
  },
);

test.each([
  [{}, " at endpoints"],
  [{ endpoints: [endpoint(), { ...endpoint(), id: undefined }] }, " at endpoints.1.id"],
  [[], ""],
])("an invalid answer is reported with the place: %j", async (body, place) => {
  expect(await both.list(setUp(() => json(200, body)).client)).toEqual({
    kind: "unavailable",
    message: `GET /projects/{p}/endpoints: an invalid answer${place}`,
  });
});

test("the error of an operation is shown without the key, which some services repeat", async () => {
  const spoilt = { ...operation(), error: "bad key a-key-of-a-test" };
  const { client } = setUp(() =>
    json(200, { operation: spoilt, operations: [spoilt, operation()], endpoint: endpoint() }),
  );
  const shown = { ...operation(), error: "bad key [redacted]" };
  expect(await client.getOperation("shop", "op-1", forever)).toMatchObject({ value: shown });
  expect(await client.listOperations("shop", forever)).toMatchObject({ value: [shown, operation()] });
  expect(await both.patch(client)).toMatchObject({ value: { operations: [shown, operation()] } });
});

describe("a list of projects", () => {
  const page = (ids: readonly string[], cursor: string | undefined, bytes = 0) =>
    json(200, { projects: ids.map((id) => ({ id })), pagination: cursor === undefined ? {} : { cursor } }, { bytes });

  test.each([
    ["that has no cursor", page(["b"], undefined)],
    ["that repeats the cursor", page(["b"], "1")],
    ["that is empty", page([], "2")],
    ["that brings nothing new", page(["a"], "2")],
  ])("a list of projects ends with a page %s", async (_, last) => {
    const { client, service } = setUp((requests) => (requests === 1 ? page(["a"], "1") : last));
    expect(await client.listProjects(undefined, forever)).toMatchObject({ kind: "ok", value: { complete: true } });
    expect(service.requests).toHaveLength(2);
  });

  test("a list of projects is cut short beyond the size of the largest list: what was read is returned as incomplete", async () => {
    const { client, service } = setUp((requests) => page([`p-${requests}`], `${requests}`, mostBytes.endpoints / 2));
    expect(await client.listProjects(undefined, forever)).toEqual({
      kind: "ok",
      status: 200,
      value: { projects: [{ id: "p-1" }, { id: "p-2" }, { id: "p-3" }], complete: false },
    });
    expect(service.requests).toHaveLength(3);
  });
});

test("a project is read as a whole", async () => {
  const { client } = setUp(() => json(200, { project: { id: "shop", name: "Shop" } }));
  expect(await client.getProject("shop", forever)).toMatchObject({ kind: "ok", value: { id: "shop", name: "Shop" } });
});
