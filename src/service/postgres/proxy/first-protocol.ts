import { message, type Parameters } from "../session/messages.ts";

const firstVersion = 0x30000;

/**
 * The first version of the protocol, in place of a newer one that a client asks for: its parameters without those of
 * newer ones, and what tells the client so. PgBouncer before 1.23 refuses one that asks for more.
 */
export function firstProtocol(version: number, parameters: Parameters) {
  const newer = [...parameters.keys()].filter((name) => name.startsWith("_pq_."));
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(firstVersion, 0);
  numbers.writeUInt32BE(newer.length, 4);
  const names = Buffer.from(newer.map((name) => `${name}\0`).join(""));
  const isFirst = version === firstVersion && newer.length === 0;
  return {
    version: firstVersion,
    parameters: new Map([...parameters].filter(([name]) => !newer.includes(name))),
    told: isFirst ? Buffer.alloc(0) : message("v", Buffer.concat([numbers, names])),
  };
}
