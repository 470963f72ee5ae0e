import { defineConfig } from "vitest/config";

/** `unit` needs nothing but Node; `cluster` runs on the real control plane of test/control-plane. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.cluster.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "cluster",
          include: ["test/**/*.cluster.test.ts"],
          globalSetup: ["test/control-plane/global-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
