import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { readBody } from "../../../src/service/http/body.ts";
import type { Holding } from "../../../src/service/sharing/shares.ts";

it("a body whose first piece waits for room is read on once there is room", async () => {
  let asked = 0;
  const nothing = () => {};
  const room = () => Promise.resolve(true);
  const holding: Holding = { take: () => ++asked > 1, room, hold: nothing, moveTo: nothing, release: nothing };
  const incoming = new IncomingMessage(new Socket());
  const body = readBody(incoming, { holding, longest: 100 });
  for (const piece of ["on", "e and ", "two", null]) incoming.push(piece === null ? null : Buffer.from(piece));
  expect(await body).toBe("one and two");
});
