// `npm run generate` writes every file that is worked out from another; a test fails while one of them differs. What
// takes a run is written by name: `-- health` and `-- gitops` need Go, `-- console` and `-- dashboard` a Chromium.
import { writeFileSync } from "node:fs";
import { runNamed } from "../test/support/subcommand.ts";
import { generatedFiles } from "./generated-files.ts";

await runNamed(
  {
    health: () => import("../test/gitops/health/main.ts"),
    gitops: () => import("../test/gitops/loop/main.ts"),
    console: () => import("../test/service/console/screenshots.ts"),
    dashboard: () => import("../test/deploy/monitoring/picture.ts"),
  },
  async () => {
    const [, , unknown] = process.argv;
    if (unknown !== undefined) {
      console.error(
        `There is no ${unknown} to generate: health, gitops, console, dashboard, or without a name the rest.`,
      );
      process.exit(1);
    }
    for (const [path, content] of await generatedFiles()) writeFileSync(path, content);
  },
);
