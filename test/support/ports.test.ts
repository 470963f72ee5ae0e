import { mkdtempSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { claimPort, freePorts } from "./ports.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "compute-operator-claims-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

it("gives a port to one test until five minutes have passed, although nothing listens there", () => {
  expect(claimPort(15_000, directory)).toBe(true);
  expect(claimPort(15_000, directory)).toBe(false);
  expect(claimPort(15_001, directory)).toBe(true);
  const before = (seconds: number) => Date.now() / 1000 - seconds;
  utimesSync(join(directory, "15000"), before(290), before(290));
  expect(claimPort(15_000, directory)).toBe(false);
  utimesSync(join(directory, "15000"), before(310), before(310));
  expect(claimPort(15_000, directory)).toBe(true);
  expect(claimPort(15_000, directory)).toBe(false);
});

it("gives only ports that it has taken for the caller", async () => {
  const ports = await freePorts(3);
  expect(new Set(ports).size).toBe(3);
  expect(ports.map((port) => claimPort(port))).toEqual([false, false, false]);
});
