// `npm run generate -- health` writes docs/proof/health.md: what kstatus, Flux and Argo CD make of each state.
import { readFileSync, writeFileSync } from "node:fs";
import { page, written } from "./page.ts";
import { playAll } from "./plays/all.ts";
import { realVerdicts } from "./verdicts.ts";

const { rows } = await playAll();
const verdicts = await realVerdicts(rows.map(({ object }) => object));
writeFileSync(page, written(readFileSync(page, "utf8"), rows, verdicts));
console.log(`${page}: ${rows.length} states`);
