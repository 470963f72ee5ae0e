import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stopLeftover } from "../../../src/service/postgres/leftover.ts";
import type { Processes, ProcessFacts } from "../../../src/service/postgres/processes.ts";
import { realClock } from "../../support/real-clock.ts";

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
      self: { pid: 1, uid: 1, node: "node" },
      facts: (pid) => Promise.resolve(pid === 42 && signals.length === 0 ? facts : undefined),
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
    expect(await signalled({ startedAt: started, place: `/bin/postgres -D ${home}` })).toEqual(["INT"]);
  });

  it("a server is left alone where its id was given to another process", async () => {
    expect(await signalled({ startedAt: started + 60, place: home })).toEqual([]);
    expect(await signalled({ startedAt: started, place: "/elsewhere" })).toEqual([]);
    expect(await signalled({ startedAt: started, place: home }, "/elsewhere")).toEqual([]);
    expect(await signalled(undefined)).toEqual([]);
  });
});
