import { beforeEach, expect, it } from "vitest";
import { Session } from "../../../src/operator/connection/session.ts";
import { WriteWindows } from "../../../src/operator/project/write-window.ts";
import { ApiKey } from "../../../src/operator/service-client/account.ts";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import {
  NoResponseError,
  type ServiceResponse,
  type ServiceTransport,
} from "../../../src/operator/service-client/transport.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

let clock: VirtualClock;
let session: Session;
/** Paths of the requests so far. */
let sent: string[];
/** What each request is answered; `undefined` for nothing at all. */
let answer: (path: string) => unknown;

const healthy = (path: string): unknown => {
  if (path === "/auth") return { account_id: "org-shop", auth_method: "api_key_org" };
  return path === "/projects" ? { projects: [], pagination: {} } : { endpoints: [] };
};

const transport: ServiceTransport = {
  send({ path }): Promise<ServiceResponse> {
    sent.push(path);
    const body = answer(path);
    if (body === undefined) return Promise.reject(new NoResponseError("connection refused"));
    return Promise.resolve({ status: 200, body, json: true });
  },
};

beforeEach(async () => {
  clock = new VirtualClock();
  sent = [];
  answer = healthy;
  const terms = { limits: { perMinute: 700, burst: 40 }, refreshIntervalMs: 30_000 };
  const options = {
    account: { baseURL: "https://service.example/api/v2", key: new ApiKey("k") },
    budgets: new Budgets(clock),
    namesShownBy: new Set<string>(),
    windows: new WriteWindows(clock),
    transport,
    clock,
    beforeWrite: () => undefined,
    log: silentLogger,
    enqueue: () => undefined,
    // As the connection's reconciler does with the news.
    onChange: () => session.probe(),
    onListed: () => undefined,
    onOperationEnded: () => undefined,
    signal: new AbortController().signal,
  };
  session = new Session(options, "connection", terms);
  session.probe();
  session.project("shop").use("compute", undefined);
  await clock.advance(100);
});

it("calls a service unreachable soon after its lists fail, and reachable with the first list that comes", async () => {
  expect(session.state.health.kind).toBe("reachable");
  answer = () => undefined;
  await clock.advance(90_000);
  expect(session.state.health.kind).toBe("unreachable");
  answer = (path) => (path.endsWith("/endpoints") ? healthy(path) : undefined);
  await clock.advance(30_000);
  expect(session.state.health.kind).toBe("reachable");
});

it("stays reachable where only one project's list fails, and asks no more than every half minute", async () => {
  sent = [];
  answer = (path) => (path.endsWith("/endpoints") ? undefined : healthy(path));
  await clock.advance(600_000);
  expect(session.state.health.kind).toBe("reachable");
  expect(sent.filter((path) => path === "/auth").length).toBeLessThanOrEqual(21);
});

it("no longer says that lists are stretched once no project is listed any more", async () => {
  session.join("connection", { limits: { perMinute: 1, burst: 1 }, refreshIntervalMs: 30_000 });
  await clock.advance(300_000);
  expect(session.refreshes.isStretched).toBe(true);
  session.project("shop").leave("compute");
  expect([session.refreshes.isStretched, session.refreshes.inForceMs]).toEqual([false, 30_000]);
});
