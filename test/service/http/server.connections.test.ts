import { once } from "node:events";
import { connect, Socket } from "node:net";
import { expect, it, vi } from "vitest";
import { Shares } from "../../../src/service/http/shares.ts";
import { ListeningShop } from "../support/listening.ts";

/** Asks for the service's health on a connection of its own, which stays open; true if there is an answer. */
async function asked({ baseURL }: ListeningShop, localAddress: string): Promise<{ socket: Socket; served: boolean }> {
  const { hostname, port } = new URL(baseURL);
  const socket = connect({ host: hostname, port: Number(port), localAddress }).on("error", () => {});
  socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const served = await Promise.race([
    once(socket, "data").then(([data]) => String(data).startsWith("HTTP/1.1 200 ")),
    once(socket, "close").then(() => false),
  ]);
  return { socket, served };
}

it("an address has its share of connections, others have theirs, and one that ends makes room for another", async () => {
  await using shop = await ListeningShop.start({}, { connections: new Shares(7) });
  const all = [];
  for (const last of [1, 1, 1, 1, 2]) all.push(await asked(shop, `127.0.0.${last}`));
  expect(all.map(({ served }) => served)).toEqual([true, true, true, false, true]);
  all[0]?.socket.destroy();
  await expect.poll(async () => (await asked(shop, "127.0.0.1")).served).toBe(true);
});

it("asks the system to notice clients that are gone without a word", async () => {
  const asks = vi.spyOn(Socket.prototype, "setKeepAlive");
  await using shop = await ListeningShop.start();
  const { socket } = await asked(shop, "127.0.0.1");
  expect(asks).toHaveBeenCalledWith(true, 60_000);
  socket.destroy();
  asks.mockRestore();
});
