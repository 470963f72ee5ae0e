import { expect, test } from "vitest";
import { key } from "../../support/scripted-service.ts";
import type { HostileServer } from "../kube/hostile-server.ts";
import { type HostileService, useHostileService } from "./hostile-service.ts";

let server: HostileServer;
let transport: HostileService["transport"];
let baseURL: string;

useHostileService(
  () => Date.UTC(2026, 0, 1),
  (service) => {
    ({ server, transport, baseURL } = service);
  },
);

/** The time that an answer with these headers shows. */
async function timeShown(headers: Record<string, string | string[]>): Promise<number | undefined> {
  server.behaviour = (_, response) => {
    response.sendDate = false;
    response.writeHead(200, headers);
    response.end("{}");
  };
  const request = { method: "GET", baseURL, path: "/projects", key, maxBytes: 1000 } as const;
  const { signal } = new AbortController();
  return (await transport.send(request, { signal, timeoutMs: 30_000 })).dateMs;
}

test("the time of the service is the Date of its answer", async () => {
  expect(await timeShown({ date: "Fri, 27 Nov 2026 22:30:00 GMT" })).toBe(Date.UTC(2026, 10, 27, 22, 30));
});

test("an answer without a Date shows no time", async () => {
  expect(await timeShown({})).toBeUndefined();
});

test.each([
  "0",
  "7",
  "1795818600",
  "2026-11-27",
  "tomorrow",
  "",
  "Fri, 99 Nov 2026 22:30:00 GMT",
  "Fri, 27 Nov 2026 22:30:00 +0500",
])("a Date of %j shows no time", async (date) => {
  expect(await timeShown({ date })).toBeUndefined();
});

test("two Dates in one answer show no time", async () => {
  expect(await timeShown({ date: ["Fri, 27 Nov 2026 22:30:00 GMT", "Fri, 27 Nov 2026 10:30:00 GMT"] })).toBeUndefined();
});
