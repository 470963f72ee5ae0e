import { beforeEach, describe, expect, it, vi } from "vitest";
import { maxConnections } from "../../../src/api/compute-units.ts";
import { AdvanceableClock } from "../../../src/service/clock.ts";
import { type ActivityPorts, ActivityWatch } from "../../../src/service/postgres/activity.ts";
import type { DrivenService } from "../../../src/service/postgres/driven-service.ts";
import type { Running } from "../../../src/service/postgres/fleet/fleet-ports.ts";
import { type Session, Sessions } from "../../../src/service/postgres/fleet/sessions.ts";
import { Gate } from "../../../src/service/postgres/gate.ts";
import { ServerFailed } from "../../../src/service/postgres/host/failure.ts";
import { StoreFull } from "../../../src/service/refusal.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { DrivenTime } from "../support/service.ts";
import { preview, primary, Shop } from "../support/shop.ts";

const minute = 60_000;

/** The time of the virtual clock as that of the service. */
class VirtualTime extends DrivenTime {
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    super();
    this.#clock = clock;
  }

  override now(): number {
    return this.#clock.now();
  }
}

let clock: VirtualClock;
let shop: Shop;
let driven: DrivenService;
let sessions: Sessions;
let watch: ActivityWatch;
let session: Session;
/** What the server says: when a client was last active, or nothing. */
let said: () => number;
let asked: number;
let ask: ActivityPorts["ask"];
/** The computes whose servers were asked. */
let askedOf: string[];
/** The server's answers wait for this. */
let held: Promise<void>;
beforeEach(async () => {
  clock = new VirtualClock();
  shop = new Shop({ time: new VirtualTime(clock) });
  sessions = new Sessions();
  asked = 0;
  held = Promise.resolve();
  said = () => 0;
  shop.write(`POST /projects/shiny-wind-028834/endpoints/${primary}/start`);
  await clock.advance(3000);
  shop.core.settle();
  const core = shop.core;
  driven = {
    context: { ...core.context, clock },
    change: (act) => core.change(act),
    onChange: (follower) => core.onChange(follower),
    report: (error) => core.report(error),
  };
  askedOf = [];
  ask = async () => {
    asked += 1;
    const at = said();
    await held;
    return at < 0 ? fail() : [[String(at)]];
  };
  watch = new ActivityWatch(driven, {
    sessions,
    ask: (id, sql) => {
      askedOf.push(id);
      return ask(id, sql);
    },
  });
  session = { endpointId: primary, pooled: false, counts: true, logout: new AbortController() };
  sessions.open(session);
  watch.begin();
  connected();
});

function fail(): never {
  throw new ServerFailed("no");
}

/** What the gate notes when a client connects: the model's timer stands still while there is one. */
function connected(id: string = primary): void {
  shop.core.change(({ store }, at) => {
    const endpoint = store.endpoints.byId(id);
    if (endpoint) store.endpoints.update({ ...endpoint, lastActive: at, suspendDue: undefined });
  });
}

/** The state that the compute has or is to have. */
function state(): unknown {
  const { current_state, pending_state } = shop.get(primary);
  return pending_state ?? current_state;
}

