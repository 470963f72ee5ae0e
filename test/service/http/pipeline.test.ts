import { once } from "node:events";
import { expect, it } from "vitest";
import { ListeningShop } from "../support/listening.ts";
import { Wire } from "../support/wire.ts";

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

it("requests that a client sends ahead are answered one by one, and those of others in between", async () => {
  await using shop = await ListeningShop.start();
  const [ahead, other] = [new Wire(shop), new Wire(shop)];
  await Promise.all([once(ahead.socket, "connect"), once(other.socket, "connect")]);
  ahead.send(get("/healthz").repeat(80));
  other.send(get("/api/v2/auth"));
  await expect.poll(() => ahead.received.split("HTTP/1.1 200").length - 1).toBe(80);
  expect(shop.sent).toHaveLength(81);
  expect(shop.sent.findIndex(({ path }) => path === "/api/v2/auth")).toBeLessThan(79);
  for (const wire of [ahead, other]) wire.socket.destroy();
});

it("a connection with thousands of requests sent ahead is ended, and they are not carried out", async () => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  wire.send(get("/healthz").repeat(5000));
  await wire.ended;
  expect(shop.sent.length).toBeLessThan(102);
});
