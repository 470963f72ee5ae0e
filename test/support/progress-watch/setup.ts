// A setup file of every project: tells a thread of this process what the file under test does. Where that does nothing
// new for too long, the thread names it and ends the process. Vitest's own time limits are timers of the thread that
// runs the tests: they end no loop there that never lets go, and no import that never ends.
import { relative } from "node:path";
import { afterAll, afterEach, beforeEach, expect } from "vitest";
import { tell } from "./watch.ts";

const file = relative(process.cwd(), expect.getState().testPath ?? "");
tell({ file });
beforeEach(({ task }) => tell({ file, test: task.name }));
afterEach(() => tell({ file }));
afterAll(() => tell(undefined));
