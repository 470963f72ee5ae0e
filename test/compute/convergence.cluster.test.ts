import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { branchesOf, notMet, specPairs } from "./support/specs.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(() => {
  stage = new Stage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const seed = 20_260_105;
const perService = 20;
const quick = { timeScale: 100 };

describe.concurrent("from any valid spec to any other", () => {
  it.each([0, 1, 2, 3, 4])("100 Computes settle on the real control plane: part %i", async (part) => {
    const numbers = Array.from({ length: perService }, (_, index) => index);
    const pairs = specPairs(perService, seed + 1000 * part);
    const shop = await stage.scenario({ branches: numbers.flatMap(branchesOf), service: quick });
    await Promise.all(pairs.map(({ from }, index) => shop.compute(`db-${index}`, from)));
    const before = await Promise.all(numbers.map((index) => shop.ready(`db-${index}`)));
    await Promise.all(
      pairs.map(({ to }, index) =>
        shop.cluster.modify("Compute", shop.namespace, `db-${index}`, (object) => {
          object.spec = to;
        }),
      ),
    );
    const generations = pairs.map(({ from, to }) => (JSON.stringify(from) === JSON.stringify(to) ? 1 : 2));
    for (const [index, { to }] of pairs.entries()) {
      const name = `db-${index}`;
      await shop.until(
        name,
        "the new spec",
        ({ metadata }) => (metadata.generation ?? 0) >= Math.min(2, generations[index] ?? 2),
      );
      const { status } = await shop.ready(name);
      const open = notMet(to, shop.endpoint(status.endpointID));
      expect({ name, open }).toEqual({ name, open: [] });
      expect(status.endpointID).toBe(before[index]?.status.endpointID);
    }
    expect(shop.writes.length).toBeLessThanOrEqual(perService * 2);
  });

  it("a settled Compute that is looked at 100 times more writes nothing, here or there", async () => {
    const shop = await stage.scenario();
    await shop.compute("db", { computeUnits: { min: 1, max: 2 }, scaleToZero: { enabled: false } });
    await shop.ready("db");
    await shop.lists(2);
    const writes = shop.writes.length;
    const versions = shop.history("db").length;
    let last = "";
    for (let look = 1; look <= 100; look++) {
      const touched = await shop.cluster.modify("Compute", shop.namespace, "db", ({ metadata }) => {
        metadata.labels = { look: String(look) };
      });
      last = touched.metadata.resourceVersion ?? "";
    }
    await shop.until("db", "the last touch", ({ metadata }) => metadata.resourceVersion === last);
    await shop.lists(3);
    expect(shop.history("db").length - versions).toBe(100);
    expect(shop.writes).toHaveLength(writes);
  });
});
