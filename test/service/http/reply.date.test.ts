import { type IncomingMessage, request } from "node:http";
import { expect, it, vi } from "vitest";
import { dated } from "../../../src/service/http/reply.ts";
import { realClock } from "../../support/real-clock.ts";
import { ListeningShop } from "../support/listening.ts";
import { Running } from "../support/running.ts";
import { keys, Shop } from "../support/shop.ts";

const begin = "Thu, 01 Jan 2026 00:00:00 GMT";

it.each([
  ["a success", keys.ana, "GET /projects"],
  ["a refusal", undefined, "GET /projects"],
  ["an unknown route", keys.ana, "GET /nothing"],
  ["an answer without a body", keys.ana, "DELETE /projects/shop-two/endpoints/ep-none"],
])("the Date of %s is the service's time", (_, key, line) => {
  const shop = new Shop();
  expect(shop.send(key, line).headers["date"]).toBe(begin);
  shop.time.pass(86_400_000);
  expect(shop.send(key, line).headers["date"]).toBe("Fri, 02 Jan 2026 00:00:00 GMT");
});

it("the Date that an answer has is kept", () => {
  const reply = { status: 200, headers: { date: begin } };
  expect(dated(reply, Date.UTC(2026, 0, 2))).toEqual(reply);
});

it.each(["423", "503", "html", "fail-operations", "cut"] as const)(
  "the Date is there under the fault %s too",
  (kind) => {
    const shop = new Shop();
    shop.core.setFaults([{ method: "*", route: "*", kind }]);
    const exchange = shop.core.exchange({ method: "GET", path: "/api/v2/auth", headers: {} });
    expect("reply" in exchange && exchange.reply.headers["date"]).toBe(begin);
  },
);

it("the Date is sent over HTTP, and goes with the clock that a test advances", async () => {
  const running = new Running("--port", "0", "--test-controls");
  const url = await running.listening();
  const date = async () => Date.parse((await fetch(`${url}/openapi.json`)).headers.get("date") ?? "");
  const before = await date();
  expect(before).toBe(Math.floor(running.clock.now() / 1000) * 1000);
  const body = JSON.stringify({ seconds: 7200 });
  const advanced = await fetch(url.replace("/api/v2", "/_clock/advance"), { method: "POST", body });
  expect(Date.parse(advanced.headers.get("date") ?? "")).toBe(before + 7_200_000);
  expect(await date()).toBe(before + 7_200_000);
  await running.stop();
});

it.each([
  ["whose body is compressed", "POST", "/api/v2/projects", { "content-encoding": "gzip" }, 415],
  ["whose form is too long", "POST", "/app/sign-in", {}, 413],
  ["for the changes without a session", "GET", "/app/changes", {}, 401],
  ["whose target leads out of its path", "GET", "/api/v2/%2E%2E", {}, 400],
])("the Date of an answer to a call %s is the service's time", async (_, method, path, headers, status) => {
  await using shop = await ListeningShop.start();
  vi.spyOn(shop.core.context, "clock", "get").mockReturnValue({ ...realClock, now: () => Date.parse(begin) });
  const { port } = new URL(shop.baseURL);
  const call = request({ port, method, path, headers: { authorization: `Bearer ${keys.ana}`, ...headers } });
  call.end(method === "POST" ? "x".repeat(20_000) : undefined);
  const answer = await new Promise<IncomingMessage>((resolve) => call.once("response", resolve));
  expect([answer.statusCode, answer.headers.date]).toEqual([status, begin]);
  call.destroy();
});

it("the Date is there too where the answer has to be waited for", async () => {
  const later = Promise.resolve({ status: 200, headers: {}, body: "{}" });
  const reply = dated({ status: 200, headers: {}, later }, Date.UTC(2026, 0, 1));
  expect((await reply.later)?.headers).toEqual({ date: begin });
});

it("the Date is sent once", async () => {
  await using shop = await ListeningShop.start();
  expect((await fetch(`${shop.baseURL}/openapi.json`)).headers.get("date")).toMatch(/^\w{3}, [^,]+ GMT$/);
});
