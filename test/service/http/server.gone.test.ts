import { once } from "node:events";
import { expect, it, vi } from "vitest";
import type { SqlAccess, SqlCall } from "../../../src/service/http/sql-access.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, project } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

const nothing = () => Promise.reject(new Error("not asked"));

function sqlAccess(parts: Partial<SqlAccess>): SqlAccess {
  return { answer: nothing, refresh: () => Promise.resolve(), upgrade: () => {}, ...parts };
}

it("the body of a client that leaves before it is read is not waited for, and its end is no error of the service's", async () => {
  const asked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<unknown>();
  const answer = async (call: SqlCall) => {
    asked.resolve();
    await once(call.gone, "abort");
    const text = call.body({ longest: 10 });
    text.then(ended.resolve, ended.resolve);
    return { status: 200, headers: {}, body: await text };
  };
  await using shop = await ListeningShop.start({}, {}, sqlAccess({ answer }));
  const internalError = vi.spyOn(shop.core, "internalError");
  const wire = new Wire(shop);
  wire.send("POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  await asked.promise;
  wire.socket.destroy();
  expect(await ended.promise).toBeInstanceOf(Error);
  await new Promise((resolve) => setImmediate(resolve));
  expect(internalError).not.toHaveBeenCalled();
});

it("a stream for a client that has left by then is closed at once", async () => {
  const asked = Promise.withResolvers<void>();
  const fresh = Promise.withResolvers<void>();
  const refresh = () => {
    asked.resolve();
    return fresh.promise;
  };
  await using shop = await ListeningShop.start({}, {}, sqlAccess({ refresh }));
  const close = vi.fn<() => void>();
  const wire = new Wire(shop);
  wire.send(
    `GET /api/v2/projects/${project}/endpoints HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys.ana}\r\n\r\n`,
  );
  await asked.promise;
  wire.socket.destroy();
  // The service sees the end no later than what comes after it.
  for (let count = 0; count < 3; count += 1) await fetch(new URL("/healthz", shop.baseURL));
  vi.spyOn(shop.core, "exchange").mockReturnValueOnce({ kind: "stream", open: () => close, delayMs: 0 });
  fresh.resolve();
  await expect.poll(() => close.mock.calls.length).toBe(1);
});

it("a call whose client left while the servers were asked what it needs is carried out as one of nobody", async () => {
  const asked = Promise.withResolvers<void>();
  const fresh = Promise.withResolvers<void>();
  const refresh = () => {
    asked.resolve();
    return fresh.promise;
  };
  await using shop = await ListeningShop.start({}, {}, sqlAccess({ refresh }));
  const exchange = vi.spyOn(shop.core, "exchange");
  const wire = new Wire(shop);
  wire.send(
    `GET /api/v2/projects/${project}/endpoints HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys.ana}\r\n\r\n`,
  );
  await asked.promise;
  wire.socket.destroy();
  // The service sees the end no later than what comes after it.
  for (let count = 0; count < 3; count += 1) await fetch(new URL("/healthz", shop.baseURL));
  fresh.resolve();
  await expect
    .poll(() => exchange.mock.calls.at(-1)?.[0])
    .toMatchObject({ path: `/api/v2/projects/${project}/endpoints` });
  expect(exchange.mock.calls.at(-1)?.[0].gone?.aborted).toBe(true);
});

it("a stream that fails after its head is cut off, and the service goes on", async () => {
  await using shop = await ListeningShop.start();
  const mistake = new Error("a mistake");
  const internalError = vi.spyOn(shop.core, "internalError");
  const open = () => {
    throw mistake;
  };
  vi.spyOn(shop.core, "exchange").mockReturnValueOnce({ kind: "stream", open, delayMs: 0 });
  const wire = new Wire(shop);
  wire.send("GET /changes HTTP/1.1\r\nHost: localhost\r\n\r\n");
  await once(wire.socket, "close");
  expect((await fetch(new URL("/healthz", shop.baseURL))).status).toBe(200);
  expect(internalError.mock.calls).toEqual([[mistake]]);
});

it("a mistake of ours before a call is carried out is reported, and its client is answered", async () => {
  const mistake = new Error("a mistake");
  await using shop = await ListeningShop.start({}, {}, sqlAccess({ refresh: () => Promise.reject(mistake) }));
  const internalError = vi.spyOn(shop.core, "internalError");
  const headers = { authorization: `Bearer ${keys.ana}` };
  const answer = await fetch(new URL(`/api/v2/projects/${project}/endpoints`, shop.baseURL), { headers });
  expect([answer.status, internalError.mock.calls]).toEqual([500, [[mistake]]]);
});
