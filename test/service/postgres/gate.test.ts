import { beforeEach, expect, it, vi } from "vitest";
import { EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { lastDayOf } from "../../../src/service/computes/meter.ts";
import { usageOf } from "../../../src/service/computes/usage.ts";
import type { Running } from "../../../src/service/postgres/fleet/fleet-ports.ts";
import type { Poolers } from "../../../src/service/postgres/fleet/poolers.ts";
import { Sessions } from "../../../src/service/postgres/fleet/sessions.ts";
import { Gate, type GatePorts } from "../../../src/service/postgres/gate.ts";
import { ServerFailed } from "../../../src/service/postgres/host/failure.ts";
import { PostgresServer } from "../../../src/service/postgres/server/server.ts";
import { unfitVerifier } from "../../../src/service/postgres/session/scram.ts";
import { StoreFull } from "../../../src/service/refusal.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { preview, primary, project, Shop } from "../support/shop.ts";

const minute = 60_000;
const target = { endpointId: primary, pooled: false };
const running: Running = JSON.parse('{"config": {"sockets": "/s"}}');

let shop: Shop;
let gate: Gate;
let sessions: Sessions;
/** What follows the changes of the service now. */
let followers = new Set<() => void>();
let server: Running | undefined;
beforeEach(() => {
  shop = new Shop();
  sessions = new Sessions();
  server = running;
  // The clients of the gate are those of the computes.
  shop.core.context.backend.connections = ({ id }, pooled) => sessions.count(id, pooled);
  shop.core.context.backend.directConnections = () =>
    new Map(sessions.endpoints().map((id) => [id, sessions.count(id, false)]));
  gate = newGate();
  followers = new Set();
});

/** `budget`: that of the clients that have logged in. */
function newGate(budget = new Shares(), ports: Partial<GatePorts> = {}): Gate {
  const { core } = shop;
  return new Gate(
    {
      context: core.context,
      change: (act) => core.change(act),
      onChange: (follower) => {
        followers.add(follower);
        const stop = core.onChange(follower);
        return () => {
          followers.delete(follower);
          stop();
        };
      },
      report: (error) => core.report(error),
    },
    {
      fleet: { serverOf: () => server },
      poolers: undefined,
      processShares: new Shares(),
      sessions,
      verifiers: { of: () => Promise.reject(new Error("not asked")), ask: () => Promise.resolve([]) },
      clients: budget,
      ...ports,
    },
  );
}

/** What the store has of a compute. */
function stored(change: object, id = primary): void {
  shop.core.change(({ store }) => {
    const endpoint = store.endpoints.byId(id);
    if (endpoint) store.endpoints.update({ ...endpoint, ...change });
  });
}

it.each([
  ["is let in", () => shop.finishOperations().core.settle(), undefined],
  ["is refused, because its compute is disabled", () => stored({ disabled: true }), "is disabled"],
  [
    "is refused, because its compute is gone",
    () => shop.core.change(({ store }) => store.endpoints.delete(store.endpoints.byId(primary) ?? never())),
    "there is no compute",
  ],
  [
    "is refused, because its compute cannot be started",
    () => {
      shop.core.change(({ store }, at) => {
        for (const one of store.operations.unfinishedOf(project, primary)) store.operations.fail(one, at);
      });
      stored({ pendingState: undefined, currentState: "idle" });
    },
    "could not be started",
  ],
  [
    "is refused, because the start of its compute was cancelled",
    () => {
      shop.core.change(({ store }, at) => {
        for (const one of store.operations.unfinishedOf(project, primary))
          store.operations.setStatus(one.seq, "cancelled", at, undefined);
      });
      stored({ pendingState: undefined, currentState: "idle" });
    },
    "could not be started",
  ],
])("a client that waited for its compute and then %s follows no change any more", async (_, happen, refusal) => {
  const waiting = gate.admit(target);
  expect(followers.size).toBe(1);
  shop.core.change(() => {});
  expect(followers.size).toBe(1);
  happen();
  const outcome = await waiting.then(
    () => undefined,
    (error: unknown) => String(error),
  );
  expect(outcome ?? "").toContain(refusal ?? "");
  expect(outcome === undefined).toBe(refusal === undefined);
  expect([followers.size, sessions.any(primary)]).toEqual([0, refusal === undefined]);
});

it("a client that waited for its compute is not let in while that is being suspended", async () => {
  const waiting = gate.admit(target);
  stored({ pendingState: "idle", currentState: "active" });
  expect(followers.size).toBe(1);
  stored({ pendingState: undefined });
  await waiting;
  expect(followers.size).toBe(0);
});

it("a thousand clients of a compute that starts, and that falls asleep again, are one wait and a change each time", async () => {
  const asleep = () => {
    const { store } = shop.core.context;
    for (const one of store.operations.unfinishedOf(project, primary))
      store.operations.setStatus(one.seq, "finished", shop.time.now(), undefined);
    server = undefined;
    stored({ pendingState: undefined, currentState: "idle" });
  };
  asleep();
  let changes = 0;
  const stop = shop.core.onChange(() => (changes += 1));
  const waiting = Array.from({ length: 1000 }, () => gate.admit(target));
  expect([changes, followers.size]).toEqual([1, 1]);
  asleep();
  await expect.poll(() => followers.size).toBe(1);
  // That it sleeps, and that it is woken.
  expect(changes).toBe(3);
  stop();
  server = running;
  shop.finishOperations().core.settle();
  expect(await Promise.all(waiting)).toHaveLength(1000);
  expect(followers.size).toBe(0);
});

it("a client that is let in hears of the end of its compute's server", async () => {
  shop.active();
  const ends = Promise.withResolvers<number | null>();
  server = { ...running, server: new PostgresServer({ ended: ends.promise, stop: () => {} }) };
  const admission = await gate.admit(target);
  const heard = new Promise<string>((resolve) => void admission.onServerEnd(() => resolve("ended")));
  ends.resolve(0);
  expect(await heard).toBe("ended");
});

it("passwords of one compute are checked one after another, and those of another meanwhile", async () => {
  shop.active();
  const { id } = shop.create({ branch_id: preview, type: "read_write" }).endpoint;
  shop.finishOperations().core.settle();
  const [one, next] = [await gate.admit(target), await gate.admit(target)];
  const other = await gate.admit({ ...target, endpointId: id });
  const checked: string[] = [];
  const end = Promise.withResolvers<void>();
  const check = (admission: typeof one, name: string) =>
    admission.inTurn(() => {
      checked.push(name);
      return end.promise;
    });
  const all = [check(one, "one"), check(next, "next"), check(other, "other")];
  await new Promise((resolve) => setImmediate(resolve));
  expect(checked).toEqual(["one", "other"]);
  end.resolve();
  await Promise.all(all);
  expect(checked).toEqual(["one", "other", "next"]);
});

it("one password is hashed at a time, of all computes: another owner's does not wait for all of those", async () => {
  shop.active();
  const others = EndpointsAnswer.parse(shop.ana("GET /projects/ana-own/endpoints").body).endpoints[0]?.id ?? "";
  stored({ currentState: "active" }, others);
  const hashed: string[] = [];
  let [now, most] = [0, 0];
  const hash = async (endpointId: string) => {
    const admission = await gate.admit({ endpointId, pooled: false });
    return admission.alone(async () => {
      hashed.push(endpointId);
      most = Math.max(most, (now += 1));
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
    });
  };
  await Promise.all([...Array.from({ length: 4 }, () => hash(primary)), hash(others)]);
  expect([most, hashed.indexOf(others), hashed.length]).toEqual([1, 2, 5]);
});

it("the networks of clients take turns: a password is not checked behind the thousands of another network", async () => {
  shop.active();
  const checked: string[] = [];
  const begin = async (from: string, name: string) => {
    const admission = await gate.admit({ ...target, from });
    return admission.inTurn(async () => {
      checked.push(name);
      await new Promise((resolve) => setImmediate(resolve));
    });
  };
  const strangers = Array.from({ length: 1000 }, (_, index) => begin("10.0.0.1", `stranger ${index}`));
  await Promise.all([...strangers, begin("10.0.0.2", "client"), begin("10.0.0.3", "other")]);
  expect(checked.slice(0, 5)).toEqual(["stranger 0", "stranger 1", "client", "other", "stranger 2"]);
  expect(checked).toHaveLength(1002);
});

it.each<[string, () => Gate]>([
  ["connections", () => newGate(new Shares(11))],
  ["processes", () => newGate(new Shares(), { processShares: new Shares(11) })],
])("the clients of all computes of an owner have one share of the %s, and those of others theirs", async (_, make) => {
  gate = make();
  shop.active();
  const second = shop.create({ branch_id: preview, type: "read_write" }).endpoint.id;
  const others = EndpointsAnswer.parse(shop.ana("GET /projects/ana-own/endpoints").body).endpoints[0]?.id ?? "";
  stored({ currentState: "active" }, others);
  shop.finishOperations().core.settle();
  const enter = async (endpointId: string) => {
    const admission = await gate.admit({ endpointId, pooled: true });
    admission.enter();
    return admission;
  };
  const one = await enter(primary);
  for (const id of [primary, second, second, second]) await enter(id);
  await expect(enter(second)).rejects.toThrow("sorry, too many clients already");
  await enter(others);
  one.leave();
  one.leave();
  await enter(second);
  await expect(enter(primary)).rejects.toThrow("have their share");
});

it("ten clients of a compute replicate at most, and leave room for replicas and for other clients", async () => {
  shop.active();
  const enter = async (replicates: boolean) => {
    const admission = await gate.admit({ ...target, replicates });
    admission.enter();
    return admission;
  };
  // One that has not logged in takes no place.
  await gate.admit({ ...target, replicates: true });
  const one = await enter(true);
  for (let i = 0; i < 9; i += 1) await enter(true);
  await expect(enter(true)).rejects.toThrow(`compute ${primary} takes 10 clients that replicate`);
  await enter(false);
  one.leave();
  await enter(true);
});

it("a client for which one share has no room holds nothing of the other one", async () => {
  const [budget, processShares] = [new Shares(), new Shares(1)];
  gate = newGate(budget, { processShares });
  shop.active();
  const admission = await gate.admit({ endpointId: primary, pooled: false });
  expect(() => admission.enter()).toThrow("have their share");
  expect([budget.all, processShares.all]).toEqual([0, 0]);
});

it("a client whose compute is up follows no change at all", async () => {
  shop.active();
  await gate.admit(target);
  expect(followers.size).toBe(0);
});

it("a client of a disabled compute is refused without a change of anything", async () => {
  stored({ disabled: true });
  let changes = 0;
  shop.core.onChange(() => (changes += 1));
  await expect(gate.admit(target)).rejects.toThrow("is disabled");
  expect([changes, sessions.any(primary)]).toEqual([0, false]);
});

it("a compute that is to be suspended after its last client is not while another is there", async () => {
  shop.active();
  const due = () => shop.core.context.store.endpoints.byId(primary)?.suspendDue;
  const first = await gate.admit(target);
  first.leave();
  expect(due()).toBe(shop.time.now() + 5 * minute);
  (await gate.admit(target)).enter();
  expect(due()).toBeUndefined();
});

it.each([
  ["that suspends", {}],
  ["that never suspends", { suspend_timeout_seconds: -1 }],
  ["of a size that one client fewer would change", { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2 }],
])("strangers who come and leave one after another are a change a second each at a compute %s", async (_, settings) => {
  shop.active(settings);
  const taken = shop.core.context.options.rules.maxConnections({ min: 1, max: 1 });
  if ("autoscaling_limit_min_cu" in settings) await clients(taken + 1);
  let changes = 0;
  shop.core.onChange(() => (changes += 1));
  for (let stranger = 0; stranger < 100; stranger += 1) (await gate.admit(target)).leave();
  expect(changes).toBeLessThanOrEqual(2);
  shop.time.pass(1000);
  (await gate.admit(target)).leave();
  expect(changes).toBeGreaterThan(0);
});

it("a client that comes keeps its compute from the suspension that was due, also beside others", async () => {
  shop.active();
  await gate.admit(target);
  stored({ suspendDue: shop.time.now() + minute });
  await gate.admit(target);
  expect(shop.core.context.store.endpoints.byId(primary)?.suspendDue).toBeUndefined();
});

it("a client whose compute falls asleep again and again is refused after three tries, and leaves nothing behind", async () => {
  server = undefined;
  const waiting = gate.admit(target);
  waiting.catch(() => {});
  for (let tries = 0; tries < 3; tries += 1) {
    shop.core.change(({ store }, at) => {
      for (const one of store.operations.unfinishedOf(project, primary)) {
        store.operations.setStatus(one.seq, "finished", at, undefined);
      }
      const endpoint = store.endpoints.byId(primary);
      if (endpoint) store.endpoints.update({ ...endpoint, pendingState: undefined, currentState: "idle" });
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect(waiting).rejects.toThrow(`compute ${primary} is suspended again and again`);
  expect([followers.size, sessions.any(primary)]).toEqual([0, false]);
});

/** The project's usage, recorded and running, in minutes of compute units. */
function usedMinutes(): number {
  const { context } = shop.core;
  const found = context.store.projects.get(project) ?? never();
  return usageOf(context, found, shop.time.now()).computeSeconds / 60;
}

/** Admits clients and lets them log in after a time in milliseconds; answers their ways out. */
async function clients(count: number, { pooled = false, after = 0 } = {}): Promise<(() => void)[]> {
  const admissions = await Promise.all(
    Array.from({ length: count }, () => gate.admit({ endpointId: primary, pooled })),
  );
  shop.time.pass(after);
  for (const { enter } of admissions) enter();
  return admissions.map(({ leave }) => leave);
}

it("the time of each client counts with the size that it needs, and no time before or after", async () => {
  shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });
  const before = usedMinutes();
  // As many connections as fit into one unit.
  const [first, ...others] = await clients(450);
  const leaves = [...others, ...(await clients(1, { after: 10 * minute }))];
  expect(usedMinutes() - before).toBe(10);
  shop.time.pass(10 * minute);
  expect(usedMinutes() - before).toBe(30);
  for (const leave of leaves) leave();
  expect(usedMinutes() - before).toBe(30);
  shop.time.pass(10 * minute);
  expect(usedMinutes() - before).toBe(40);
  first?.();
  shop.time.pass(10 * minute);
  expect(usedMinutes() - before).toBe(50);
});

it("the time of clients that all leave at once counts with the size that they needed", async () => {
  shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });
  const leaves = await clients(500);
  const before = usedMinutes();
  shop.time.pass(10 * minute);
  for (const leave of leaves) leave();
  expect(usedMinutes() - before).toBe(20);
});

