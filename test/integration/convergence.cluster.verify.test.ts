import { describe, expect, it } from "vitest";
import { sameJSON } from "../../src/operator/objects/record.ts";
import { eventually } from "../support/eventually.ts";
import type { Scenario } from "./support/scenario.ts";
import { project } from "./support/seeded-service.ts";
import { branchesOf, notMet, secretFound, secretWanted, specPairs } from "./support/specs.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const seed = 20_260_105;
const perService = 20;
const quick = { timeScale: 100 };

/** The scenarios of all parts, whose Computes stay as they are: the test reconciles them again and again. */
const settled: Scenario[] = [];
const numbers = Array.from({ length: perService }, (_, index) => index);

/** How many reconciles of Computes have ended. */
async function reconciles(): Promise<number> {
  const lines = (await stage().scrape()).matchAll(/^compute_operator_reconcile_total\{kind="compute",.*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** The versions of all events and connection Secrets. */
async function versionsBeside({ cluster, namespace }: Scenario): Promise<string[]> {
  const objects = await Promise.all([cluster.list("Event", namespace), cluster.list("Secret", namespace)]);
  return objects.flat().map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
}

/** Whether a Compute whose endpoint is enabled still has `status.disabledByUs`. */
function notesDisabling(shop: Scenario): boolean {
  const shown = numbers.map((index) => shop.history(`db-${index}`).at(-1)?.status);
  return shown.some((status) => status?.disabledByUs === true && status.disabled === false);
}

describe.concurrent("from any valid spec to any other", () => {
  it.each([0, 1, 2, 3, 4])("100 Computes settle on the real control plane: part %i", async (part) => {
    const pairs = specPairs(perService, seed + 1000 * part);
    const shop = await stage().scenario({ branches: numbers.flatMap(branchesOf), service: quick });
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
      const wanted = secretWanted(to);
      expect({ name, bound: status.binding?.name }).toEqual({ name, bound: wanted?.name });
      if (wanted === undefined) continue;
      const secret = await shop.cluster.get("Secret", shop.namespace, String(wanted.name));
      expect(secretFound(secret, status)).toEqual(wanted);
    }
    expect(shop.writes.length).toBeLessThanOrEqual(perService * 2);
    settled.push(shop);
  });
});

it("settled Computes are reconciled 100 times more, all 100 of them, and nothing is written to the cluster or the service", async () => {
  expect(settled).toHaveLength(5);
  // What the operator disabled and enabled again is noted until nothing can disable it any more, 70 s later.
  await eventually("the notes of disablings that are over to go", () => !settled.some(notesDisabling) || undefined, {
    timeoutMs: 120_000,
  });
  await Promise.all(settled.map((shop) => shop.lists(2)));
  const writes = settled.map((shop) => shop.writes.length);
  const versions = settled.map((shop) => numbers.map((index) => shop.history(`db-${index}`).length));
  // Events are written one at a time, so the last ones come a little later.
  let beside = await Promise.all(settled.map(versionsBeside));
  await eventually(
    "the last event",
    async () => {
      const before = beside;
      beside = await Promise.all(settled.map(versionsBeside));
      return sameJSON(before, beside) || undefined;
    },
    { everyMs: 2000 },
  );
  const reconciledBefore = await reconciles();
  for (let round = 1; round <= 100; round++) {
    // A change of their connection that affects none of them has each reconciled.
    const allowedProjects = round % 2 === 0 ? [project] : [project, "another"];
    await Promise.all(settled.map((shop) => shop.editConnection({ allowedProjects })));
    await eventually(
      `reconcile ${round} of all`,
      async () => ((await reconciles()) - reconciledBefore >= 100 * round ? true : undefined),
      { everyMs: 5 },
    );
  }
  expect((await reconciles()) - reconciledBefore).toBeGreaterThanOrEqual(100 * 100);
  await Promise.all(settled.map((shop) => shop.lists(2)));
  expect(settled.map((shop) => shop.writes.length)).toEqual(writes);
  expect(await Promise.all(settled.map(versionsBeside))).toEqual(beside);
  for (const [part, shop] of settled.entries()) {
    for (const index of numbers) {
      const since = shop.history(`db-${index}`).slice((versions[part]?.[index] ?? 0) - 1);
      // The service suspends what nobody uses: that alone is shown, once.
      const shown = since.map(({ status }) => status.state);
      expect(shown.slice(1).filter((state, at) => state === shown[at])).toEqual([]);
      expect(shown.slice(1).every((state) => state === "Idle")).toBe(true);
    }
  }
});
