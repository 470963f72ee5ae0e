import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { findProgram, longestBuildMs } from "../programs.ts";
import { page, written } from "./page.ts";
import { type Played, playAll } from "./plays/all.ts";
import { disagreements, realVerdicts } from "./verdicts.ts";

let played: Played;

beforeAll(async () => {
  await findProgram("verdicts");
  played = await playAll();
}, longestBuildMs);

it("kstatus, Flux's copy of it and Argo CD judge each row of docs/proof/health.md as it says", async () => {
  const { rows } = played;
  const text = readFileSync(page, "utf8");
  expect(written(text, rows, await realVerdicts(rows.map(({ object }) => object)))).toBe(text);
});

it("they agree with the operator on every version of every object", async () => {
  expect(await disagreements(played.versions)).toEqual([]);
  expect(played.versions.length).toBeGreaterThan(300);
});