it("a compute was active until its last client left, and is to be suspended its inactivity time after that", async () => {
  shop.active();
  const [first, last] = await clients(2);
  shop.time.pass(4 * minute);
  first?.();
  const found = () => shop.core.context.store.endpoints.byId(primary) ?? never();
  expect(found().suspendDue).toBeUndefined();
  shop.time.pass(4 * minute);
  last?.();
  expect(found()).toMatchObject({ lastActive: shop.time.now(), suspendDue: shop.time.now() + 5 * minute });
});

it.each([false, true])(
  "the connection of a client that has left shows for the time that it was there; pooled: %s",
  async (pooled) => {
    shop.active();
    const [leave] = await clients(1, { pooled });
    shop.time.pass(3 * minute);
    leave?.();
    shop.time.pass(minute);
    const { context } = shop.core;
    const day = lastDayOf(context, context.store.endpoints.byId(primary) ?? never(), shop.time.now());
    expect(Math.max(...day.map(({ peak }) => peak))).toBe(1);
  },
);

it("clients of the pooler and clients that have not logged in need no larger size", async () => {
  shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });
  const before = usedMinutes();
  const leaves = await clients(500, { pooled: true });
  const strangers = await Promise.all(Array.from({ length: 500 }, () => gate.admit(target)));
  shop.time.pass(10 * minute);
  for (const leave of [...leaves, ...strangers.map((stranger) => stranger.leave)]) leave();
  expect(usedMinutes() - before).toBe(10);
});

