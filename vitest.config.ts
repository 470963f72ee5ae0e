import { defineConfig } from "vitest/config";
import { BehaviourReporter } from "./test/support/behaviour-reporter.ts";
import { CountReporter } from "./test/support/count-reporter.ts";

const counts = process.env["COMPUTE_OPERATOR_TEST_COUNTS"];

/**
 * `unit` needs nothing but Node; `browser` a Chromium (test/service/console/chromium.ts); `cluster` runs on the real
 * control plane of test/control-plane, one file at a time; so does `e2e`, whose processes mostly wait, three at a time.
 */
export default defineConfig({
  test: {
    reporters: ["default", new BehaviourReporter(), ...(counts ? [new CountReporter(counts)] : [])],
    maxConcurrency: 60,
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.cluster.test.ts", "test/**/*.browser.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      { test: { name: "browser", include: ["test/**/*.browser.test.ts"], testTimeout: 300_000 } },
      {
        test: {
          name: "cluster",
          include: ["test/**/*.cluster.test.ts"],
          exclude: ["test/e2e/**"],
          globalSetup: ["test/control-plane/global-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.cluster.test.ts"],
          globalSetup: ["test/control-plane/global-setup.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
