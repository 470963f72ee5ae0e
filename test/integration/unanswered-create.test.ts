import { expect, it } from "vitest";
import { NoResponseError } from "../../src/operator/service-client/transport.ts";
import { SmallWorld } from "./support/small-world.ts";

it.each<["read_write" | "read_only", number]>([
  ["read_write", 12],
  ["read_only", 5],
])(
  "a create of a %s endpoint that never gets an answer is sent %i times in five minutes at most",
  async (type, most) => {
    await using world = new SmallWorld(["br-0-a"], 1);
    let sent = 0;
    world.host.instead = ({ method, path }) => {
      if (method !== "POST" || !path.endsWith("/endpoints")) return undefined;
      sent += 1;
      throw new NoResponseError("ECONNRESET: the connection was cut");
    };
    world.declare(0, { projectID: "shop", branchID: "br-0-a", type });
    await world.clock.advance(300_000);
    expect(sent).toBeGreaterThan(1);
    expect(sent).toBeLessThanOrEqual(most);
  },
);
