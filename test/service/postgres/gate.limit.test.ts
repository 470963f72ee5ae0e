import { beforeEach, expect, it, vi } from "vitest";
import { mostClients } from "../../../src/service/computes/connect.ts";
import type { Running } from "../../../src/service/postgres/fleet/fleet-ports.ts";
import { Sessions } from "../../../src/service/postgres/fleet/sessions.ts";
import { Gate } from "../../../src/service/postgres/gate.ts";
import { required, StoreFull } from "../../../src/service/refusal.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { preview, primary, project, Shop } from "../support/shop.ts";

const running: Running = JSON.parse('{"config": {"sockets": "/s"}}');

let shop: Shop;
let sessions: Sessions;
let gate: Gate;
beforeEach(() => {
  shop = new Shop();
  sessions = new Sessions();
  shop.active();
  const { core } = shop;
  const service = {
    context: core.context,
    change: core.change.bind(core),
    onChange: core.onChange.bind(core),
    report: (error: unknown) => core.report(error),
  };
  gate = new Gate(service, {
    fleet: { serverOf: () => running },
    poolers: undefined,
    processShares: new Shares(Number.POSITIVE_INFINITY),
    sessions,
    verifiers: { of: () => Promise.reject(new Error("not asked")), ask: () => Promise.resolve([]) },
    clients: new Shares(Number.POSITIVE_INFINITY),
  });
});

const compute = () => required("endpoint", shop.core.context.store.endpoints.byId(primary));
const turn = () => new Promise((resolve) => setImmediate(resolve));

it.each([false, true])(
  "a compute takes as many clients as it has connections, and no other one; pooled: %s",
  async (pooled) => {
    const limit = mostClients(shop.core.context, compute(), pooled);
    for (let count = 1; count < limit; count += 1)
      sessions.open({ endpointId: primary, pooled, counts: true, logout: new AbortController() });
    const [last, beyond] = await Promise.all([1, 2].map(() => gate.admit({ endpointId: primary, pooled })));
    last?.enter();
    expect(() => beyond?.enter()).toThrow(
      `sorry, too many clients already: compute ${primary} takes ${limit} connections`,
    );
  },
);

it("a client that leaves on a full disk is noted once there is room, each time", async () => {
  const clock = new VirtualClock();
  shop.time.timers = clock;
  for (const _ of ["once", "again"]) {
    const client = await gate.admit({ endpointId: primary, pooled: false });
    client.enter();
    shop.time.pass(60_000);
    const full = vi.spyOn(shop.core.context.store, "transaction").mockImplementation(() => {
      throw new StoreFull();
    });
    client.leave();
    full.mockRestore();
    await clock.advance(1000);
    expect(compute().lastActive).toBe(shop.time.now());
  }
});

it("a client whose compute falls asleep while it waits is told why none starts, where the disk is full by then", async () => {
  shop.write(`POST /projects/${project}/endpoints/${primary}/suspend`);
  shop.finishOperations().core.settle();
  const waiting = gate.admit({ endpointId: primary, pooled: false });
  shop.core.change(({ store }) => store.endpoints.update({ ...compute(), pendingState: undefined }));
  const full = vi.spyOn(shop.core.context.store, "transaction").mockImplementation(() => {
    throw new StoreFull();
  });
  await expect(waiting).rejects.toMatchObject({ sqlState: "53100" });
  full.mockRestore();
});

it("the passwords of one owner's computes wait for each other, and not those of another's for all of them", async () => {
  const replica = shop.create({ branch_id: preview, type: "read_only" }).endpoint.id;
  shop.finishOperations().core.settle();
  const [others] = shop.core.context.store.endpoints.list("ana-own");
  if (!others) throw new Error("no compute of another owner");
  shop.core.change(({ store }) => store.endpoints.update({ ...others, currentState: "active" }));
  const hashed: string[] = [];
  const hash = async (endpointId: string) => {
    const admission = await gate.admit({ endpointId, pooled: false });
    return admission.alone(async () => {
      hashed.push(endpointId);
      await turn();
    });
  };
  await Promise.all([primary, primary, replica, replica, others.id].map(hash));
  expect(hashed.indexOf(others.id)).toBe(2);
});
