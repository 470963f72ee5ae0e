import { expect, it, vi } from "vitest";
import { ServiceOnFakes } from "../fake/fake-service.ts";
import { main, primary, project, seed } from "../rig.ts";

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