describe("a compute with clients", () => {
  it("a compute is suspended when all its clients have been silent for its inactivity time", async () => {
    const silentSince = clock.now();
    said = () => silentSince;
    await clock.advance(5 * minute - 1000);
    expect(state()).toBe("active");
    await clock.advance(1000);
    expect(state()).toBe("idle");
    expect(shop.get(primary).last_active).toBe(new Date(silentSince).toISOString());
  });

  it("a compute that cannot be suspended, for a mistake of ours, keeps no other one awake", async () => {
    const { endpoint: other } = shop.create({ branch_id: preview, type: "read_write" });
    await clock.advance(3000);
    shop.core.settle();
    sessions.open({ ...session, endpointId: other.id, logout: new AbortController() });
    connected(other.id);
    const mistake = `WHEN NEW.endpoint_id = '${primary}' BEGIN SELECT RAISE(ABORT, 'a mistake of ours'); END`;
    shop.database.run(`CREATE TRIGGER mistake BEFORE INSERT ON operations ${mistake}`);
    await clock.advance(6 * minute);
    expect([state(), shop.get(other.id).current_state]).toEqual(["active", "idle"]);
    expect(new Set(shop.errors.map(String))).toEqual(new Set(["Error: a mistake of ours"]));
  });

  it("was last active when its client came, although its server knows of nothing later than years ago", async () => {
    const came = shop.get(primary).last_active;
    said = () => 0;
    await clock.advance(5 * minute);
    expect([state(), shop.get(primary).last_active]).toEqual(["idle", came]);
  });

  it("a compute is suspended at its time, also within ten seconds after its server was last asked", async () => {
    await clock.advance(3500);
    const silentSince = clock.now();
    said = () => silentSince;
    connected();
    await clock.advance(5 * minute - 1);
    expect(state()).toBe("active");
    await clock.advance(1);
    expect(state()).toBe("idle");
  });

  it("stays awake while one is active or in a transaction, and shows that", async () => {
    said = () => clock.now();
    await clock.advance(20 * minute);
    expect(state()).toBe("active");
    expect(clock.now() - Date.parse(String(shop.get(primary).last_active))).toBeLessThanOrEqual(10_000);
    const ended = clock.now();
    said = () => ended;
    await clock.advance(5 * minute);
    expect(state()).toBe("idle");
  });

  it("stays awake for the inactivity time after the last one that did something has left", async () => {
    await clock.advance(4 * minute);
    const other = { endpointId: primary, pooled: false, counts: true, logout: new AbortController() };
    sessions.open(other);
    sessions.close(other, clock.now());
    await clock.advance(4 * minute);
    expect(state()).toBe("active");
    await clock.advance(minute);
    expect(state()).toBe("idle");
  });

  it("one that the rules keep awake for its size is not suspended, however long its clients are silent", async () => {
    const { options } = driven.context;
    Object.assign(driven.context, { options: { ...options, rules: { ...options.rules, largestSuspending: 0 } } });
    said = () => 0;
    await clock.advance(20 * minute);
    expect(state()).toBe("active");
  });

  it("stays awake while its server does not say, and is asked again", async () => {
    said = () => -1;
    await clock.advance(6 * minute);
    expect(state()).toBe("active");
    const before = asked;
    said = () => 0;
    await clock.advance(10_000);
    expect([state(), asked - before]).toEqual(["idle", 1]);
  });

  it("stays awake where a client is active, although the time jumps while its server answers", async () => {
    said = () => clock.now();
    const answer = Promise.withResolvers<void>();
    held = answer.promise;
    await clock.advance(minute);
    clock.stepWall(5 * minute);
    answer.resolve();
    await clock.advance(minute);
    expect(state()).toBe("active");
  });

  it("a compute whose server took longer to answer than its inactivity time is asked again before it is suspended", async () => {
    await clock.advance(4 * minute);
    said = () => clock.now() - 1000;
    const answer = Promise.withResolvers<void>();
    held = answer.promise;
    await clock.advance(6 * minute);
    held = Promise.resolve();
    answer.resolve();
    await clock.advance(1000);
    expect(state()).toBe("active");
  });

  it("a compute is not suspended by a watch that has ended, also where its server is being asked then", async () => {
    const answer = Promise.withResolvers<void>();
    held = answer.promise;
    await clock.advance(10 * minute);
    watch.close();
    answer.resolve();
    await clock.advance(minute);
    const before = asked;
    shop.core.change(() => {});
    await clock.advance(10 * minute);
    expect([state(), asked - before]).toEqual(["active", 0]);
  });

  it("a compute whose time is up is not suspended by a watch that ends before its server has answered", async () => {
    await clock.advance(5 * minute - 1000);
    const answer = Promise.withResolvers<void>();
    held = answer.promise;
    const before = asked;
    await clock.advance(2000);
    watch.close();
    answer.resolve();
    await clock.advance(1000);
    expect([state(), asked - before]).toEqual(["active", 1]);
  });

  it("a watch that ends while it waits asks no server any more", async () => {
    await clock.advance(minute + 500);
    const [before, { pending }] = [asked, clock];
    watch.close();
    expect(pending - clock.pending).toBe(1);
    await clock.advance(10 * minute);
    expect(asked).toBe(before);
  });

  it("a server is asked no second question while it has not answered the first, and again after that", async () => {
    const answer = Promise.withResolvers<void>();
    held = answer.promise;
    await clock.advance(minute);
    const before = asked;
    shop.core.change(() => {});
    await clock.advance(minute);
    expect(asked).toBe(before);
    answer.resolve();
    await clock.advance(20_000);
    expect(asked).toBeGreaterThan(before);
  });

  it("a compute whose clients are silent is suspended although the server of another one never answers", async () => {
    const { endpoints } = shop.core.context.store;
    const like = endpoints.byId(primary);
    shop.core.change(() => like && endpoints.insert({ ...like, id: "ep-hung", type: "read_only" }));
    sessions.open({ ...session, endpointId: "ep-hung" });
    ask = (id) => (id === "ep-hung" ? new Promise(() => {}) : Promise.resolve([["0"]]));
    await clock.advance(6 * minute);
    expect([state(), askedOf.filter((id) => id === "ep-hung")]).toEqual(["idle", ["ep-hung"]]);
  });

  it("a compute whose clients are silent is suspended although the server of another one cannot say", async () => {
    const { endpoints } = shop.core.context.store;
    const like = endpoints.byId(primary);
    shop.core.change(() => like && endpoints.insert({ ...like, id: "ep-gone", type: "read_only" }));
    sessions.open({ ...session, endpointId: "ep-gone" });
    ask = (id) => (id === "ep-gone" ? Promise.reject(new ServerFailed("no")) : Promise.resolve([["0"]]));
    await clock.advance(6 * minute);
    expect([state(), shop.errors]).toEqual(["idle", []]);
  });

  it("a check that fails is reported and made again, at most once a second", async () => {
    const mistake = new TypeError("a mistake");
    const change = vi.spyOn(driven, "change").mockImplementation(() => {
      throw mistake;
    });
    await clock.advance(5 * minute);
    const before = shop.errors.length;
    await clock.advance(10_000);
    expect([shop.errors.at(-1), shop.errors.length - before]).toEqual([mistake, 10]);
    change.mockRestore();
    await clock.advance(2000);
    expect(state()).toBe("idle");
  });

  it("a watch that ends while a failure of its check is reported asks no server any more", async () => {
    vi.spyOn(driven, "change").mockImplementation(() => fail());
    const report = vi.spyOn(driven, "report").mockImplementation(() => watch.close());
    await clock.advance(5 * minute);
    const before = asked;
    await clock.advance(minute);
    expect([asked, clock.pending]).toEqual([before, 0]);
    expect(report).toHaveBeenCalledTimes(1);
  });

  it("nothing is noted of a compute whose clients have done nothing since the last note", async () => {
    said = () => Date.parse(shop.get(primary).last_active ?? "");
    const change = vi.spyOn(driven, "change");
    await clock.advance(minute);
    expect([asked > 5, change.mock.calls.length]).toEqual([true, 0]);
  });

  it("a server is asked every ten seconds while nothing is due", async () => {
    said = () => clock.now();
    await clock.advance(1000);
    const before = asked;
    await clock.advance(minute);
    expect(asked - before).toBe(6);
  });

  it("a compute is suspended as soon as the store takes that, where its disk was full", async () => {
    const full = vi.spyOn(shop.core.context.store, "transaction").mockImplementation(() => {
      throw new StoreFull();
    });
    await clock.advance(5 * minute);
    expect(state()).toBe("active");
    full.mockRestore();
    await clock.advance(10_000);
    expect(state()).toBe("idle");
  });

  it("a compute's server is not asked more than once a second, whatever changes", async () => {
    said = () => clock.now();
    const before = asked;
    for (let n = 0; n < 100; n += 1) {
      shop.core.change(() => {});
      await clock.advance(20);
    }
    expect(asked - before).toBeLessThanOrEqual(3);
  });
});

