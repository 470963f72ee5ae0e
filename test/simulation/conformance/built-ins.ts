import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, patch, post, put } from "./kube.ts";

export function builtInsConform(host: Host): void {
  describe("built-in kinds", () => {
    it("a Secret keeps its type and shows stringData as data", async () => {
      const { cluster } = await host.open();
      const secrets = `/api/v1/namespaces/${cluster.namespace}/secrets`;
      const body = {
        metadata: { name: "key" },
        type: "compute-operator.dev/api-key",
        stringData: { "api-key": "abc" },
      };
      const made = await post(cluster, secrets, body);
      expect([made.body["type"], made.body["data"], made.body["stringData"]]).toEqual([
        "compute-operator.dev/api-key",
        { "api-key": "YWJj" },
        undefined,
      ]);
      const retyped = await patch(cluster, `${secrets}/key`, [{ op: "replace", path: "/type", value: "Opaque" }]);
      expect([retyped.status, at(retyped.body, "details.name")]).toEqual([422, "key"]);
    });

    it("a Lease is made once and taken over only on its newest version", async () => {
      const { cluster } = await host.open();
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${cluster.namespace}/leases`;
      const spec = { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-01-01T00:00:00.000000Z" };
      const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "lead" }, spec };
      const made = await post(cluster, leases, body);
      expect(at(made.body, "spec.renewTime")).toBe("2026-01-01T00:00:00.000000Z");
      expect((await post(cluster, leases, body)).status).toBe(409);
      const renewed = await put(cluster, `${leases}/lead`, { ...made.body, spec: { ...spec, holderIdentity: "b" } });
      expect(renewed.status).toBe(200);
      const late = await put(cluster, `${leases}/lead`, made.body);
      expect([late.status, late.body["reason"]]).toEqual([409, "Conflict"]);
    });

    it("an event is made and its count raised", async () => {
      const { cluster } = await host.open();
      const events = `/api/v1/namespaces/${cluster.namespace}/events`;
      const involvedObject = { kind: "Widget", name: "one", namespace: cluster.namespace };
      const body = {
        metadata: { name: "one.1" },
        involvedObject,
        reason: "Made",
        message: "m",
        type: "Normal",
        count: 1,
      };
      expect((await post(cluster, events, body)).status).toBe(201);
      const raised = await patch(cluster, `${events}/one.1`, [{ op: "replace", path: "/count", value: 2 }]);
      expect([raised.status, raised.body["count"]]).toEqual([200, 2]);
    });

    it("a Compute gets the same defaults", async () => {
      const { cluster } = await host.open();
      const computes = `/apis/compute-operator.dev/v1alpha1/namespaces/${cluster.namespace}/computes`;
      const made = await post(cluster, computes, {
        apiVersion: "compute-operator.dev/v1alpha1",
        kind: "Compute",
        metadata: { name: "shop" },
        spec: { projectID: "shiny-wind-028834", branchID: "br-aged-salad-637688" },
      });
      expect(made.body["spec"]).toEqual({
        projectID: "shiny-wind-028834",
        branchID: "br-aged-salad-637688",
        connectionRef: { kind: "ServiceConnection", name: "default" },
        type: "read_write",
        driftPolicy: "Correct",
      });
      expect(made.body["status"]).toEqual({ observedGeneration: -1 });
    });
  });
}
