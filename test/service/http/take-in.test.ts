import { Socket } from "node:net";
import { expect, it } from "vitest";
import { Shares } from "../../../src/service/http/shares.ts";
import { takeIn } from "../../../src/service/http/take-in.ts";

function from(address: string): Socket {
  return Object.defineProperty(new Socket(), "remoteAddress", { value: address });
}

it("connections from all addresses of one network share its part, and each gives it back at its end", async () => {
  const connections = new Shares(4);
  const [first, second] = [from("2001:db8::1"), from("2001:db8::2")];
  const third = from("2001:db8::3");
  for (const socket of [first, second]) expect(takeIn(socket, connections)).toBeDefined();
  expect([takeIn(third, connections), third.destroyed, first.destroyed]).toEqual([undefined, true, false]);
  const other = from("2001:db8:0:1::1");
  expect([takeIn(other, connections) === undefined, connections.all]).toEqual([false, 3]);
  for (const socket of [first, second, other]) socket.destroy();
  await expect.poll(() => connections.all).toBe(0);
});