it("clients come and go while the store is full", async () => {
  shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });
  const [stays] = await clients(1);
  const full = vi.spyOn(shop.core.context.store, "transaction").mockImplementation(() => {
    throw new StoreFull();
  });
  const leaves = await clients(500);
  for (const leave of leaves) leave();
  full.mockRestore();
  expect(sessions.count(primary, false)).toBe(1);
  stays?.();
  expect(sessions.any(primary)).toBe(false);
});

it("clients of a compute that come and leave one after another while the store is full are one change to be noted", async () => {
  shop.active();
  const full = vi.spyOn(shop.core.context.store, "transaction").mockImplementation(() => {
    throw new StoreFull();
  });
  const waits = vi.spyOn(shop.time, "after").mockReturnValue(() => {});
  for (let count = 0; count < 100; count += 1) (await gate.admit(target)).leave();
  expect(waits).toHaveBeenCalledTimes(1);
  full.mockRestore();
});

it("a client that leaves after the service has closed notes nothing", async () => {
  shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });
  const leaves = await clients(500);
  gate.close();
  shop.core.close();
  for (const leave of leaves) leave();
  expect(sessions.any(primary)).toBe(false);
});

it("a client within a second of another changes nothing, and one that comes later notes that its compute is in use", async () => {
  shop.active();
  await gate.admit(target);
  let changes = 0;
  shop.core.onChange(() => (changes += 1));
  const lastActive = () => shop.core.context.store.endpoints.byId(primary)?.lastActive;
  const first = lastActive();
  shop.time.pass(999);
  await gate.admit(target);
  expect([changes, lastActive()]).toEqual([0, first]);
  shop.time.pass(1);
  await gate.admit(target);
  expect([changes, lastActive()]).toEqual([1, shop.time.now()]);
});