/** The compute is never to be suspended. */
function staysAwake(): void {
  shop.core.change(({ store }) => {
    const endpoint = store.endpoints.byId(primary);
    if (endpoint) store.endpoints.update({ ...endpoint, suspendTimeoutSeconds: -1 });
  });
}

function newGate(): Gate {
  const running: Running = JSON.parse('{"config": {"sockets": "/s"}}');
  return new Gate(driven, {
    fleet: { serverOf: () => running },
    poolers: undefined,
    processShares: new Shares(),
    sessions,
    verifiers: { of: () => Promise.reject(new Error("not asked")), ask: () => Promise.resolve([]) },
  });
}

it("a client that comes while the service ends is told so, and changes nothing", async () => {
  const gate = newGate();
  gate.close();
  const changes = vi.spyOn(shop.core, "change");
  await expect(gate.admit({ endpointId: primary, pooled: false })).rejects.toThrow("the service is shutting down");
  expect([changes.mock.calls.length, sessions.count(primary, false)]).toEqual([0, 1]);
});

it("a client that has logged in may take the last connection of its compute, and the next one finds none", async () => {
  const gate = newGate();
  const last = maxConnections({ min: 1, max: 1 }) - 1;
  for (let open = 1; open < last; open += 1)
    sessions.open({ endpointId: primary, pooled: false, counts: true, logout: new AbortController() });
  const [one, next] = [
    await gate.admit({ endpointId: primary, pooled: false }),
    await gate.admit({ endpointId: primary, pooled: false }),
  ];
  one.enter();
  expect(() => next.enter()).toThrow(
    `sorry, too many clients already: compute ${primary} takes ${last + 1} connections`,
  );
});

