import { defineConfig } from "vitest/config";
import { BehaviourReporter } from "./test/support/behaviour-reporter.ts";
import { CountReporter } from "./test/support/count-reporter.ts";

const counts = process.env["COMPUTE_OPERATOR_TEST_COUNTS"];
const controlPlane = { globalSetup: ["test/control-plane/global-setup.ts"], hookTimeout: 120_000 };

/**
 * The name of a file says where it runs. `*.test.ts` needs nothing but Node and `*.cluster.test.ts` the real control
 * plane of test/control-plane: `npm test` runs both. `*.verify.test.ts` takes longer or needs more, and belongs to
 * `npm run verify`, as `*.cluster.verify.test.ts` does. Files on the shared control plane run one at a time, but for
 * those below test/e2e, whose operators watch only their own namespace.
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
          exclude: ["test/**/*.cluster.test.ts", "test/**/*.verify.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...controlPlane,
          name: "cluster",
          include: ["test/**/*.cluster.test.ts"],
          exclude: ["test/e2e/**"],
          testTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...controlPlane,
          name: "e2e",
          include: ["test/e2e/**/*.cluster.test.ts"],
          testTimeout: 180_000,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "verify-unit",
          include: ["test/**/*.verify.test.ts"],
          exclude: ["test/**/*.cluster.verify.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          ...controlPlane,
          name: "verify-cluster",
          include: ["test/**/*.cluster.verify.test.ts"],
          exclude: ["test/e2e/**"],
          testTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...controlPlane,
          name: "verify-e2e",
          include: ["test/e2e/**/*.cluster.verify.test.ts"],
          testTimeout: 180_000,
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