it("on a full disk a client of a compute that runs is let in, and that of another is told why none starts", async () => {
  const full = () =>
    vi.spyOn(shop.core.context.store, "transaction").mockImplementation(() => {
      throw new StoreFull();
    });
  shop.active();
  const spy = full();
  expect(await (await gate.admit(target)).socket("stock")).toBe("/s/.s.PGSQL.5432");
  spy.mockRestore();
  stored({ currentState: "idle", pendingState: undefined });
  const again = full();
  await expect(gate.admit(target)).rejects.toMatchObject({ sqlState: "53100", message: /full/ });
  again.mockRestore();
  expect(sessions.count(primary, false)).toBe(0);
});

it("an error that nobody foresaw while a client comes is no refusal", async () => {
  shop.active();
  const mistake = new TypeError("a mistake");
  const spy = vi.spyOn(shop.core.context.store, "transaction").mockImplementationOnce(() => {
    throw mistake;
  });
  await expect(gate.admit(target)).rejects.toBe(mistake);
  spy.mockRestore();
  expect(sessions.any(primary)).toBe(false);
});

it("a compute that falls asleep and is disabled at once is not woken for a client that waits", async () => {
  server = undefined;
  const waiting = gate.admit(target);
  const { operations } = shop.core.context.store;
  for (const one of operations.unfinishedOf(project, primary))
    operations.setStatus(one.seq, "finished", shop.time.now(), undefined);
  stored({ currentState: "idle", pendingState: undefined });
  stored({ disabled: true });
  await expect(waiting).rejects.toThrow(`compute ${primary} is disabled`);
  expect(operations.unfinishedOf(project, primary)).toEqual([]);
});

