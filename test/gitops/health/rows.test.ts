import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { page, written } from "./page.ts";
import { type Played, playAll } from "./plays/all.ts";
import { expectedVerdicts, reasonsOf } from "./verdicts.ts";
import { kinds, viewOf } from "./view.ts";

let played: Played;

beforeAll(async () => {
  played = await playAll();
});

it.each(kinds)("docs/proof/health.md has a row for each reason of a %s", (kind) => {
  const shown = new Set(played.rows.filter((row) => row.kind === kind).map(({ object }) => viewOf(object).reason));
  expect(reasonsOf[kind]?.filter((reason) => !shown.has(reason))).toEqual([]);
});

it("docs/proof/health.md has a row for each state of a Compute on the way, and for NotCreated, Lost and Unknown", () => {
  const states = (objects: typeof played.versions) => new Set(objects.map((object) => viewOf(object).state));
  const shown = states(played.rows.map(({ object }) => object));
  expect(shown).toEqual(states(played.versions));
  expect([...shown]).toEqual(expect.arrayContaining(["NotCreated", "Lost", "Unknown"]));
});

it("docs/proof/health.md is current: `npm run generate -- health` writes it", () => {
  const { rows } = played;
  const verdicts = rows.map(({ object }) => expectedVerdicts(object));
  const text = readFileSync(page, "utf8");
  expect(written(text, rows, verdicts)).toBe(text);
});
