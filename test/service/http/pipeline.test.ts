import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import type { ServiceReply } from "../../../src/service/http/message.ts";
import type { SqlAccess } from "../../../src/service/http/sql-access.ts";
import { ListeningShop } from "../support/listening.ts";
import { Wire } from "../support/wire.ts";

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

const noSql: SqlAccess = {
  answer: () => Promise.reject(new Error("not asked")),
  refresh: () => Promise.resolve(),
  upgrade: () => {},
};

it("requests that a client sends ahead are answered one by one, and those of others in between", async () => {
  await using shop = await ListeningShop.start();
  const [ahead, other] = [new Wire(shop), new Wire(shop)];
  await Promise.all([once(ahead.socket, "connect"), once(other.socket, "connect")]);
  ahead.send(get("/healthz").repeat(20));
  other.send(get("/api/v2/auth"));
  await expect.poll(() => ahead.received.split("HTTP/1.1 200").length - 1).toBe(20);
  expect(shop.sent).toHaveLength(21);
  expect(shop.sent.findIndex(({ path }) => path === "/api/v2/auth")).toBeLessThan(19);
  for (const wire of [ahead, other]) wire.socket.destroy();
});

it("requests with long headers stay with their client until those before them are answered", async () => {
  const answered = Promise.withResolvers<ServiceReply>();
  await using shop = await ListeningShop.start({}, {}, { ...noSql, answer: () => answered.promise });
  const wire = new Wire(shop);
  wire.send("POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  const long = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(15_000)}\r\n\r\n`;
  wire.send(long.repeat(100));
  await sleep(300);
  expect(wire.socket.destroyed).toBe(false);
  answered.resolve({ status: 200, headers: {} });
  await expect.poll(() => wire.received.split("HTTP/1.1 200").length - 1).toBe(101);
  wire.socket.destroy();
});

it("a connection with thousands of requests sent ahead is ended, and they are not carried out", async () => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  wire.send(get("/healthz").repeat(5000));
  await wire.ended;
  expect(shop.sent.length).toBeLessThan(22);
});
