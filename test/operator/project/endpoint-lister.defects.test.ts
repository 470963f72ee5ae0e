import { describe, expect, test } from "vitest";
import { probe } from "../../../src/operator/connection/probe.ts";
import { BranchLister } from "../../../src/operator/project/branch-lister.ts";
import { EndpointLister } from "../../../src/operator/project/endpoint-lister.ts";
import { OperationTimes } from "../../../src/operator/project/operation-times.ts";
import { Operations } from "../../../src/operator/project/operations.ts";
import { createLogger } from "../../../src/operator/runtime/log.ts";
import { endpoint, operation } from "../../support/builders.ts";
import { clientOf, json, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const defect = (): never => {
  throw new TypeError("a defect of the operator");
};

/** What all parts share, with a log whose lines a test reads. */
function setUp() {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const service = new ScriptedService(({ path }) =>
    path.endsWith("/branches")
      ? json(200, { branches: [{ id: "br-main", name: "main" }] })
      : json(200, {
          endpoints: [endpoint()],
          operations: [operation()],
          account_id: "acc",
          auth_method: "api_key_user",
          projects: [],
        }),
  );
  const lines: string[] = [];
  const log = createLogger({ level: "info", destination: { write: (line) => void lines.push(line) }, clock });
  const client = clientOf(service, clock);
  const woken: string[] = [];
  const common = { clock, signal: stop.signal, log, client, projectID: "shop", refreshIntervalMs: () => 30_000 };
  const enqueue = (uids: Iterable<string>) => void woken.push(...uids);
  return { ...common, stop, service, lines, woken, enqueue };
}

describe("a defect in a list of endpoints", () => {
  test("a list whose answer meets a defect is logged, wakes who waits, and is retried ever more rarely", async () => {
    const { stop, service, lines, woken, ...common } = setUp();
    const lister = new EndpointLister({ ...common, onListed: defect });
    lister.use("compute", "ep-one");
    await common.clock.advance(100);
    expect(lines.join("")).toContain("a defect of the operator");
    expect(woken).toContain("compute");
    await common.clock.advance(10_000);
    const { message } = lister.failure ?? {};
    expect(message).toContain("see the log of the operator");
    expect(service.count("/endpoints")).toBe(4);
    await common.clock.advance(600_000);
    expect(service.count("/endpoints")).toBeLessThan(40);
    stop.abort();
  });

  test("a list counts again after a defect has passed", async () => {
    const { stop, service, lines, woken, ...common } = setUp();
    let isBroken = true;
    const lister = new EndpointLister({ ...common, onListed: () => (isBroken ? defect() : undefined) });
    lister.use("compute", "ep-one");
    await common.clock.advance(10_000);
    isBroken = false;
    await common.clock.advance(40_000);
    expect([lister.failure, lister.observed?.endpoints.length]).toEqual([undefined, 1]);
    expect([service.count("/endpoints"), woken.length > 0, lines.length]).toEqual([6, true, 4]);
    stop.abort();
  });

  test("a list that ends with the process is no defect", async () => {
    const { stop, service, lines, woken, ...common } = setUp();
    service.script = () => new Promise(() => {});
    const lister = new EndpointLister(common);
    lister.use("compute", "ep-one");
    await common.clock.advance(100);
    stop.abort(new Error("the operator is stopping"));
    await common.clock.advance(60_000);
    expect([lines, woken, service.count("/endpoints")]).toEqual([[], [], 1]);
  });
});

test("a list of branches whose answer meets a defect is logged, wakes who waits, and shows as a failure", async () => {
  const { stop, lines, ...common } = setUp();
  let defects = 1;
  const woken: string[] = [];
  const enqueue = (uids: Iterable<string>) => {
    defects -= 1;
    if (defects >= 0) defect();
    woken.push(...uids);
  };
  const lister = new BranchLister({ ...common, enqueue, tenant: () => "" });
  lister.use("compute", "main");
  await common.clock.advance(10_000);
  expect(lines.join("")).toContain("a defect of the operator");
  expect(woken).toContain("compute");
  stop.abort();
});

test("a poll of operations whose answer meets a defect is logged, and polls go on", async () => {
  const { stop, service, lines, ...common } = setUp();
  const operations = new Operations({
    ...common,
    priority: () => "follow",
    times: new OperationTimes(),
    isAtRestAfter: () => false,
    onPolled: defect,
  });
  operations.follow([operation()]);
  await common.clock.advance(5000);
  expect(lines.join("")).toContain("a defect of the operator");
  expect(service.count("/operations")).toBeGreaterThan(1);
  stop.abort();
});

test("a probe rejects with a defect, and ends silently if its session stops", async () => {
  const { clock, stop, client } = setUp();
  const ends: string[] = [];
  const state = {
    probeBegins: () => {},
    authShows: defect,
    projectsShow: () => {},
    probeEnds: () => ends.push("state"),
  };
  const options = { client, organizationID: undefined, signal: stop.signal, onEnd: () => ends.push("end") };
  const asked = probe({ ...options, state }).catch((error: unknown) => error);
  await clock.settle();
  expect(String(await asked)).toContain("a defect of the operator");
  stop.abort(new Error("stopped"));
  await probe({ ...options, state });
  expect(ends).toEqual(["state", "end", "state"]);
});