it("a client whose compute could not be started is led to its operations, where these do not say why", async () => {
  const waiting = gate.admit(target);
  shop.core.change(({ store }, at) => {
    for (const one of store.operations.unfinishedOf(project, primary))
      store.operations.setStatus(one.seq, "failed", at, undefined);
  });
  stored({ pendingState: undefined, currentState: "idle" });
  server = undefined;
  shop.core.change(() => {});
  await expect(waiting).rejects.toThrow(`compute ${primary} could not be started: see its operations`);
});

it("the clients of a role are logged out with it, but for those that have not said their role yet", async () => {
  shop.active();
  const [app, other, unnamed] = [await gate.admit(target), await gate.admit(target), await gate.admit(target)];
  for (const [admission, role] of [
    [app, "app"],
    [other, "other"],
  ] as const)
    await expect(admission.verifierOf(role)).rejects.toThrow("not asked");
  const out = () => [app, other, unnamed].map(({ logout }) => logout.aborted);
  sessions.logOut(primary, ["app", "third"]);
  expect(out()).toEqual([true, false, false]);
  sessions.logOut(primary, undefined);
  expect(out()).toEqual([true, true, false]);
  // Their passwords may have been checked before.
  expect(() => app.enter()).toThrow("terminating connection");
  expect(() => unnamed.enter()).not.toThrow("terminating connection");
});

