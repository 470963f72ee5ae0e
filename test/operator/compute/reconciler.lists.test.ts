import { expect, test } from "vitest";
import { z } from "zod";
import { Endpoint } from "../../../src/api/endpoint.ts";
import { json } from "../../support/scripted-service.ts";
import { setUp } from "./reconciling.ts";

test.each([
  ["known", 50],
  ["unknown", undefined],
])(
  "a Compute takes the list with the result of its change, also where its turn comes only after it is due itself (its duration is %s)",
  async (_, took) => {
    const { reach, run, shown, clock } = await setUp();
    const operations: { id: string; status: string; total_duration_ms?: number }[] = [];
    const begin = () => {
      const operation = { id: `op-${operations.length}`, action: "start_compute", endpoint_id: "ep-1" };
      operations.push({ ...operation, status: "finished", ...(took === undefined ? {} : { total_duration_ms: took }) });
      return [{ ...operation, status: "running" }];
    };
    reach.answer = ({ method, path, body }) => {
      if (path.includes("/operations")) return json(200, { operations });
      if (method !== "POST" && method !== "PATCH") return undefined;
      const { endpoint: asked } = z.object({ endpoint: z.looseObject({}) }).parse(body);
      const endpoint = { ...reach.endpoints.get("ep-1"), id: "ep-1", current_state: "active", ...asked };
      reach.endpoints.set("ep-1", Endpoint.parse(endpoint));
      return json(200, { endpoint, operations: begin() });
    };
    await run(20_000);
    reach.write([{ op: "add", path: "/spec/computeUnits", value: { min: 1, max: 2 } }]);
    await run(10);
    const { reconcile } = reach;
    reach.reconcile = () => Promise.resolve({});
    await clock.advance(8000);
    expect(reach.sent().slice(-3)).toEqual(["PATCH ep-1", "GET operations", "list"]);
    reach.reconcile = reconcile;
    await run(500);
    expect([reach.sent(), shown()]).toEqual([[], "Active"]);
  },
);
