import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { said } from "./conditions/conditions.ts";
import { main, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const create = `POST ${endpoints}`;
const linkedTo = (id: string | undefined) => ({ "compute-operator.dev/endpoint-id": id ?? "" });

describe.concurrent("the link to an endpoint", () => {
  it("outlives a wiped status, which is rebuilt", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    const wipe = (object: { status?: Record<string, unknown> }) => {
      object.status = {};
    };
    await shop.cluster.modify("Compute", shop.namespace, "db", wipe, true);
    const after = await shop.until("db", "its status", ({ metadata, status }) => {
      return metadata.resourceVersion !== before.metadata.resourceVersion && status.state === "Active";
    });
    expect(after.status).toMatchObject({ endpointID: before.status.endpointID, host: before.status.host });
    expect(shop.writes).toEqual([create]);
  });

  it("outlives kubectl replace, which drops finalizer and annotations: both are put back", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const before = await shop.ready("db");
    await shop.replace("db");
    const after = await shop.until("db", "its link", ({ metadata }) => metadata.finalizers !== undefined);
    expect(after.metadata.annotations).toMatchObject(linkedTo(before.status.endpointID));
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    expect(shop.writes).toEqual([create, `DELETE ${endpoints}/${before.status.endpointID}`]);
  });

  it("outlives a restore from a backup into a new namespace, where the uid is another: nothing is made or lost", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { computeUnits: { min: 1, max: 2 } });
    const before = await shop.ready("db");
    const backup = await shop.cluster.get("Compute", shop.namespace, "db");
    await shop.edit("db", { deletionPolicy: "Retain" });
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    const restored = await shop.addNamespace();
    await shop.computeIn(restored, "db", backup.spec ?? {}, { annotations: backup.metadata.annotations ?? {} });
    const after = await shop.ready("db", restored);
    expect(after.status).toMatchObject({ endpointID: before.status.endpointID, host: before.status.host });
    expect(shop.writes).toEqual([create]);

    await shop.cluster.modify("Compute", restored, "db", (object) => {
      object.spec = { ...object.spec, computeUnits: { min: 1, max: 4 } };
    });
    await shop.until("db", "4 CU", ({ status }) => status.size === "1–4 CU", restored);
    await shop.cluster.delete("Compute", restored, "db");
    await shop.gone("db", restored);
    expect(await shop.event("db", "Released", restored)).toMatch(
      /only an annotation links it.*spec\.adopt\.endpointID/,
    );
    expect(shop.endpoints.map(({ id }) => id)).toEqual([before.status.endpointID]);
    expect(shop.writes).toHaveLength(2);
  });

  it("the link is written once there is room for it: full annotations are reported, and no other endpoint is made", async () => {
    const shop = await stage().scenario();
    const full = { "example.com/notes": "x".repeat(262_120) };
    await shop.computeIn(shop.namespace, "db", {}, { annotations: full });
    const reported = await shop.until("db", "Rejected", ({ status }) => status.conditions?.[0]?.reason === "Rejected");
    expect(said(reported)).toMatch(/refused the operator's patch of this Compute: .*annotations.*Too long/);
    expect(reported.status.pendingWrite).toMatchObject({ operation: "create" });
    await shop.cluster.modify("Compute", shop.namespace, "db", ({ metadata }) => {
      metadata.annotations = {};
    });
    await shop.ready("db");
    expect(shop.writes).toEqual([create]);
  });

  it("outlives a restore together with the connection Secret, which names a former uid: it is removed and created again", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { connectionSecret: { name: "details" } });
    const before = await shop.ready("db");
    const { kind, metadata, spec } = await shop.cluster.get("Compute", shop.namespace, "db");
    const secret = await shop.cluster.get("Secret", shop.namespace, "details");
    await shop.edit("db", { deletionPolicy: "Retain" });
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    await shop.cluster.clear("Secret", shop.namespace, "details");
    const { labels = {}, annotations = {}, ownerReferences = [] } = secret.metadata;
    const restored = { name: "details", labels, annotations, ownerReferences };
    await shop.cluster.create("Secret", shop.namespace, { ...secret, metadata: restored });
    await shop.compute("db", spec, { annotations: metadata.annotations ?? {} });
    const former = ownerReferences[0]?.uid;
    // The garbage collector of a control plane that was only just started does not know the kind yet.
    await eventually(
      "another Secret",
      async () => {
        const found = await shop.cluster.find("Secret", shop.namespace, "details");
        return found !== undefined && found.metadata.ownerReferences?.[0]?.uid !== former ? true : undefined;
      },
      { timeoutMs: 90_000 },
    );
    const after = await shop.ready("db");
    expect(after.status).toMatchObject({ endpointID: before.status.endpointID, binding: { name: "details" } });
    const owner = [{ kind, name: "db", uid: after.metadata.uid }];
    expect((await shop.cluster.get("Secret", shop.namespace, "details")).metadata.ownerReferences).toMatchObject(owner);
    expect(shop.writes).toEqual([create]);
  });

  it("a link that was copied with the manifest into another namespace is a Conflict, and deletes nothing", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const original = await shop.ready("db");
    const elsewhere = await shop.addNamespace();
    await shop.computeIn(elsewhere, "db", {}, { annotations: linkedTo(original.status.endpointID) });
    const copy = await shop.reason("db", "Conflict", elsewhere);
    expect(said(copy)).toContain(`belongs to Compute ${shop.namespace}/db`);
    await shop.cluster.delete("Compute", elsewhere, "db");
    await shop.gone("db", elsewhere);
    await shop.lists(2);
    expect(shop.history("db").at(-1)?.status.state).toBe("Active");
    expect(shop.writes).toEqual([create]);
  });

  it("a link that was copied in the same namespace under another name deletes nothing either", async () => {
    const shop = await stage().scenario();
    await shop.compute("db");
    const original = await shop.ready("db");
    await shop.compute("copy", { branchID: preview }, { annotations: linkedTo(original.status.endpointID) });
    await shop.reason("copy", "Conflict");
    await shop.cluster.delete("Compute", shop.namespace, "copy");
    await shop.gone("copy");
    expect(shop.writes).toEqual([create]);
  });

  it("a link that was typed by hand never deletes the endpoint", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-victim", branchID: main }] });
    await shop.compute("db", {}, { annotations: linkedTo("ep-victim") });
    await shop.ready("db");
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    expect(await shop.event("db", "Released")).toContain("ep-victim is kept");
    expect(shop.endpoints.map(({ id }) => id)).toEqual(["ep-victim"]);
    expect(shop.writes).toEqual([]);
  });
});

