import { describe, expect, it } from "vitest";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { AdvanceableClock } from "../../../src/service/clock.ts";
import { jsonReply } from "../../../src/service/http/message.ts";
import { kubectl } from "../../control-plane/shared-control-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { realClock } from "../../support/real-clock.ts";
import { newKey, revokeFirstKey } from "../support/keys.ts";
import { keySecret } from "../support/manifests.ts";
import { expectPauses } from "../support/pauses.ts";
import { main, preview, project } from "../support/seeded-service.ts";
import { useStage } from "../support/use-stage.ts";
import { conditions, inProgress, said, unseen } from "./conditions.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;

/** What a status shows of the endpoint: it stays as last seen. */
const seenOf = ({ status }: Compute) => [status.endpointID, status.state, status.size, status.currentState];

describe.concurrent("while something is in the way that passes, a Compute shows", () => {
  it("WaitingForTurn, as a ready member of a pool of which another is not, until that one is", async () => {
    const shop = await stage().scenario();
    const pool = (size: number) => ({
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      metadata: { name: "db" },
      spec: { replicas: 2, template: { projectID: project, branchID: main, computeUnits: { min: size, max: size } } },
    });
    await shop.cluster.create("ComputePool", shop.namespace, pool(1));
    const members = await Promise.all(["db-0", "db-1"].map((name) => shop.ready(name)));
    const refused = members[1]?.status.endpointID ?? "";
    const message = JSON.stringify({ request_id: "", code: "", message: "no such size" });
    const headers = { "content-type": "application/json" };
    shop.host.instead = ({ method, path }) =>
      method === "PATCH" && path.endsWith(refused) ? { status: 400, headers, body: message } : undefined;
    await shop.cluster.modify("ComputePool", shop.namespace, "db", (object) => {
      object.spec = pool(2).spec;
    });
    await shop.reason("db-1", "Rejected");
    await shop.cluster.modify("ComputePool", shop.namespace, "db", (object) => {
      object.spec = pool(3).spec;
    });
    const waiting = await shop.reason("db-0", "WaitingForTurn");
    expect(conditions(waiting)).toEqual({
      Ready: "True",
      Synced: "False",
      reason: "WaitingForTurn",
    });
    expect(said(waiting)).toContain("at most 1 of the replicas of ComputePool db may be unavailable");
    shop.host.instead = undefined;
    await Promise.all(
      ["db-0", "db-1"].map((name) => shop.until(name, "its size", ({ status }) => status.size === "3 CU")),
    );
  });

  it("ProjectBusy, if somebody else's change locks the project, and continues automatically", async () => {
    // The lock lasts for minutes, until the test advances the service's clock.
    const clock = new AdvanceableClock(realClock);
    const shop = await stage().scenario({
      endpoints: [{ id: "ep-other", branchID: preview }],
      service: { timeScale: 0.001 },
      clock,
    });
    shop.console("PATCH", `${endpoints}/ep-other`, { endpoint: { autoscaling_limit_max_cu: 4 } });
    await shop.compute("db");
    const busy = await shop.reason("db", "ProjectBusy");
    expect(conditions(busy)).toEqual(inProgress("ProjectBusy"));
    expect(busy.status.state).toBe("NotCreated");
    expect(said(busy)).toMatch(/running conflicting operations.*Retried automatically/);
    expect(await shop.event("db", "ProjectBusy")).toBe(said(busy));
    const advancing = setInterval(() => clock.advance(60_000), 50);
    await shop.ready("db").finally(() => clearInterval(advancing));
    expect(shop.endpoints).toHaveLength(2);
    const refused = shop.calls.filter(({ method, status }) => method === "POST" && status === 423);
    expect(refused.length).toBeGreaterThan(1);
    expectPauses(refused, { firstMs: 100, mostMs: 10_000 });
  });

  it("RateLimited, and sends nothing before Retry-After is over", async () => {
    const shop = await stage().scenario();
    shop.faults({ kind: "429", method: "POST", count: 1, retryAfter: 10 });
    await shop.compute("db");
    const limited = await shop.reason("db", "RateLimited");
    expect(conditions(limited)).toEqual(inProgress("RateLimited"));
    expect(said(limited)).toContain("allows no more requests for now (rate limit exceeded)");
    expect(await shop.event("db", "RateLimited")).toBe(said(limited));
    await shop.ready("db");
    const refused = shop.calls.findIndex(({ status }) => status === 429);
    const waited = (shop.calls[refused + 1]?.at ?? 0) - (shop.calls[refused]?.at ?? 0);
    expect(waited).toBeGreaterThan(10_000 / 5 - 50);
    expect(shop.writes).toEqual([create, create]);
  });

  it.each(["503", "500", "html", "cut", "drop-before"] as const)(
    "ServiceUnavailable, where every list ends in %s, and asks ever more rarely",
    async (kind) => {
      const shop = await stage().scenario();
      await shop.compute("db");
      const before = await shop.ready("db");
      shop.faults({ kind, method: "GET", route: endpoints });
      const unavailable = await shop.reason("db", "ServiceUnavailable");
      expect(conditions(unavailable)).toEqual(unseen("ServiceUnavailable"));
      expect(seenOf(unavailable)).toEqual(seenOf(before));
      expect(said(unavailable)).toMatch(/^The service is not available: .+\. Retried automatically\.$/);
      expect(await shop.event("db", "ServiceUnavailable")).toBe(said(unavailable));
      shop.clearCalls();
      await shop.lists(2);
      const [first, second] = shop.calls.filter(({ path }) => path === endpoints);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(500);
      shop.faults();
      const after = await shop.ready("db");
      expect(after.status.endpointID).toBe(before.status.endpointID);
      expect(shop.writes).toEqual([]);
    },
  );

  it("CreateUnknown, where the reply was lost, until a list shows the endpoint", async () => {
    const shop = await stage().scenario();
    shop.faults({ kind: "drop-after", method: "POST", count: 1 });
    await shop.compute("db", { type: "read_only" });
    await shop.ready("db");
    const unknown = shop.history("db").find(({ status }) => status.conditions?.[0]?.reason === "CreateUnknown");
    if (unknown === undefined) throw new Error("it never showed CreateUnknown");
    expect(conditions(unknown)).toEqual(inProgress("CreateUnknown"));
    expect(unknown.status.state).toBe("Creating");
    expect(said(unknown)).toContain("before another create is sent");
    expect(await shop.event("db", "CreateUnknown")).toBe(said(unknown));
    expect(await shop.event("db", "Created")).toContain("the reply to the create was lost");
    expect(shop.writes).toEqual([create]);
    expect(shop.endpoints).toHaveLength(1);
  });

  it("CreateUnknown, where the request was lost, until it is safe to send another", async () => {
    const shop = await stage().scenario();
    shop.faults({ kind: "drop-before", method: "POST", count: 1 });
    await shop.compute("db", { type: "read_only" });
    const waiting = await shop.until("db", "the time it waits", (db) => said(db).includes("--create-settle"));
    expect(conditions(waiting)).toEqual(inProgress("CreateUnknown"));
    expect(waiting.status.pendingWrite).toMatchObject({ operation: "create", branchID: waiting.spec.branchID });
    const ready = await shop.ready("db");
    expect(ready.status.pendingWrite).toBeUndefined();
    expect(shop.endpoints).toHaveLength(1);
    const [first, second] = shop.calls.filter(({ method }) => method === "POST");
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(8000 / 5);
    expect(shop.writes).toEqual([create, create]);
  });

  it("Unauthorized, where the key is revoked: all calls stop but a probe, and nothing counts as gone", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    revokeFirstKey(shop);
    const revoked = await shop.reason("db", "Unauthorized");
    expect(conditions(revoked)).toEqual(unseen("Unauthorized"));
    expect(seenOf(revoked)).toEqual(seenOf(before));
    expect(said(revoked)).toContain('Put a valid key into Secret "service-api-key"');
    expect(await shop.event("db", "Unauthorized")).toBe(said(revoked));
    const sent = shop.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(shop.calls.length - sent).toBeLessThanOrEqual(1);

    await shop.setKey(newKey(shop));
    const after = await shop.ready("db");
    expect(after.status.endpointID).toBe(before.status.endpointID);
    expect(shop.writes).toEqual([create]);
  });

  it("Forbidden, if the key may not do it, and tries again automatically", async () => {
    const shop = await stage().scenario();
    shop.host.instead = ({ method }) =>
      method === "POST" ? jsonReply(403, { request_id: "r", code: "", message: "this key may only read" }) : undefined;
    await shop.compute("db");
    const forbidden = await shop.reason("db", "Forbidden");
    expect(conditions(forbidden)).toEqual(inProgress("Forbidden"));
    expect(said(forbidden)).toMatch(
      /may not create the endpoint on branch \S+ \(this key may only read\).*another key/,
    );
    expect(await shop.event("db", "Forbidden")).toBe(said(forbidden));
    expectPauses(
      shop.calls.filter(({ method }) => method === "POST"),
      { firstMs: 5_000, mostMs: 300_000 },
    );
    shop.host.instead = undefined;
    await shop.ready("db");
    expect(shop.endpoints).toHaveLength(1);
    expect(shop.writes.every((write) => write === create)).toBe(true);
    expect(shop.calls.filter(({ method, status }) => method === "POST" && status === 201)).toHaveLength(1);
  });

  it("Forbidden, where the key is for another project, until there is one for this", async () => {
    const shop = await stage().scenario();
    const wanted = { project: { name: "other", org_id: "org-shop" } };
    const { project: other }: { project: { id: string } } = shop.console("POST", "/projects", wanted);
    await shop.setKey(newKey(shop, other.id));
    await shop.compute("db");
    const forbidden = await shop.reason("db", "Forbidden");
    expect(conditions(forbidden)).toEqual(unseen("Forbidden"));
    expect(forbidden.status.state).toBe("NotCreated");
    expect(said(forbidden)).toMatch(/not allowed to perform actions outside the project.*another key/);
    expect(await shop.event("db", "Forbidden")).toBe(said(forbidden));
    expect(shop.writes).toEqual([]);
    await shop.setKey("org-key");
    await shop.ready("db");
    expect(shop.writes).toEqual([create]);
  });

  it("ConnectionNotFound, until there is a connection of that name", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionRef: { name: "other" } });
    const waiting = await shop.reason("db", "ConnectionNotFound");
    expect(conditions(waiting)).toEqual(unseen("ConnectionNotFound"));
    expect(said(waiting)).toContain(`There is no ServiceConnection "other" in namespace "${shop.namespace}"`);
    expect(await shop.event("db", "ConnectionNotFound")).toBe(said(waiting));
    expect(shop.calls.filter(({ path }) => path === endpoints)).toEqual([]);
    await shop.cluster.create("ServiceConnection", shop.namespace, shop.connection({}, "other"));
    await shop.ready("db");
    expect(shop.writes).toEqual([create]);
  });

  it("ConnectionNotReady, where the Secret is missing or of another type, until it is right", async () => {
    const shop = await stage().scenario({ connection: { apiKeySecretRef: { name: "elsewhere" } } });
    await shop.cluster.create("Secret", shop.namespace, { ...keySecret("org-key", "elsewhere"), type: "Opaque" });
    await shop.compute("db");
    const waiting = await shop.reason("db", "ConnectionNotReady");
    expect(conditions(waiting)).toEqual(unseen("ConnectionNotReady"));
    expect(said(waiting)).toMatch(/no Secret "elsewhere" of type compute-operator\.dev\/api-key/);
    expect(await shop.event("db", "ConnectionNotReady")).toBe(said(waiting));
    expect(shop.calls).toEqual([]);
    await shop.cluster.delete("Secret", shop.namespace, "elsewhere");
    await shop.cluster.create("Secret", shop.namespace, keySecret("org-key", "elsewhere"));
    await shop.ready("db");
    expect(shop.writes).toEqual([create]);
  });

  it("ProjectNotFound, where the project was given to others, and takes nothing for gone", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    shop.console("PUT", `/_admin/projects/${project}/owner`, { owner: "acc-ana" });
    const lost = await shop.reason("db", "ProjectNotFound");
    expect(conditions(lost)).toEqual(unseen("ProjectNotFound"));
    expect(seenOf(lost)).toEqual(seenOf(before));
    expect(said(lost)).toContain("Check spec.projectID");
    expect(await shop.event("db", "ProjectNotFound")).toBe(said(lost));
    shop.console("PUT", `/_admin/projects/${project}/owner`, { owner: "org-shop" });
    const after = await shop.ready("db");
    expect(after.status.endpointID).toBe(before.status.endpointID);
    expect(shop.writes).toEqual([create]);
  });

  it("BranchNotReady, until the Branch that branchRef names is there and ready", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { branchRef: { name: "pr-1" } });
    const waiting = await shop.reason("db", "BranchNotReady");
    expect(conditions(waiting)).toEqual(inProgress("BranchNotReady"));
    expect(said(waiting)).toContain('no Branch "pr-1"');
    await shop.cluster.create("Branch", shop.namespace, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Branch",
      metadata: { name: "pr-1" },
      spec: { projectID: project, expiry: { after: "1h" } },
    });
    const after = await shop.ready("db");
    expect(shop.endpoint(after.status.endpointID).branch_id).toBe(after.status.resolvedBranch?.id);
  });

  it("Expired, while the Branch that branchRef names is over, which is no failure", async () => {
    const shop = await stage().scenario();
    await shop.cluster.create("Branch", shop.namespace, {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "Branch",
      metadata: { name: "pr-1" },
      spec: { projectID: project, expiry: { at: "2026-01-01T00:00:00Z" } },
    });
    await shop.compute("db", { branchRef: { name: "pr-1" } });
    const isExpired = ({ status }: Compute) => status.conditions?.[0]?.reason === "Expired";
    const over = await shop.until("db", "its end", isExpired);
    expect(conditions(over)).toEqual({ Expired: "True", Synced: "True", reason: "Expired" });
    expect(said(over)).toMatch(/^Expired: Branch "pr-1" came to its end/);
    const of = ["--namespace", shop.namespace];
    await kubectl([...of, "wait", "compute/db", "brn/pr-1", "--for=condition=Expired", "--timeout=20s"]);
    const table = await kubectl([...of, "get", "computes,brn"]);
    expect(table.match(/NotCreated +Expired|Expired +Expired/g)).toHaveLength(2);
    expect(shop.writes).toEqual([]);
    await shop.cluster.modify("Branch", shop.namespace, "pr-1", (object) => {
      object.spec = { ...object.spec, expiry: { after: "1h" } };
    });
    await shop.ready("db");
  });

  it("BranchNotFound, until the spec names a branch that is there", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { branchID: "br-nowhere" });
    const waiting = await shop.reason("db", "BranchNotFound");
    expect(conditions(waiting)).toEqual(inProgress("BranchNotFound"));
    expect(said(waiting)).toMatch(/on branch br-nowhere: branch not found.*Create the branch, or name another/);
    expect(await shop.event("db", "BranchNotFound")).toBe(said(waiting));
    expectPauses(
      shop.calls.filter(({ method }) => method === "POST"),
      { firstMs: 5_000, mostMs: 300_000 },
    );
    await shop.edit("db", { branchID: preview });
    await shop.ready("db");
    expect(shop.endpoints).toHaveLength(1);
  });

  it("EndpointLost, if it was deleted outside the operator, and creates another with new connection details", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    shop.console("DELETE", `${endpoints}/${before.status.endpointID}`);
    const lost = await shop.reason("db", "EndpointLost");
    expect(conditions(lost)).toEqual(inProgress("EndpointLost"));
    expect(lost.status.state).toBe("Lost");
    expect(said(lost)).toBe(
      `Endpoint ${before.status.endpointID} was deleted outside the operator. A replacement is created, with new connection details.`,
    );
    expect(await shop.event("db", "EndpointLost")).toBe(said(lost));
    const after = await shop.ready("db");
    expect(after.status.host).not.toBe(before.status.host);
    await eventually("the event of the new one", async () => {
      const events = await shop.cluster.events(shop.namespace, "db");
      return events.find(({ message }) => message.includes("in place of the one that was lost"));
    });
    expect(shop.writes).toEqual([create, create]);
  });
});
