import { expect, it, vi } from "vitest";
import { Sessions } from "../../../../src/service/postgres/fleet/sessions.ts";
import { withProcesses } from "../../../../src/service/postgres/fleet/with-processes.ts";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { limitsOf } from "../../../../src/service/postgres/server/config.ts";
import { PostgresServer } from "../../../../src/service/postgres/server/server.ts";
import { Shares } from "../../../../src/service/sharing/shares.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { Shop, primary as shopPrimary } from "../../support/shop.ts";
import { ServiceOnFakes } from "../fake/fake-service.ts";
import { main, primary, project, seed } from "../rig.ts";

const system = systemProcesses({ pid: process.pid, uid: process.getuid?.() ?? 0, node: process.execPath });

const path = (id: string) => `/projects/${project}/endpoints/${id}`;

/** What became of the start of a compute: its operation's status, and the reason where it failed. */
async function start(fakes: ServiceOnFakes, id: string): Promise<unknown[]> {
  const [operation] = await fakes.change(`POST ${path(id)}/start`);
  return [operation?.status, operation?.error];
}

it("the servers of an owner have one share of the processes, and give them back at every end", async () => {
  const fakes = new ServiceOnFakes();
  // A server of at most one unit may have 24 processes; an owner alone gets half of all.
  fakes.machine.most = 2 * (24 + 23);
  await fakes.start(seed);
  try {
    const replica = await fakes.endpoint({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 1 });
    await fakes.change(`POST ${path(replica)}/suspend`);
    expect(await start(fakes, primary)).toEqual(["finished", undefined]);
    expect(await start(fakes, replica)).toEqual(["failed", expect.stringContaining("suspend another compute")]);
    await fakes.change(`POST ${path(primary)}/suspend`);
    fakes.machine.complaint = "FATAL:  no";
    expect(await start(fakes, replica)).toEqual(["failed", expect.stringContaining("the server did not start: no")]);
    expect(await start(fakes, replica)).toEqual(["finished", undefined]);
  } finally {
    await fakes[Symbol.asyncDispose]();
  }
});

it("sessions without a client, as PgBouncer leaves them, count in the share of their owner for as long as they are there", async () => {
  const fakes = new ServiceOnFakes();
  fakes.machine.most = 2 * (24 + 24);
  await fakes.start(seed);
  try {
    const replica = await fakes.endpoint({ branch_id: main, type: "read_only", autoscaling_limit_max_cu: 1 });
    await fakes.change(`POST ${path(replica)}/suspend`);
    expect(await start(fakes, primary)).toEqual(["finished", undefined]);
    fakes.machine.number = 24 + 1;
    fakes.clock.advance(1000);
    await fakes.clock.looks();
    expect(await start(fakes, replica)).toEqual(["failed", expect.stringContaining("suspend another compute")]);
    fakes.machine.number = 24;
    fakes.clock.advance(1000);
    await fakes.clock.looks();
    expect(await start(fakes, replica)).toEqual(["finished", undefined]);
  } finally {
    await fakes[Symbol.asyncDispose]();
  }
});

it("the processes of a server are in the share of the new owner of its project, and no more in that of the former one", async () => {
  const fakes = new ServiceOnFakes();
  fakes.machine.most = 2 * (24 + 23);
  const branches = [{ id: "br-second", name: "main", default: true, roles: ["app"] }];
  const endpoints = [{ id: "ep-second", branchID: "br-second", type: "read_write", autoscaling_limit_max_cu: 1 }];
  const organization = { id: "org-a", plan: "scale", members: [{ account: "acc-ana", role: "admin" }] };
  const second = { id: "second", owner: "acc-ana", branches, endpoints };
  await fakes.start({ ...seed, organizations: [organization], projects: [...seed.projects, second] });
  const startSecond = async () => {
    await fakes.send("POST /projects/second/endpoints/ep-second/start");
    const last = () => fakes.store.operations.page("second", { beforeSeq: undefined, limit: 1 })[0];
    await fakes.until(() => ["finished", "failed"].includes(last()?.status ?? ""));
    return last()?.status;
  };
  try {
    expect([await start(fakes, primary), await startSecond()]).toEqual([["finished", undefined], "failed"]);
    await fakes.send("POST /users/me/projects/transfer", { destination_org_id: "org-a", project_ids: [project] });
    fakes.machine.number = 24;
    fakes.clock.advance(1000);
    await fakes.clock.looks();
    expect(await startSecond()).toBe("finished");
  } finally {
    await fakes[Symbol.asyncDispose]();
  }
});

