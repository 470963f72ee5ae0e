import { expect, test } from "vitest";
import type { Logger } from "../../../src/operator/runtime/log.ts";
import { unattended, unlessStopped } from "../../../src/operator/runtime/unattended.ts";
import { silentLogger } from "../../support/silent-logger.ts";

test("work that nobody awaits reports a defect once, and its end by the abort not at all", async () => {
  const stop = new AbortController();
  const { signal } = stop;
  const lines: unknown[] = [];
  const log: Logger = { ...silentLogger, error: (fields, message) => void lines.push([fields, message]) };
  const error = new TypeError("a defect");
  await unattended(Promise.resolve(), { signal, log }, "no");
  await unattended(Promise.reject(error), { signal, log }, "ended by a defect");
  stop.abort();
  await unattended(Promise.reject(error), { signal, log }, "no");
  expect(lines).toEqual([[{ error }, "ended by a defect"]]);
});

test("only the abort of the signal explains a rejection", () => {
  const stop = new AbortController();
  const handle = unlessStopped(stop.signal);
  expect(() => handle(new Error("a defect"))).toThrow("a defect");
  stop.abort();
  expect(() => handle(new Error("aborted"))).not.toThrow();
});
