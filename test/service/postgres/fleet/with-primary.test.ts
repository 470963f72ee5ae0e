import { describe, expect, it } from "vitest";
import { withPrimary } from "../../../../src/service/postgres/fleet/with-primary.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

/**
 * Starts a standby that is ready when the test says so, and then answers `places` as those that it has come to, the
 * last one for ever. `looks`: how often a session of its primary was opened; so many as `failing` fail.
 */
function starting({ failing = 0, places = [] as string[] } = {}) {
  const [clock, ready] = [new VirtualClock(), Promise.withResolvers<void>()];
  const done: string[] = [];
  const at = { looks: 0, asked: 0 };
  const ofPrimary = (sql: string) => {
    done.push(sql.includes("insert_lsn") ? "position" : "commit");
    return sql.includes("insert_lsn") ? Promise.resolve([["0/AB"]]) : Promise.reject(new Error("no ids are left"));
  };
  const sessionOf = (name: string) => ({
    query: (sql: string) => {
      if (name === "primary") return ofPrimary(sql);
      at.asked += 1;
      expect(sql).toContain("'0/AB'");
      const place = places.length > 1 ? places.shift() : places[0];
      return Promise.resolve(place === undefined || place === "end" ? [] : [[place]]);
    },
    [Symbol.dispose]: () => void done.push(`${name} closed`),
  });
  const sessions = {
    open: ({ name }: { name: string }) => {
      at.looks += Number(name === "primary");
      return name === "primary" && at.looks <= failing
        ? Promise.reject(new Error("no place"))
        : Promise.resolve(sessionOf(name));
    },
  };
  const ports = Object.assign(JSON.parse("{}"), { clock, sessions });
  const standby = Object.assign(JSON.parse('{ "config": { "name": "standby" } }'), {
    start: () => ready.promise,
    stop: () => Promise.resolve(void done.push("stopped")),
  });
  const started = withPrimary(ports, JSON.parse('{ "config": { "name": "primary" } }'), standby);
  void started.then(
    () => done.push("started"),
    () => done.push("failed"),
  );
  return { clock, ready, started, done, at };
}

describe("clients of a primary", () => {
  it("clients of a primary are left alone once its standby has started, or has failed to", async () => {
    const one = starting();
    one.ready.resolve();
    await one.started;
    expect(one.clock.pending).toBe(0);
    const other = starting();
    other.ready.reject(new Error("no disk"));
    await expect(other.started).rejects.toThrow("no disk");
    expect([other.clock.pending, one.at.looks, other.at.looks]).toEqual([0, 1, 0]);
    expect(other.done).toEqual(["failed"]);
  });

  it("clients that keep a standby waiting are looked for after ten seconds, and its start goes on where that fails", async () => {
    const { clock, ready, started, at } = starting({ failing: 1 });
    await clock.advance(9999);
    expect(at.looks).toBe(0);
    await clock.advance(1);
    expect(at.looks).toBe(1);
    ready.resolve();
    await started;
  });
});

describe("a standby that has started", () => {
  it("a standby has started once it has what its primary had, however long it gets further", async () => {
    const places = Array.from({ length: 1000 }, (_, index) => `0/${index}`);
    const { clock, ready, started, done, at } = starting({ places: [...places, "end"] });
    ready.resolve();
    await clock.advance(49_000);
    expect([done, at.asked]).toEqual([["position", "commit"], 981]);
    await clock.advance(1000);
    await started;
    expect(done.slice(2)).toEqual(["standby closed", "primary closed", "started"]);
  });

  it("a standby that gets no further for half a minute stops, and its start fails", async () => {
    const { clock, ready, started, done } = starting({ places: ["0/1"] });
    started.catch(() => {});
    ready.resolve();
    await clock.advance(30_000);
    expect(done).toEqual(["position", "commit"]);
    await clock.advance(50);
    await expect(started).rejects.toThrow("the replica gets no further in its primary's log");
    expect(done.slice(2)).toEqual(["standby closed", "primary closed", "stopped", "failed"]);
  });

  it("a standby stops whose primary does not say what it has: nobody knows which passwords hold", async () => {
    const { clock, ready, started, done } = starting({ failing: 99 });
    started.catch(() => {});
    ready.resolve();
    await clock.advance(60_000);
    await expect(started).rejects.toThrow("no place");
    expect(done).toEqual(["stopped", "failed"]);
  });
});