it("the processes of servers are not counted where the system sets no limit", async () => {
  const fakes = new ServiceOnFakes();
  const counted = vi.spyOn(fakes.machine, "numberAt");
  await fakes.start(seed);
  try {
    expect(await start(fakes, primary)).toEqual(["finished", undefined]);
    fakes.clock.advance(1000);
    await fakes.clock.looks();
    expect(counted).not.toHaveBeenCalled();
  } finally {
    await fakes[Symbol.asyncDispose]();
  }
});

it("the processes of a server are counted every second until it ends, and no more after that", async () => {
  const fakes = new ServiceOnFakes();
  fakes.machine.most = 1000;
  const counted = vi.spyOn(fakes.machine, "numberAt");
  await fakes.start(seed);
  try {
    expect(await start(fakes, primary)).toEqual(["finished", undefined]);
    const second = async () => {
      fakes.clock.advance(1000);
      await fakes.clock.looks();
      return counted.mock.calls.length;
    };
    expect([await second(), await second()]).toEqual([1, 2]);
    await fakes.change(`POST ${path(primary)}/suspend`);
    expect([await second(), await second()]).toEqual([2, 2]);
  } finally {
    await fakes[Symbol.asyncDispose]();
  }
});

/** Starts a server with a share of its own; `ended` at once, and `counted` as often as its processes are. */
async function alone(counted: () => Promise<number>, ended: Promise<null> = new Promise(() => {})) {
  const [clock, processShares] = [new VirtualClock(), new Shares(1000)];
  const config = {
    major: 17,
    limits: limitsOf({ min: 0.25, max: 1 }),
    sockets: "/sockets",
    temporaryDiskKiB: undefined,
    settings: {},
    logical: false,
    primary: undefined,
  };
  const processes = { ...system, most: 1000, numberAt: counted };
  const ports = {
    clients: new Sessions(),
    clock,
    processes,
    processShares,
    report: () => {},
    store: new Shop().core.context.store,
  };
  const server = new PostgresServer({ ended, stop: () => {} });
  await Promise.resolve();
  const launch = () => Promise.resolve(server);
  const { expectClient } = await withProcesses(ports, { endpointId: shopPrimary, data: "/data", config }, launch);
  return { clock, clients: ports.clients, expectClient, server, held: () => processShares.all };
}

it("a server that has ended before anybody followed it has given its processes back, and is not counted", async () => {
  const { clock, held, server } = await alone(() => Promise.resolve(0), Promise.resolve(null));
  expect([server.running, held(), clock.pending]).toEqual([false, 0, 0]);
});

it("a count of processes that comes after the end of their server takes none of the share", async () => {
  const [count, end] = [Promise.withResolvers<number>(), Promise.withResolvers<null>()];
  const { clock, held, server } = await alone(() => count.promise, end.promise);
  await clock.advance(1000);
  end.resolve(null);
  await server.ended;
  count.resolve(100);
  await clock.advance(1);
  expect(held()).toBe(0);
});

it("a process that PgBouncer has kept is counted once, as that of the next client", async () => {
  const { clients, clock, expectClient, held } = await alone(() => Promise.resolve(30));
  await clock.advance(1000);
  const before = held();
  expectClient();
  expect([before, held()]).toEqual([30, 29]);
  for (const pooled of [true, false])
    clients.open({ endpointId: shopPrimary, pooled, counts: true, logout: new AbortController() });
  await clock.advance(1000);
  expect(held()).toBe(28);
});
