import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { findProgram, longestBuildMs } from "../programs.ts";
import { page, written } from "./page.ts";
import { type Played, playAll } from "./plays/all.ts";
import { expectedVerdicts, realVerdicts } from "./verdicts.ts";
import { viewOf } from "./view.ts";

let played: Played;

beforeAll(async () => {
  await findProgram("verdicts");
  played = await playAll();
}, longestBuildMs);

it("kstatus, Flux's copy of it and Argo CD judge each row of docs/kubectl.md as it says", async () => {
  const { rows } = played;
  const text = readFileSync(page, "utf8");
  expect(written(text, rows, await realVerdicts(rows.map(({ object }) => object)))).toBe(text);
});

it("they agree with the operator on every version of every object", async () => {
  const verdicts = await realVerdicts(played.versions);
  const wrong = played.versions.flatMap((object, index) => {
    const [expected, real] = [expectedVerdicts(object), verdicts[index]];
    const agrees = expected.kstatus === real?.kstatus && expected.argocd === real.argocd;
    return agrees ? [] : [JSON.stringify({ ...viewOf(object), expected, real })];
  });
  expect([...new Set(wrong)]).toEqual([]);
  expect(played.versions.length).toBeGreaterThan(300);
});
