import { expect, it } from "vitest";
import { underShippedRights } from "../simulation/api-server/rights.ts";
import type { ApiServer } from "../simulation/api-server/server.ts";
import type { ApiFront } from "../simulation/api-server/transport.ts";
import { ClusterWorld, selected } from "./support/cluster-world.ts";
import { agreed, details, secretIn, secretsOf } from "./support/elsewhere.ts";

const hour = 3_600_000;
const computes = ["one", "two", "three"] as const;

/** What a fleet of three costs in its second hour: calls of the service, requests, and what watches of Secrets tell. */
async function costOf(spec: (name: string) => object, foreign = 0) {
  const requests: string[] = [];
  const lines: string[] = [];
  const rights = (server: ApiServer): ApiFront => {
    const front = underShippedRights(server);
    return {
      ...front,
      handle: (request, asOf) => {
        const { labelSelector, fieldSelector } = request.query ?? {};
        const selector = [labelSelector, fieldSelector].filter((each) => each !== undefined).join();
        if (!request.path.includes("leases")) requests.push(`${request.method} ${request.path} ${selector}`);
        return front.handle(request, asOf);
      },
      watch: (path, query, sink) =>
        front.watch(path, query, {
          ...sink,
          line: (line) => {
            if (path.endsWith("/secrets")) lines.push(JSON.stringify(line));
            sink.line(line);
          },
        }),
    };
  };
  await using world = new ClusterWorld({ rights, branches: computes.map((name) => `br-${name}`) });
  world.namespace("shop", selected);
  world.namespace("apps", agreed);
  for (const name of computes) world.declare("shop", name, { branchID: `br-${name}`, ...spec(name) });
  for (const name of computes) await world.ready("shop", name);
  await world.clock.advance(hour);
  for (const list of [requests, lines, world.host.calls]) list.length = 0;
  for (let index = 0; index < foreign; index += 1) {
    world.send("POST", secretsOf("apps"), { metadata: { name: `theirs-${index}` }, data: { own: "eA==" } });
  }
  await world.clock.advance(hour);
  const calls = world.host.calls.map(({ method, path }) => `${method} ${path.replace(/\?.*/, "")}`);
  const isReading = (call: string) => call.endsWith("/connection_uri");
  const stands = computes.map((name) => secretIn(world, "apps", name) !== undefined);
  return {
    requests: requests.toSorted(),
    lines: lines.filter((line) => !line.includes("BOOKMARK")),
    readings: calls.filter(isReading).length,
    others: calls.filter((call) => !isReading(call)).toSorted(),
    stands,
  };
}

const inTurns = (name: string) => ({
  connectionSecret: {
    name,
    namespace: "apps",
    database: details.database,
    roles: [details.role, "other"],
    rotation: { every: "720h" },
  },
});

it("a settled fleet with Secrets elsewhere and rotation makes no call more than one without, but one reading an hour each", async () => {
  const plain = await costOf(() => ({}));
  const turned = await costOf(inTurns);
  expect([plain.readings, turned.readings]).toEqual([0, computes.length]);
  expect(turned.stands).toEqual([true, true, true]);
  expect(turned.others).toEqual(plain.others);
  expect(turned.requests).toEqual(plain.requests);
  expect(turned.requests.filter((request) => !request.startsWith("GET"))).toEqual([]);
});

it("Secrets of others in the namespace are neither listed nor delivered to the operator, however many there are", async () => {
  const { lines, requests } = await costOf(inTurns, 1000);
  const lists = requests.filter((request) => request.includes("/secrets"));
  expect([lines, lists.length > 0]).toEqual([[], true]);
  expect(
    lists.every((list) => /^GET \S+ (compute-operator\.dev\/compute|type=compute-operator\.dev\/api-key)$/.test(list)),
  ).toBe(true);
});
