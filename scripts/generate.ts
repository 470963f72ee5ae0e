// `npm run generate` writes every file that is worked out from another; a test fails while one of them differs. What
// takes a run is written by name.
import { writeFileSync } from "node:fs";
import { flagsOf, partsOf } from "../test/support/flags.ts";
import { runNamed } from "../test/support/subcommand.ts";
import { generatedFiles } from "./generated-files.ts";

const usage = `Usage: npm run generate [-- NAME]

Writes every file that is worked out from another.

  NAME   health or gitops, which need Go; console or dashboard, which need a Chromium`;

await runNamed(
  {
    health: () => import("../test/gitops/health/main.ts"),
    gitops: () => import("../test/gitops/loop/main.ts"),
    console: () => import("../test/service/console/screenshots.ts"),
    dashboard: () => import("../test/deploy/monitoring/picture.ts"),
  },
  async () => {
    partsOf(usage, flagsOf(usage, { options: {}, allowPositionals: true }).positionals, []);
    for (const [path, content] of await generatedFiles()) writeFileSync(path, content);
  },
);
