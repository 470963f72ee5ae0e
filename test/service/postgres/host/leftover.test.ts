import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stopLeftover } from "../../../../src/service/postgres/host/leftover.ts";
import type { Processes, ProcessFacts } from "../../../../src/service/postgres/host/processes.ts";
import { realClock } from "../../../support/real-clock.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "compute-operator-leftover-"));
});
afterEach(() => rmSync(home, { recursive: true }));

describe("a server that is left over", () => {
  const data = () => home;
  const started = 1_700_000_000;

  /** Processes of which one has these facts until it is signalled. */
  function machine(facts: ProcessFacts | undefined): Processes & { signals: string[] } {
    const signals: string[] = [];
    const unused = () => {
      throw new Error("not used here");
    };
    return {
      signals,
      run: unused,
      guard: unused,
      most: 0,
      self: { pid: 1, uid: 1, node: "node" },
      facts: (pid) => Promise.resolve(pid === 42 && signals.length === 0 ? facts : undefined),
      processesIn: () => Promise.resolve([]),
      numberAt: unused,
      signal: (_, name) => {
        signals.push(name);
      },
    };
  }

  async function signalled(facts: ProcessFacts | undefined, directory = data()): Promise<string[]> {
    writeFileSync(join(home, "postmaster.pid"), `42\n${directory}\n${started}\n`);
    const processes = machine(facts);
    await stopLeftover(home, processes, realClock);
    expect(readdirSync(home)).toEqual([]);
    return processes.signals;
  }

  it("a server that is left over is asked to stop where id, start and directory match", async () => {
    expect(await signalled({ startedAt: started + 1, place: home })).toEqual(["INT"]);
    expect(await signalled({ startedAt: started - 3, place: `/bin/postgres -D ${home}` })).toEqual(["INT"]);
  });

  it("a directory whose server has ended in order is left as it is", async () => {
    const processes = { ...machine(undefined), facts: () => Promise.reject(new Error("not asked")) };
    await stopLeftover(home, processes, realClock);
    expect([processes.signals, readdirSync(home)]).toEqual([[], []]);
  });

  it("a server is left alone where its id was given to another process", async () => {
    expect(await signalled({ startedAt: started + 3.1, place: home })).toEqual([]);
    expect(await signalled({ startedAt: started - 3.1, place: home })).toEqual([]);
    expect(await signalled({ startedAt: started, place: "/elsewhere" })).toEqual([]);
    expect(await signalled({ startedAt: started, place: home }, "/elsewhere")).toEqual([]);
    expect(await signalled(undefined)).toEqual([]);
  });

  it("the processes of the machine are looked through once where nothing is left over", async () => {
    writeFileSync(join(home, "postmaster.pid"), `42\n${home}\n${started}\n`);
    let looks = 0;
    const processesIn = () => {
      looks += 1;
      return Promise.resolve([]);
    };
    await stopLeftover(home, { ...machine(undefined), processesIn }, realClock);
    expect([looks, readdirSync(home)]).toEqual([1, []]);
  });

  it("sessions that outlive their server, which was killed, are ended before another one starts beside them", async () => {
    const clock = quickClock();
    writeFileSync(join(home, "postmaster.pid"), `42\n${home}\n${started}\n`);
    let ends = false;
    const sessions = new Set([43, 44]);
    const told: string[] = [];
    const processes: Processes = {
      ...machine(undefined),
      processesIn: (directory) => Promise.resolve(directory === home ? [...sessions] : []),
      signal: (pid, name) => {
        told.push(`${name} ${pid} at ${clock.at}`);
        if (ends && name === "QUIT") sessions.delete(pid);
      },
    };
    const stop = () => stopLeftover(home, processes, clock);
    await expect(stop()).rejects.toThrow(`does not stop: end process 43`);
    expect(readdirSync(home)).toEqual(["postmaster.pid"]);
    [clock.at, ends] = [0, true];
    told.splice(0);
    await stop();
    expect(told).toEqual(["INT 43 at 0", "INT 44 at 0", "QUIT 43 at 10000", "QUIT 44 at 10000"]);
    expect(readdirSync(home)).toEqual([]);
  });

  /** A server that ends at a signal, or never; answers the signals, when each was sent, and the failure. */
  async function stopping(endsAt: "INT" | "QUIT" | undefined): Promise<[string[], string | undefined]> {
    const clock = quickClock();
    writeFileSync(join(home, "postmaster.pid"), `42\n${home}\n${started}\n`);
    const signals: string[] = [];
    const processes: Processes = {
      ...machine(undefined),
      facts: () =>
        Promise.resolve(
          signals.some((one) => one.startsWith(endsAt ?? "-")) ? undefined : { startedAt: started, place: home },
        ),
      signal: (pid, name) => void signals.push(`${name} ${pid} at ${clock.at}`),
    };
    const failure = await stopLeftover(home, processes, clock).then(
      () => undefined,
      (error: unknown) => String(error),
    );
    return [signals, failure];
  }

  it("a server that does not stop when it is asked is told to, and one that goes on then is named", async () => {
    expect(await stopping("INT")).toEqual([["INT 42 at 0"], undefined]);
    expect(readdirSync(home)).toEqual([]);
    expect(await stopping("QUIT")).toEqual([["INT 42 at 0", "QUIT 42 at 10000"], undefined]);
    expect(readdirSync(home)).toEqual([]);
    expect(await stopping(undefined)).toEqual([
      ["INT 42 at 0", "QUIT 42 at 10000"],
      `ServerFailed: a server that was left over in ${home} does not stop: end process 42`,
    ]);
    expect(readdirSync(home)).toEqual(["postmaster.pid"]);
  });
});

/** A clock that is ahead by what is waited for, at once. */
function quickClock() {
  const clock = {
    at: 0,
    now: () => clock.at,
    after: (ms: number, task: () => void) => {
      clock.at += ms;
      setImmediate(task);
      return () => {};
    },
  };
  return clock;
}
