import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OwnServers } from "../../../../src/service/postgres/fleet/own-servers.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

const edition = { major: 17, postgres: "postgres", template: "template" };

let directory: ReturnType<typeof temporaryDirectory>;
beforeEach(() => {
  directory = temporaryDirectory("own-servers");
  for (const part of ["pg_twophase", "global"]) mkdirSync(join(directory.path, part));
  // Shut down in order, as the fifth word says.
  writeFileSync(join(directory.path, "global", "pg_control"), Buffer.from(new Uint32Array([0, 0, 0, 0, 1]).buffer));
});
afterEach(() => directory.remove());

/** The service's own servers, each of which writes a log and ends as it is stopped. */
function serving(ends: AbortSignal) {
  let stops = 0;
  const launch = ({ logFile }: { logFile: string }) => {
    writeFileSync(logFile, "");
    const followers: (() => void)[] = [];
    const stop = () => {
      stops += 1;
      for (const follower of followers) follower();
      return Promise.resolve();
    };
    return Promise.resolve(Object.assign(JSON.parse("{}"), { stop, onEnd: (one: () => void) => followers.push(one) }));
  };
  const home = { making: (name: string) => join(directory.path, name) };
  const ports = Object.assign(JSON.parse("{}"), { ends, home, sockets: { of: () => "sockets" } });
  return {
    own: new OwnServers(ports, launch),
    log: home.making(`${directory.path.split("/").at(-1)}.log`),
    stops: () => stops,
  };
}

it("a server of the service's own that is up as the service ends is stopped, and its log goes with it", async () => {
  const { own, log, stops } = serving(AbortSignal.abort());
  await expect(own.serve(directory.path, edition)).rejects.toThrow("the service ends");
  expect([stops(), existsSync(log), own.logs]).toEqual([1, false, []]);
});

it("the log of a server of the service's own is kept small until that server ends, and goes with it", async () => {
  const { own, log, stops } = serving(new AbortController().signal);
  const server = await own.serve(directory.path, edition);
  expect([existsSync(log), own.logs]).toEqual([true, [log]]);
  await server.stop();
  expect([stops(), existsSync(log), own.logs]).toEqual([1, false, []]);
});
