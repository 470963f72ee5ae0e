import { expect, test } from "vitest";
import { deleteAll, requestsWhileHeld, settled } from "./held-deletions.ts";
import { group } from "./large-fleet.ts";

test("each of 200 deletions that the brake holds back says so once, and nothing is read for it", async () => {
  const { first, after } = await requestsWhileHeld(200);
  expect([first.sent, after.sent]).toEqual([60, 120]);
  // Each that is sent says so, lets its finalizer go, and has one read of the CRD before it; those who wait share one.
  expect(first.patches).toBeLessThanOrEqual(200 + 3 * 60);
  expect(first.events).toBeLessThanOrEqual(200 + 2 * 60);
  expect(first.crdReads).toBeLessThanOrEqual(60 + 6);
  expect(after.patches).toBeLessThanOrEqual(3 * 120);
  expect(after.events).toBeLessThanOrEqual(2 * 120);
  expect(after.crdReads).toBeLessThanOrEqual(120);
  expect(first.computeReads + after.computeReads).toBeLessThanOrEqual(2);
});

test("a tenant's few deletions go in turn with the many of another, whatever that one's service does", async () => {
  const { tenants, clock } = await settled({ a: { projects: 30, each: 10 }, b: { projects: 1, each: 3 } });
  await using _ = tenants;
  deleteAll(tenants, "a");
  await clock.advance(20_000);
  deleteAll(tenants, "b");
  // The brake opens a minute after its first deletion; then every other place is the second tenant's.
  await clock.advance(55_000);
  expect(tenants.computes("b")).toEqual([]);
  expect(tenants.computes("a").length).toBeGreaterThan(150);
});

test("where the CRD goes, deletions that wait for the brake are let go at once", async () => {
  const { tenants, clock, services } = await settled({ a: { projects: 10, each: 20 } });
  await using _ = tenants;
  deleteAll(tenants, "a");
  await clock.advance(30_000);
  const deletes = () => services.get("a")?.writes.filter(({ method }) => method === "DELETE").length;
  expect([deletes(), tenants.computes("a").length]).toEqual([60, 140]);
  tenants.send("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/computes.compute-operator.dev");
  await clock.advance(60_000);
  expect(deletes()).toBe(60);
  const { status } = tenants.server.handle({ method: "GET", path: `${group}/a/computes` });
  expect(status).toBe(404);
});
