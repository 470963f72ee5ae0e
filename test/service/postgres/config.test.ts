import { describe, expect, it } from "vitest";
import { configText, limitsOf, sharedBuffersMB } from "../../../src/service/postgres/config.ts";

describe("the settings of a compute", () => {
  it("cannot undo what the service sets, nor add a line", () => {
    const settings = { work_mem: "1MB'\nfsync = 'off", search_path: "a\\b" };
    const limits = limitsOf({ min: 1, max: 1 });
    const text = configText({
      major: 17,
      limits,
      port: 5,
      sockets: "/s",
      temporaryDiskKiB: 64,
      settings,
      logical: false,
      primary: undefined,
    });
    expect(text.split("\n").slice(0, 2)).toEqual(["work_mem = '1MB''\\nfsync = ''off'", "search_path = 'a\\\\b'"]);
    expect(text).toContain("listen_addresses = ''\n");
    expect(text).toContain("temp_file_limit = '64kB'\n");
  });

  it("follow the size: connections and shared buffers", () => {
    expect(limitsOf({ min: 0.25, max: 2 })).toEqual({ maxConnections: 901, maxWorkerProcesses: 16 });
    expect(sharedBuffersMB(limitsOf({ min: 0.25, max: 0.25 }))).toBe(128);
    expect(sharedBuffersMB(limitsOf({ min: 8, max: 8 }))).toBe(909);
  });
});
