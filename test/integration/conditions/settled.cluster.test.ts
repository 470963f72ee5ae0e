import { describe, expect, it } from "vitest";
import { main, project } from "../support/seeded-service.ts";
import { useStage } from "../support/use-stage.ts";
import { conditions, reasonsIn, said, settled } from "./conditions.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;

describe.concurrent("a Compute at rest shows", () => {
  it("Active: made with one POST, and then left alone", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { computeUnits: { min: 0.25, max: 2 } });
    const db = await shop.ready("db");
    expect(conditions(db)).toEqual(settled("Active"));
    expect(said(db)).toBe("The compute is as declared.");
    expect(db.status).toMatchObject({ state: "Active", size: "0.25–2 CU", endpointID: shop.endpoints[0]?.id });
    expect(await shop.event("db", "Created")).toContain(shop.endpoints[0]?.id);
    await shop.lists(2);
    expect(shop.writes).toEqual([`POST ${endpoints}`]);
    // Created says it: Active would say the same once more.
    const reasons = (await shop.cluster.events(shop.namespace, "db")).map(({ reason }) => reason);
    expect(reasons).toEqual(["Created"]);
  });

  it("Idle: suspended by the service and woken by a client, ready all the time and without an event", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    await shop.event("db", "Created");
    const events = (await shop.cluster.events(shop.namespace, "db")).length;
    shop.console("POST", `${endpoints}/${status.endpointID}/suspend`);
    const idle = await shop.reason("db", "Idle");
    expect(conditions(idle)).toEqual(settled("Idle"));
    expect(said(idle)).toBe("The compute is as declared and suspended. The first connection wakes it.");
    expect(idle.status.state).toBe("Idle");
    shop.console("POST", `/_connect/${status.endpointID}`);
    await shop.reason("db", "Active");
    const since = shop.history("db").slice(shop.history("db").findIndex((one) => conditionsOf(one) === "Active"));
    expect(since.map((one) => one.status.conditions?.[0]?.status)).not.toContain("False");
    expect(await shop.cluster.events(shop.namespace, "db")).toHaveLength(events);
    expect(shop.writes).toHaveLength(1);
  });

  it("Disabled: closed with one PATCH, and opened again with another", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const { status } = await shop.ready("db");
    await shop.edit("db", { disabled: true });
    const disabled = await shop.reason("db", "Disabled");
    expect(conditions(disabled)).toEqual(settled("Disabled"));
    expect(said(disabled)).toBe("The compute is as declared: disabled, so it accepts no connections.");
    expect(await shop.event("db", "Patched")).toContain("disabled");
    expect(disabled.status).toMatchObject({ state: "Disabled", disabled: true });
    await shop.edit("db", { disabled: false });
    const open = await shop.ready("db");
    expect(["Active", "Idle"]).toContain(open.status.state);
    const patch = `PATCH ${endpoints}/${status.endpointID}`;
    expect(shop.writes).toEqual([`POST ${endpoints}`, patch, patch]);
  });

  it("Drifted: with driftPolicy Report it says theirs and ours and leaves them", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { driftPolicy: "Report", computeUnits: { min: 1, max: 2 } });
    const { status } = await shop.ready("db");
    shop.console("PATCH", `${endpoints}/${status.endpointID}`, { endpoint: { autoscaling_limit_max_cu: 4 } });
    const drifted = await shop.reason("db", "Drifted");
    expect(conditions(drifted)).toEqual({ Ready: "True", Synced: "False", reason: "Drifted" });
    expect(drifted.status.drift).toEqual([{ field: "computeUnits.max", ours: "2", theirs: "4" }]);
    expect(said(drifted)).toMatch(/computeUnits\.max: theirs 4, ours 2.*driftPolicy to Correct/);
    expect(await shop.event("db", "Drifted")).toBe(said(drifted));
    await shop.lists(2);
    expect(shop.writes).toHaveLength(1);

    await shop.edit("db", { driftPolicy: "Correct" });
    const back = await shop.until("db", "its size", (db) => db.status.size === "1–2 CU" && isAtRest(db));
    expect(back.status.drift).toBeUndefined();
    expect(shop.writes).toHaveLength(2);
  });

  it("Observed: what adopt names is shown, with what Manage would change, and nothing is sent before that is asked", async () => {
    const shop = await stage().scenario();
    const { endpoint } = shop.console("POST", endpoints, {
      endpoint: {
        branch_id: main,
        type: "read_write",
        autoscaling_limit_min_cu: 1,
        autoscaling_limit_max_cu: 1,
      },
    });
    const adopt = { endpointID: endpoint.id };
    await shop.compute("db", { adopt, managementPolicy: "Observe", computeUnits: { min: 2, max: 2 } });
    const seen = await shop.reason("db", "Observed");
    expect(conditions(seen)).toEqual({ Ready: "True", Synced: "False", reason: "Observed" });
    expect(said(seen)).toMatch(/managementPolicy is Observe.*computeUnits\.min \(ours 2, theirs 1\)/);
    expect(seen.status).toMatchObject({
      state: "Active",
      size: "1 CU",
      endpointID: endpoint.id,
      deletionPolicy: "Retain",
    });
    expect(seen.metadata.finalizers).toBeUndefined();
    await shop.lists(2);
    expect(shop.writes).toEqual([]);

    await shop.edit("db", { managementPolicy: "Manage" });
    await shop.until("db", "its size", (db) => db.status.size === "2 CU" && isAtRest(db));
    expect(shop.writes).toEqual([`PATCH ${endpoints}/${endpoint.id}`]);
  });

  it("Drifted, and still carries out the user's own edits", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { driftPolicy: "Report", computeUnits: { min: 1, max: 2 } });
    const { status } = await shop.ready("db");
    shop.console("PATCH", `${endpoints}/${status.endpointID}`, { endpoint: { autoscaling_limit_max_cu: 4 } });
    await shop.reason("db", "Drifted");
    await shop.edit("db", { pooler: { enabled: true } });
    await shop.until("db", "the new generation", (db) => db.status.appliedGeneration === 2 && isAtRest(db));
    await shop.reason("db", "Drifted");
    expect(shop.endpoint(status.endpointID)).toMatchObject({ pooler_enabled: true, autoscaling_limit_max_cu: 4 });
    expect(shop.calls.findLast(({ method }) => method === "PATCH")?.body).toEqual({
      endpoint: { pooler_enabled: true },
    });
  });

  it("WaitingForWindow: a change of size waits, ready all the same, and what cuts no connections is sent", async () => {
    const shop = await stage().scenario();
    const today = new Date().getUTCDay();
    const closed = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][(today + 3) % 7];
    const disruption = { windows: [{ days: [closed], from: "02:00", to: "05:00" }] };
    await shop.compute("db", { computeUnits: { min: 1, max: 2 }, scaleToZero: { enabled: false }, disruption });
    const { status } = await shop.ready("db");
    await shop.edit("db", { computeUnits: { min: 1, max: 4 }, passwordlessAccess: false });
    const waiting = await shop.reason("db", "WaitingForWindow");
    expect(conditions(waiting)).toEqual({ Ready: "True", Synced: "False", reason: "WaitingForWindow" });
    expect(waiting.status).toMatchObject({
      waiting: [{ field: "computeUnits.max", ours: "4" }],
      appliedGeneration: waiting.metadata.generation,
      observedGeneration: waiting.metadata.generation,
    });
    expect(new Date(waiting.status.nextWindow ?? "").getUTCHours()).toBe(2);
    expect(shop.endpoint(status.endpointID)).toMatchObject({ passwordless_access: false, autoscaling_limit_max_cu: 2 });
    expect(await shop.event("db", "WaitingForWindow")).toBe(said(waiting));
    await shop.annotate("db", "disruptionUntil", new Date(Date.now() + 3_600_000).toISOString());
    const sent = await shop.until("db", "its size", (db) => db.status.size === "1–4 CU" && isAtRest(db));
    expect(sent.status.waiting).toBeUndefined();
    expect(shop.writes).toHaveLength(3);
  });

  it("Paused: nothing is sent, Ready stays, Synced shows an unsent change, observedGeneration stands still", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { computeUnits: { min: 1, max: 2 } });
    await shop.ready("db");
    await shop.annotate("db", "paused", "true");
    expect(conditions(await shop.reason("db", "Paused"))).toEqual(settled("Paused"));
    await shop.edit("db", { computeUnits: { min: 1, max: 4 } });
    const paused = await shop.until("db", "Synced to show the change", ({ metadata, status }) => {
      const synced = status.conditions?.find(({ type }) => type === "Synced");
      return metadata.generation === 2 && synced?.status === "False";
    });
    await shop.lists(2);
    expect(conditions(shop.history("db").at(-1) ?? paused)).toEqual({ ...settled("Paused"), Synced: "False" });
    expect(shop.history("db").at(-1)?.status.observedGeneration).toBe(1);
    expect(
      shop
        .history("db")
        .at(-1)
        ?.status.conditions?.map((one) => one.observedGeneration),
    ).toEqual([1, 1]);
    expect(said(paused)).toMatch(
      /^Nothing is sent while the annotation compute-operator\.dev\/paused is set\. Remove it/,
    );
    expect(await shop.event("db", "Paused")).toBe(said(paused));
    expect(shop.writes).toHaveLength(1);

    await shop.annotate("db", "paused", undefined);
    const back = await shop.ready("db");
    expect(back.status.size).toBe("1–4 CU");
    expect(shop.writes).toHaveLength(2);
  });
});

function conditionsOf(compute: Parameters<typeof conditions>[0]): string | undefined {
  return reasonsIn([compute])[0];
}

function isAtRest({ status }: Parameters<typeof conditions>[0]): boolean {
  return status.conditions?.[0]?.status === "True";
}
