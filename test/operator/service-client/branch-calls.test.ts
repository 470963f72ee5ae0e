import { expect, test } from "vitest";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const forever = new AbortController().signal;
const branch = (id: string, name: string) => ({ id, name });

/** The answer to the list of branches, page by page. */
async function listed(...pages: ReturnType<typeof json>[]) {
  let page = 0;
  const service = new ScriptedService(() => pages[Math.min(page++, pages.length - 1)] ?? json(200, {}));
  const answer = await clientOf(service, new VirtualClock()).branches.list("shop", forever);
  return { answer, queries: service.requests.map(({ query }) => query) };
}

test("the branches of a project are those of all pages, each once as it was shown last", async () => {
  const { answer, queries } = await listed(
    json(200, { branches: [branch("br-a", "one"), branch("br-b", "two")], pagination: { next: "more" } }),
    json(200, { branches: [branch("br-b", "three")], pagination: {} }),
  );
  expect(answer).toMatchObject({ kind: "ok", value: [branch("br-a", "one"), branch("br-b", "three")] });
  // In an order that renaming does not change, or a page could lack a branch that the next one has no more.
  const order = { sort_by: "created_at", sort_order: "asc" };
  expect(queries).toEqual([order, { ...order, cursor: "more" }]);
});

test("the branches of a project are complete with an empty page, whatever cursor it has", async () => {
  const { answer, queries } = await listed(
    json(200, { branches: [branch("br-a", "one")], pagination: { next: "more" } }),
    json(200, { branches: [], pagination: { next: "more" } }),
  );
  expect(answer).toMatchObject({ kind: "ok", value: [branch("br-a", "one")] });
  expect(queries).toHaveLength(2);
});

test.each<[string, (page: number) => string]>([
  ["its cursor", () => "more"],
  ["its branches", (page) => `more-${page}`],
])("branches are asked for twice where a page repeats %s, and not known", async (_, cursor) => {
  const pages = Array.from({ length: 60 }, (__, page) =>
    json(200, { branches: [branch("br-a", "one")], pagination: { next: cursor(page) } }),
  );
  const { answer, queries } = await listed(...pages);
  expect(answer).toMatchObject({ kind: "unavailable", message: expect.stringContaining("repeats the one before") });
  expect(queries).toHaveLength(2);
});

test.each([
  [
    "a page fails",
    [json(200, { branches: [branch("br-a", "one")], pagination: { next: "more" } }), refusal(503, "not now")],
  ],
  [
    "a service pages without end",
    Array.from({ length: 60 }, (_, n) =>
      json(200, { branches: [branch(`br-${n}`, "one")], pagination: { next: `more-${n}` } }),
    ),
  ],
  [
    "pages are too large together",
    Array.from({ length: 3 }, (_, n) => ({
      ...json(200, { branches: [branch(`br-${n}`, "one")], pagination: n < 2 ? { next: `more-${n}` } : {} }),
      bytes: 9 * 1024 * 1024,
    })),
  ],
  ["there are none in the answer", [json(200, { endpoints: [] })]],
])("branches are not known where %s: absence would prove nothing", async (_, pages) => {
  const { answer } = await listed(...pages);
  expect(answer).toMatchObject({ kind: "unavailable" });
});
