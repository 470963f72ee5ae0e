import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { said } from "./conditions/conditions.ts";
import { newKey } from "./support/keys.ts";
import type { Scenario } from "./support/scenario.ts";
import { goodKey, memberKey, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

const endpoints = `/projects/${project}/endpoints`;
const members = "/_admin/organizations/org-shop/members";

/** Waits until the connection's status holds this, and nothing of an earlier spec. */
async function connectionHas(shop: Scenario, wanted: Record<string, unknown>): Promise<void> {
  await eventually(`the connection to have ${JSON.stringify(wanted)}`, async () => {
    const { status, metadata } = await shop.cluster.get("ServiceConnection", shop.namespace, "default");
    expect(status).toMatchObject({ ...wanted, observedGeneration: metadata.generation });
    return true;
  });
}

const named = (...ids: string[]) => ids.toSorted().map((id) => expect.objectContaining({ id }));
const saying = (text: string) => [expect.objectContaining({ type: "Ready", message: expect.stringContaining(text) })];

describe.concurrent("a Compute is made, changed and deleted with", () => {
  it.each([
    ["a personal key", () => memberKey, "personal"],
    ["an organization's key", () => goodKey, "organization"],
    ["a key for one project", (shop: Scenario) => newKey(shop, project), "organization"],
  ] as const)("%s", async (_, keyOf, keyType) => {
    const shop = await stage().scenario();
    const key = keyOf(shop);
    await shop.setKey(key);
    await shop.compute("db", { computeUnits: { min: 1, max: 1 } });
    await shop.ready("db");
    await connectionHas(shop, { keyType, projectCount: 1, projects: named(project) });
    await shop.edit("db", { computeUnits: { min: 2, max: 2 } });
    await shop.ready("db");
    await shop.cluster.delete("Compute", shop.namespace, "db");
    await shop.gone("db");
    expect(shop.endpoints).toEqual([]);
    expect(shop.writeCalls.map(({ method, authorization }) => [method, authorization])).toEqual(
      ["POST", "PATCH", "DELETE"].map((method) => [method, `Bearer ${key}`]),
    );
  });
});

describe.concurrent("the kind of a key", () => {
  it("the kind of a key is project once a refusal has named its project, and only the Computes of others are refused", async () => {
    const shop = await stage().scenario();
    const { project: other }: { project: { id: string } } = shop.console("POST", "/projects", {
      project: { name: "other", org_id: "org-shop" },
    });
    await shop.setKey(newKey(shop, project));
    await shop.compute("db");
    await shop.ready("db");
    await connectionHas(shop, { keyType: "organization" });
    await shop.compute("strange", { projectID: other.id, branchID: preview });
    const refused = await shop.reason("strange", "Forbidden");
    expect(said(refused)).toContain(`subject_project_id:"${project}"`);
    await connectionHas(shop, { keyType: "project", projectCount: 1 });
    await shop.ready("db");
    await shop.setKey(goodKey);
    await connectionHas(shop, { keyType: "organization", projectCount: 2 });
  });

  it("the kind of a key is personal for somebody's own, whose projects organizationID narrows down, at once", async () => {
    const shop = await stage().scenario();
    const own: { project: { id: string } } = shop.console("POST", "/projects", { project: { name: "own" } }, memberKey);
    await shop.setKey(memberKey);
    await connectionHas(shop, { keyType: "personal", projectCount: 2, projects: named(own.project.id, project) });
    await shop.editConnection({ organizationID: "org-shop" });
    await connectionHas(shop, { projectCount: 1, projects: named(project) });
    await shop.editConnection({ organizationID: "org-none" });
    await connectionHas(shop, { conditions: saying("organization not found. Check spec.organizationID") });
    await shop.editConnection({ organizationID: "org-shop" });
    await shop.compute("db");
    expect((await shop.ready("db")).status.endpointID).toBe(shop.endpoints[0]?.id);
  });
});

describe.concurrent("when a key's reach ends", () => {
  it("with a membership, nothing is taken for gone: it says so, and goes on when the person is back", async () => {
    const shop = await stage().scenario();
    await shop.setKey(memberKey);
    await shop.compute("db");
    const { status } = await shop.ready("db");
    shop.clearCalls();
    shop.console("DELETE", `${members}/acc-bob`);
    const blind = await shop.reason("db", "ProjectNotFound");
    expect(said(blind)).toContain(
      "project not found. Check spec.projectID, and whether baseURL and API key of the connection reach that project.",
    );
    expect(blind.status.endpointID).toBe(status.endpointID);
    await shop.cluster.delete("Compute", shop.namespace, "db");
    const waiting = await shop.until("db", "a deletion that waits", (db) => said(db).startsWith("Deletion waits"));
    expect(said(waiting)).toContain(status.endpointID);
    await shop.lists(3);
    expect(shop.writes).toEqual([]);
    shop.console("PUT", `${members}/acc-bob`, { role: "member" });
    await shop.gone("db");
    expect(shop.writes).toEqual([`DELETE ${endpoints}/${status.endpointID}`]);
  });

  it("with its project's move to another owner, the key is refused, and another goes on", async () => {
    const shop = await stage().scenario();
    await shop.setKey(newKey(shop, project));
    await shop.compute("db");
    const { status } = await shop.ready("db");
    shop.console("PUT", `/_admin/projects/${project}/owner`, { owner: "acc-bob" });
    await shop.reason("db", "Unauthorized");
    await shop.setKey(memberKey);
    const after = await shop.ready("db");
    expect(after.status.endpointID).toBe(status.endpointID);
    expect(shop.writes).toEqual([`POST ${endpoints}`]);
  });
});
