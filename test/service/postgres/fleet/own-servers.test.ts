import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OwnServers } from "../../../../src/service/postgres/fleet/own-servers.ts";
import { GuardedProgram } from "../../../../src/service/postgres/host/guarded-program.ts";
import { Shares } from "../../../../src/service/sharing/shares.ts";
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

/** The service's own servers, each of which writes a log and ends as it is stopped; `onLaunch` is told of each. */
function serving(
  ends: AbortSignal,
  onLaunch: () => GuardedProgram | undefined = () => undefined,
  processShares = new Shares(Number.POSITIVE_INFINITY),
) {
  const [counts, owners] = [{ starts: 0, stops: 0 }, new Map([["p-one", { owner: { id: "ana" } }]])];
  const launch = async ({ logFile }: { logFile: string }) => {
    writeFileSync(logFile, "");
    counts.starts += 1;
    const launched = onLaunch();
    if (launched) return Object.assign(launched, JSON.parse("{}"));
    const followers: (() => void)[] = [];
    const stop = () => {
      counts.stops += 1;
      for (const follower of followers) follower();
      return Promise.resolve();
    };
    return Object.assign(JSON.parse("{}"), { stop, onEnd: (one: () => void) => followers.push(one) });
  };
  const home = { making: (name: string) => join(directory.path, name) };
  const store = {
    branches: { byId: (id: string) => (id === "br-gone" ? undefined : { projectId: id.slice(3) }) },
    projects: { get: (id: string) => owners.get(id) ?? { owner: { id: "bob" } } },
  };
  const ports = Object.assign(JSON.parse("{}"), { ends, home, processShares, store, sockets: { of: () => "sockets" } });
  return {
    own: new OwnServers(ports, launch),
    log: home.making(`${directory.path.split("/").at(-1)}.log`),
    counts,
  };
}

it("a server of the service's own that is up as the service ends is stopped, and its log goes with it", async () => {
  const ends = new AbortController();
  const { own, log, counts } = serving(ends.signal, () => {
    ends.abort();
    return undefined;
  });
  await expect(own.serve(directory.path, edition)).rejects.toThrow("the service ends");
  expect([counts, existsSync(log), own.logs]).toEqual([{ starts: 1, stops: 1 }, false, []]);
});

it("the log of a server of the service's own is kept small until that server ends, and goes with it", async () => {
  const { own, log, counts } = serving(new AbortController().signal);
  const server = await own.serve(directory.path, edition);
  expect([existsSync(log), own.logs]).toEqual([true, [log]]);
  await server.stop();
  expect([counts, existsSync(log), own.logs]).toEqual([{ starts: 1, stops: 1 }, false, []]);
});

it("no more than four servers on idle data run for an owner at once, and none begins as the service ends", async () => {
  const ends = new AbortController();
  const { own, counts } = serving(ends.signal);
  const begun: (() => void)[] = [];
  const serve = (branchId: string, generation: number) => {
    const data = join(directory.path, `${branchId}.${generation}`);
    mkdirSync(data);
    for (const part of ["pg_twophase", "global"]) symlinkSync(join(directory.path, part), join(data, part));
    return own.serving(data, edition, () => new Promise<void>((resolve) => begun.push(resolve)));
  };
  const ofOne = [1, 2, 3, 4, 5, 6].map((generation) => serve("br-p-one", generation));
  await expect.poll(() => begun.length).toBe(4);
  // Another owner's does not wait, nor does one of a branch that is gone by now.
  const others = ["br-p-two", "br-gone"].map((branchId) => serve(branchId, 1));
  await expect.poll(() => begun.length).toBe(6);
  expect(counts).toEqual({ starts: 6, stops: 0 });
  begun[0]?.();
  await expect.poll(() => begun.length).toBe(7);
  ends.abort();
  for (const end of begun) end();
  await Promise.all([...ofOne.slice(0, 5), ...others, expect(ofOne[5]).rejects.toThrow("the service ends")]);
  expect([counts, own.logs]).toEqual([{ starts: 7, stops: 7 }, []]);
});

it("no server on idle data starts for a client that has left by its turn", async () => {
  const { own, counts } = serving(new AbortController().signal);
  const serve = own.serving(directory.path, edition, () => Promise.resolve(), AbortSignal.abort());
  await expect(serve).rejects.toThrow("the client has left");
  expect(counts).toEqual({ starts: 0, stops: 0 });
});

it("the processes of a server of the service's own are of its owner's share until it ends, and without room none starts", async () => {
  const budget = new Shares(100);
  let fails = false;
  const onLaunch = () => {
    if (fails) throw new Error("it does not start");
    return undefined;
  };
  const { own, counts } = serving(new AbortController().signal, onLaunch, budget);
  const server = await own.serve(directory.path, edition);
  const [each, holders] = [budget.all, budget.holders];
  expect([each > 7, holders]).toEqual([true, 1]);
  const other = await own.serve(directory.path, edition);
  expect(budget.all).toBe(2 * each);
  await expect(own.serve(directory.path, edition)).rejects.toThrow("have their share of the processes of this machine");
  for (const running of [server, other]) await running.stop();
  fails = true;
  await expect(own.serve(directory.path, edition)).rejects.toThrow("it does not start");
  expect([budget.all, counts]).toEqual([0, { starts: 3, stops: 2 }]);
});

it("a server of the service's own that has ended by the time it is up keeps no processes of its owner's share", async () => {
  const budget = new Shares(100);
  const ended = new GuardedProgram({ ended: Promise.resolve(null), stop: () => {} });
  await ended.ended;
  const { own } = serving(new AbortController().signal, () => ended, budget);
  await own.serve(directory.path, edition);
  expect([budget.all, own.logs]).toEqual([0, []]);
});
