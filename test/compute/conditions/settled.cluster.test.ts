import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { project } from "../support/seeded-service.ts";
import { Stage } from "../support/stage.ts";
import { conditions } from "./conditions.ts";

let stage: Stage;
beforeAll(() => {
  stage = new Stage();
});
afterAll(() => stage[Symbol.asyncDispose]());

describe.concurrent("a reason that means settled, or in progress", () => {
  it("Active: created with one POST, and then left alone", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { computeUnits: { min: 0.25, max: 2 } });
    const db = await shop.ready("db");
    expect(conditions(db)).toEqual({ Ready: "True", Synced: "True", reason: "Active" });
    expect(db.status).toMatchObject({ state: "Active", size: "0.25–2 CU", endpointID: shop.endpoints[0]?.id });
    expect(shop.writes).toEqual([`POST /projects/${project}/endpoints`]);
    expect(await shop.event("db", "Created")).toContain(shop.endpoints[0]?.id);
    await shop.lists(2);
    expect(shop.writes).toHaveLength(1);
  });
});
