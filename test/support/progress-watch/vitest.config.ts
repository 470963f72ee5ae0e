import { join } from "node:path";
import { defineConfig } from "vitest/config";

/** The files here, of which some never end: progress-watch.test.ts runs them. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    include: ["*.stuck.ts"],
    isolate: false,
    testTimeout: 1000,
    setupFiles: [join(import.meta.dirname, "setup.ts")],
    provide: { mostSilentMs: 5000 },
  },
});