it("a client whose compute is disabled while it wakes is told so", async () => {
  shop.write(`POST /projects/shiny-wind-028834/endpoints/${primary}/restart`);
  const waiting = newGate().admit({ endpointId: primary, pooled: false });
  shop.core.change(({ store }) => {
    const endpoint = store.endpoints.byId(primary);
    if (endpoint) store.endpoints.update({ ...endpoint, disabled: true, pendingState: undefined });
  });
  await expect(waiting).rejects.toThrow(`compute ${primary} is disabled`);
});

it("a client that a suspension sends away was not active then", async () => {
  const gate = newGate();
  sessions.close(session, clock.now());
  const { leave } = await gate.admit({ endpointId: primary, pooled: false });
  await clock.advance(minute);
  shop.write(`POST /projects/shiny-wind-028834/endpoints/${primary}/suspend`);
  const { last_active } = shop.get(primary);
  leave();
  expect(shop.get(primary)).toMatchObject({ last_active, pending_state: "idle" });
});

it("a client that comes within a second after the last one left is watched as any other", async () => {
  staysAwake();
  const gate = newGate();
  const { leave } = await gate.admit({ endpointId: primary, pooled: false });
  sessions.close(session, clock.now());
  await clock.advance(minute);
  leave();
  await clock.advance(100);
  (await gate.admit({ endpointId: primary, pooled: false })).enter();
  said = () => clock.now();
  await clock.advance(10 * minute);
  expect(clock.now() - Date.parse(String(shop.get(primary).last_active))).toBeLessThanOrEqual(10_000);
});

it("a compute that is never to be suspended is not, and shows when it was last active", async () => {
  staysAwake();
  said = () => clock.now();
  await clock.advance(24 * 60 * minute);
  expect(state()).toBe("active");
  expect(clock.now() - Date.parse(String(shop.get(primary).last_active))).toBeLessThanOrEqual(10_000);
});

it("an event from before the service's clock was advanced is placed before that", async () => {
  const advanceable = new AdvanceableClock(clock);
  const begin = clock.now();
  await clock.advance(1000);
  advanceable.advance(minute);
  await clock.advance(1000);
  advanceable.advance(minute);
  expect([0, 999, 1000, 1999, 2000].map((ms) => advanceable.ofWall(begin + ms) - begin - ms)).toEqual([
    0,
    0,
    minute,
    minute,
    2 * minute,
  ]);
  expect(advanceable.now()).toBe(begin + 2000 + 2 * minute);
});
