import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ErrorLog } from "../../src/service/error-log.ts";
import { eventually } from "../../src/service/postgres/eventually.ts";
import { StoreFull, unlessFull } from "../../src/service/refusal.ts";
import type { Store } from "../../src/service/store/store.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { main, primary, project, Shop } from "./support/shop.ts";

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Lets the store grow no more, or again. */
function fill(full = true): void {
  shop.database.run(`PRAGMA max_page_count = ${full ? 1 : 1_000_000}`);
}

/** Larger than what is free in the pages that the store has. */
const large = "x".repeat(200_000);

describe("a service whose disk is full", () => {
  it("answers writes with 507, changes nothing, and answers reads", () => {
    const settings = Array.from({ length: 4 }, (_, n) => [`setting_${n}`, "x".repeat(4000)]);
    const change = { endpoint: { settings: { pg_settings: Object.fromEntries(settings) } } };
    const path = `/projects/${project}/endpoints/${primary}`;
    fill();
    const { status, body } = shop.ana(`PATCH ${path}`, change);
    expect([status, body["message"]]).toEqual([507, expect.stringMatching(/^the disk of the service is full, /)]);
    expect(shop.errors).toEqual([expect.any(StoreFull)]);
    expect(shop.get(primary).settings).toEqual({ pg_settings: {} });
    expect(shop.operations()).toEqual([]);
    fill(false);
    expect(shop.ana(`PATCH ${path}`, change).status).toBe(200);
  });

  it("refuses a write outside of a transaction, such as the note of a key's use, by the same name", () => {
    fill();
    const write = () => shop.database.run("INSERT INTO meta VALUES ('large', ?)", large);
    expect(write).toThrow("the disk of the service is full");
    expect(unlessFull(write)).toBe(false);
  });

  it("answers reads also where the use of a key cannot be noted, and timers are due", () => {
    shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
    const { store } = shop.core.context;
    const refuse = () => {
      throw new StoreFull();
    };
    const used = vi.spyOn(store.keys, "used").mockImplementation(refuse);
    const stored = vi.spyOn(store, "transaction").mockImplementation(refuse);
    shop.time.pass(3_600_000);
    expect(shop.ana(`GET /projects/${project}/branches/${main}`).status).toBe(200);
    expect(used).toHaveBeenCalled();
    expect(shop.get(primary)).toMatchObject({ pending_state: "active" });
    stored.mockRestore();
    expect(shop.get(primary).pending_state).toBeUndefined();
  });
});

it("names a full disk in one line of the log, however many writes fail, and again a minute after the last", async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = new ErrorLog({ clock, stderr: (line) => lines.push(line) });
  for (let second = 0; second < 300; second += 1) {
    log.report(new StoreFull());
    await clock.advance(1000);
  }
  expect(lines).toEqual(["The disk of the service is full: its calls answer 507 until there is room again."]);
  await clock.advance(60_000);
  log.report(new StoreFull());
  log.report(new Error("another"));
  expect(lines.slice(1)).toEqual([lines[0], expect.stringMatching(/^internal error: Error: another\n/)]);
});

it("a disk that fails, or whose quota is used up, is one that takes nothing, and the log says how it fails", () => {
  // As SQLite answers EIO and EDQUOT as it writes: the code, and above it the step.
  const failure = Object.assign(new Error("disk I/O error"), { errcode: 10 + 3 * 256 });
  const write = () =>
    shop.core.change(() => {
      throw failure;
    });
  expect(write).toThrow("the disk of the service fails, so nothing can be changed: its log says how");
  expect(unlessFull(write)).toBe(false);
  const lines: string[] = [];
  new ErrorLog({ clock: new VirtualClock(), stderr: (line) => lines.push(line) }).report(shop.errors[0]);
  expect(lines).toEqual(["The disk of the service fails (disk I/O error): its calls answer 507 until it works again."]);
});

describe("what has happened to a server", () => {
  const clock = new VirtualClock();
  let tries: number;
  beforeEach(() => {
    tries = 0;
  });

  function storing(closed: () => boolean, act = (store: Store) => void store.constant("what", () => large)) {
    const { core } = shop;
    const service = {
      context: { ...core.context, clock },
      change: <Result>(change: Parameters<typeof core.change<Result>>[0]) => core.change(change),
      onChange: () => () => {},
      report: (error: unknown) => core.report(error),
    };
    return eventually(
      service,
      ({ store }) => {
        tries += 1;
        act(store);
      },
      closed,
    );
  }

  it("an event of a server is stored as soon as the disk has room", async () => {
    fill();
    const stored = storing(() => false);
    await clock.advance(2500);
    fill(false);
    expect(tries).toBe(3);
    await clock.advance(500);
    await stored;
    expect(shop.core.context.store.constant("what", () => "nothing")).toBe(large);
  });

  it("an event that cannot be stored for another reason is reported, not tried again, and ends nothing", async () => {
    const mistake = new Error("broken");
    const stored = storing(
      () => tries > 1,
      () => {
        throw mistake;
      },
    );
    expect(await Promise.race([stored, clock.advance(2000)])).toBe(false);
    expect([tries, shop.errors]).toEqual([1, [mistake]]);
  });

  it("an event that waits for room is given up when the service ends", async () => {
    fill();
    let closed = false;
    const stored = storing(() => closed);
    closed = true;
    await clock.advance(1000);
    await stored;
    expect(tries).toBe(1);
  });
});