describe.concurrent("adoption", () => {
  it("adoption by id takes over, patches what differs, and with deletionPolicy Delete the endpoint goes with the Compute", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    const adopt = { endpointID: "ep-theirs" };
    const deletionPolicy = "Delete";
    const size = { computeUnits: { min: 2, max: 2 }, postgresSettings: { work_mem: "8MB" } };
    await shop.compute("db", { adopt, deletionPolicy, ...size });
    const adopted = await shop.ready("db");
    expect(adopted.status).toMatchObject({ endpointID: "ep-theirs", size: "2 CU" });
    expect(shop.writes).toEqual([`PATCH ${endpoints}/ep-theirs`]);
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
  });

  it("changes nothing in production that the manifest does not name", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    const before = shop.endpoint("ep-theirs");
    await shop.compute("db", { adopt: { branchPrimary: true } });
    await shop.ready("db");
    await shop.lists(2);
    expect(shop.writes).toEqual([]);
    expect(shop.endpoint("ep-theirs")).toEqual(before);
  });

  it("the adoption of a branch's primary creates a missing primary", async () => {
    const shop = await stage().scenario();
    await shop.compute("db", { adopt: { branchPrimary: true } });
    await shop.ready("db");
    expect(shop.writes).toEqual([create]);
  });

  it("the adoption of an endpoint by id makes no other in its place when it was later lost", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-theirs", branchID: main }] });
    await shop.compute("db", { adopt: { endpointID: "ep-theirs" } });
    await shop.ready("db");
    shop.console("DELETE", `${endpoints}/ep-theirs`);
    const refused = await shop.reason("db", "AdoptionRefused");
    expect(said(refused)).toContain("was deleted at the service, and no replacement is created");
    expect(shop.writes).toEqual([]);
  });
});
