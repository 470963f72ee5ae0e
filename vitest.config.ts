import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BehaviourReporter } from "./test/support/behaviour-reporter.ts";
import { CountReporter } from "./test/support/count-reporter.ts";
import { LongestFirst } from "./test/support/longest-first.ts";

const counts = process.env["COMPUTE_OPERATOR_TEST_COUNTS"];

/** For so long a file may do nothing new before it is ended: longer than any test of its project may take. */
const mostSilentMs = { test: 900_000, verify: 3_600_000 };

const common = {
  setupFiles: ["test/support/progress-watch/setup.ts"],
  provide: { mostSilentMs: mostSilentMs.test },
  // On a busy machine what a poll waits for takes its time.
  expect: { poll: { timeout: 20_000 } },
  // Hundreds of processes and threads start from the same sources: compiled once, each starts in half its CPU time.
  env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules", ".cache", "compiled") },
};

/** No file leaves anything in a module or in the environment, and to load all again for each takes a minute. */
const inSharedModules = { isolate: false, unstubEnvs: true };

/** Vitest itself leaves a core idle, of two half of them. */
const onAllCores = { ...common, maxWorkers: "100%" };

/** Files share one control plane, each in namespaces of its own, and mostly wait. */
const onControlPlane = {
  ...common,
  globalSetup: ["test/control-plane/global-setup.ts"],
  testTimeout: 300_000,
  hookTimeout: 300_000,
  maxWorkers: 5,
  sequence: { groupOrder: 1 },
};

/**
 * The name of a file says where it runs. `*.test.ts` needs nothing but Node and `*.cluster.test.ts` the real control
 * plane of test/control-plane: `npm test` runs both. `*.verify.test.ts` takes longer or needs more, and belongs to
 * `npm run verify`, as `*.cluster.verify.test.ts` does.
 */
export default defineConfig({
  test: {
    reporters: ["default", ...(counts ? [new CountReporter(counts)] : []), new BehaviourReporter(counts)],
    sequence: { sequencer: LongestFirst },
    maxConcurrency: 60,
    projects: [
      {
        test: {
          ...onAllCores,
          ...inSharedModules,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.cluster.test.ts", "test/**/*.verify.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      { test: { ...onControlPlane, ...inSharedModules, name: "cluster", include: ["test/**/*.cluster.test.ts"] } },
      {
        test: {
          ...onAllCores,
          name: "verify-unit",
          provide: { mostSilentMs: mostSilentMs.verify },
          include: ["test/**/*.verify.test.ts"],
          exclude: ["test/**/*.cluster.verify.test.ts"],
          // Seeds and pairs take minutes on a machine of their own. What hangs is ended all the same.
          testTimeout: 2_700_000,
          // On a new machine a file waits until another has installed its Debian package.
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          ...onControlPlane,
          name: "verify-cluster",
          provide: { mostSilentMs: mostSilentMs.verify },
          include: ["test/**/*.cluster.verify.test.ts"],
        },
      },
    ],
  },
});
