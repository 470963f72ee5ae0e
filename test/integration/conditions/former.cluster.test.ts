import { describe, expect, it } from "vitest";
import { fleetOf, signatureOf } from "../../../src/operator/resources/signature.ts";
import { eventually } from "../../support/eventually.ts";
import { main, project } from "../support/seeded-service.ts";
import { useStage } from "../support/use-stage.ts";
import { conditions, said, stalled } from "./conditions.ts";

const stage = useStage({ fleet: "prod" });

const endpoints = `/projects/${project}/endpoints`;

describe("where a pool of a lost cluster is applied again, its members show", () => {
  it("FormerMembers, and so does the pool, until adoptFormer takes their endpoints over", async () => {
    const shop = await stage().scenario({ endpoints: [{ id: "ep-former", branchID: main, type: "read_only" }] });
    const uid = "00000000-0000-4000-8000-000000000000";
    const metadata = { namespace: shop.namespace, name: "readers-0", uid, resourceVersion: "1" };
    const name = signatureOf({ metadata }, fleetOf("prod"));
    shop.console("PATCH", `${endpoints}/ep-former`, { endpoint: { name } });
    const spec = { replicas: 1, template: { projectID: project, branchID: main } };
    const pool = {
      apiVersion: "compute-operator.dev/v1alpha1",
      kind: "ComputePool",
      metadata: { name: "readers" },
      spec,
    };
    await shop.cluster.create("ComputePool", shop.namespace, pool);

    const waiting = await shop.reason("readers-0", "FormerMembers");
    expect(conditions(waiting)).toEqual(stalled("FormerMembers"));
    expect(said(waiting)).toMatch(/ep-former.*Set spec\.adoptFormer: true on ComputePool readers/);
    await eventually("the pool to say so too", async () => {
      const { status } = await shop.cluster.get("ComputePool", shop.namespace, "readers");
      return JSON.stringify(status?.["conditions"]).includes('"reason":"FormerMembers"') || undefined;
    });
    await shop.lists(2);
    expect(shop.writes).toEqual([]);

    await shop.cluster.modify("ComputePool", shop.namespace, "readers", (object) => {
      object.spec = { ...spec, adoptFormer: true };
    });
    const adopted = await shop.ready("readers-0");
    expect(adopted.status.endpointID).toBe("ep-former");
    expect(shop.writes).toEqual([`PATCH ${endpoints}/ep-former`]);
  });
});
