import { expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { ManyProjects } from "./many-projects.ts";
import { Tenants } from "./tenants.ts";

const [computes, projects, refreshMs] = [300, 10, 30_000];

/** The requests of a fleet until it is ready, and in ten refreshes at rest. */
async function requestsOf(branchOf: (n: number) => Record<string, string>) {
  await using tenants = new Tenants();
  const { clock } = tenants;
  const many = new ManyProjects(clock, { answersAfterMs: 5, operationMs: 50, locks: false });
  let requests = 0;
  tenants.behaves("fleet.test", (request) => {
    requests += 1;
    return many.behaviour(request);
  });
  tenants.tenant("fleet", "fleet.test", { spec: { requestBudget: { perMinute: 60_000, burst: 1000 } } });
  await clock.advance(3000);
  const from = clock.monotonic();
  for (let n = 0; n < computes; n += 1) {
    tenants.declare("fleet", `c-${n}`, { projectID: `p-${n % projects}`, ...branchOf(n) });
  }
  for (let second = 0; second < 60 && !tenants.computes("fleet").every(isReady); second += 1) await clock.advance(1000);
  expect(tenants.computes("fleet").every(isReady)).toBe(true);
  await clock.advance(2 * refreshMs);
  const refreshes = Math.ceil((clock.monotonic() - from) / refreshMs);
  const meanwhile = { branches: many.branchesListed.length, most: projects * refreshes };
  const [before, lists, branches] = [requests, many.lists, many.branchesListed.length];
  await clock.advance(10 * refreshMs);
  const atRest = {
    endpoints: many.lists - lists,
    branches: many.branchesListed.length - branches,
    requests: requests - before,
  };
  return { writes: many.writes.length, meanwhile, atRest };
}

it("300 Computes with branchName in 10 projects: one list of branches per project and refresh, none without", {
  timeout: 60_000,
}, async () => {
  const byName = await requestsOf((n) => ({ branchName: `branch ${n}` }));
  const byID = await requestsOf((n) => ({ branchID: `br-${n}` }));
  expect([byName.writes, byID.writes]).toEqual([computes, computes]);
  expect(byName.meanwhile.branches).toBeLessThanOrEqual(byName.meanwhile.most);
  expect(byName.atRest).toMatchObject({ endpoints: 10 * projects, branches: 10 * projects });
  expect(byID.meanwhile.branches + byID.atRest.branches).toBe(0);
  expect(byName.atRest.requests).toBe(byID.atRest.requests + byName.atRest.branches);
});