it("a client that gives its role a longer name, which a server cuts, is logged out with the role", async () => {
  shop.active();
  const [name, accented] = ["r".repeat(63), `${"r".repeat(62)}é`];
  const admissions = [await gate.admit(target), await gate.admit(target), await gate.admit(target)];
  for (const [index, given] of [`${name}s`, name.slice(0, 62), accented].entries())
    await expect(admissions[index]?.verifierOf(given)).rejects.toThrow("not asked");
  const out = () => admissions.map(({ logout }) => logout.aborted);
  sessions.logOut(primary, [name]);
  expect(out()).toEqual([true, false, false]);
  sessions.logOut(primary, [name.slice(0, 62)]);
  expect(out()).toEqual([true, true, true]);
});

it("a client whose compute's server has ended amid its login is refused, also where another one runs by then", async () => {
  shop.active();
  const admission = await gate.admit(target);
  server = JSON.parse('{"config": {"sockets": "/s"}}');
  expect(() => admission.enter()).toThrow(`compute ${primary} was stopped amid the login: connect again`);
  expect(sessions.count(primary, false)).toBe(0);
});

it("a client reads why its server was not asked", async () => {
  shop.active();
  const failed = () => Promise.reject(new ServerFailed("it ended"));
  const admission = await newGate(undefined, { verifiers: { of: failed, ask: failed } }).admit(target);
  for (const asked of [admission.verifierOf("app"), admission.end(1)])
    await expect(asked).rejects.toMatchObject({ sqlState: "57P03", message: "it ended" });
});

it("a pooler starts with a client of the pooled host that has logged in, who reads why it did not", async () => {
  shop.active();
  const socketFor = vi.fn<Poolers["socketFor"]>().mockRejectedValue(new ServerFailed("it ended"));
  const ask = async (_: Running, sql: string) => (sql.includes("'gone'") ? [] : [["t"]]);
  gate = newGate(undefined, { poolers: { socketFor }, verifiers: { of: async () => unfitVerifier("", "app"), ask } });
  const pooled = await gate.admit({ ...target, pooled: true });
  const [role, verifier] = ["r".repeat(63), await pooled.verifierOf(`${"r".repeat(63)}s`)];
  await expect(pooled.socket("gone")).rejects.toThrow('database "gone" does not exist');
  await expect(pooled.socket("stock")).rejects.toMatchObject({ sqlState: "57P03", message: "it ended" });
  expect(socketFor.mock.calls).toEqual([[primary, running, expect.objectContaining({ role, verifier })]]);
});

function never(): never {
  throw new Error("the compute is gone already");
}

it.each(["transaction", "endpoint"])(
  "a client that leaves is gone, and nothing else ends, where the %s of the store fails",
  async (what) => {
    shop.active({ autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 2, suspend_timeout_seconds: -1 });
    const budget = new Shares(10);
    gate = newGate(budget);
    const client = await gate.admit(target);
    client.enter();
    const mistake = new TypeError("a mistake");
    const fail = () => {
      throw mistake;
    };
    const { store } = shop.core.context;
    if (what === "transaction") vi.spyOn(store, "transaction").mockImplementation(fail);
    else vi.spyOn(store.endpoints, "byId").mockImplementation(fail);
    client.leave();
    await Promise.resolve();
    vi.restoreAllMocks();
    expect([sessions.any(primary), sessions.count(primary, false), budget.all]).toEqual([false, 0, 0]);
    expect(shop.errors).toEqual([mistake]);
  },
);
