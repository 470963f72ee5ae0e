import { expect, test } from "vitest";
import { firstProtocol } from "../../../src/service/postgres/proxy/first-protocol.ts";
import { message } from "../../../src/service/postgres/session/messages.ts";

const user = ["user", "ana"] as const;

test.each<[version: number, names: readonly string[], told: string]>([
  [0x30002, [], "\0\x03\0\0\0\0\0\0"],
  [0x30000, ["_pq_.one", "_pq_.two"], "\0\x03\0\0\0\0\0\x02_pq_.one\0_pq_.two\0"],
  [0x3270f, ["_pq_.one"], "\0\x03\0\0\0\0\0\x01_pq_.one\0"],
])("a client that asks for version %i of the protocol with %j is told what it does not get", (version, names, told) => {
  const asked = new Map([user, ...names.map((name) => [name, "1"] as const)]);
  const given = { version: 0x30000, parameters: new Map([user]), told: message("v", told) };
  expect(firstProtocol(version, asked)).toEqual(given);
});

test("a client that asks for the first version of the protocol is told nothing of it", () => {
  const asked = new Map([user, ["DateStyle", "ISO"] as const]);
  expect(firstProtocol(0x30000, asked)).toEqual({ version: 0x30000, parameters: asked, told: Buffer.alloc(0) });
});
