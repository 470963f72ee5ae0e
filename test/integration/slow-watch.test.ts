import { expect, it } from "vitest";
import { calm } from "../simulation/api-server/faults.ts";
import { SmallWorld } from "./support/small-world.ts";

it("nothing more is sent for a Compute that was let go, however late the watch tells that it is gone", async () => {
  const sent: string[] = [];
  await using world = new SmallWorld(
    ["br-0-a"],
    1,
    {},
    {
      ...calm,
      request: (request, timeoutMs) => {
        if (request.method === "PATCH" && request.path.includes("/db-0")) sent.push(JSON.stringify(request.body));
        return calm.request(request, timeoutMs);
      },
      line: (path) => ({ kind: "delivered", delayMs: path.includes("/computes") ? 3000 : 0 }),
    },
  );
  world.declare(0, { projectID: "shop", branchID: "br-0-a" });
  await world.settle(1);
  world.remove(0);
  while (!world.isGone(0)) await world.clock.advance(100);
  sent.length = 0;
  // A change of the connection has all its Computes reconciled.
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections/default";
  const connection = world.send("GET", path);
  world.send("PUT", path, { ...connection, spec: { ...connection.spec, refreshInterval: "10s" } });
  await world.clock.advance(60_000);
  expect(sent).toEqual([]);
});
