import { expect, it } from "vitest";
import { ListeningShop } from "../support/listening.ts";
import { keys, project } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

it("an answer that is cut promises all its bytes, has half of them, and its connection ends", async () => {
  await using shop = await ListeningShop.start();
  const [url, authorization] = [`${shop.baseURL}/projects/${project}`, `Bearer ${keys.ana}`];
  const headers = { authorization, "content-type": "application/json" };
  const body = JSON.stringify({ project: { name: "ä".repeat(60) } });
  await fetch(url, { method: "PATCH", headers, body });
  const whole = (await (await fetch(url, { headers })).bytes()).length;
  shop.core.setFaults([{ method: "GET", route: "*", kind: "cut", count: 1 }]);
  const wire = new Wire(shop);
  const call = `GET ${new URL(url).pathname} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`;
  // A connection that stays would bring the second answer, amid what the first has promised.
  wire.send(call.repeat(2));
  await wire.ended;
  const [head = "", received = ""] = wire.received.split("\r\n\r\n");
  expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBe(whole);
  expect(Buffer.byteLength(received)).toBe(Math.floor(whole / 2));
});
