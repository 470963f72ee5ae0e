import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, patch, post } from "./kube.ts";

export function statusesConform(host: Host): void {
  describe("the status subresource", () => {
    it("changes nothing but the status", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const patched = await patch(cluster, `${widgets.at(cluster, "one")}/status`, [
        { op: "add", path: "/status", value: { observedGeneration: 1, state: "new" } },
        { op: "replace", path: "/spec/size", value: 2 },
        { op: "add", path: "/metadata/annotations", value: { a: "1" } },
      ]);
      expect(patched.body["status"]).toEqual({ observedGeneration: 1, state: "new" });
      expect(at(patched.body, "spec.size")).toBe(1);
      expect(at(patched.body, "metadata.annotations")).toBeUndefined();
      expect(at(patched.body, "metadata.generation")).toBe(1);
    });

    it("is left alone by writes to the object, whose spec alone raises the generation", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const path = widgets.at(cluster, "one");
      const status = await patch(cluster, path, [{ op: "add", path: "/status", value: { state: "ignored" } }]);
      expect(status.body["status"]).toEqual({ observedGeneration: -1 });
      const labelled = await patch(cluster, path, [{ op: "add", path: "/metadata/labels", value: { a: "1" } }]);
      expect(at(labelled.body, "metadata.generation")).toBe(1);
      const resized = await patch(cluster, path, [{ op: "replace", path: "/spec/size", value: 2 }]);
      expect(at(resized.body, "metadata.generation")).toBe(2);
    });

    it("is refused where it breaks its schema, and comes back as the default where it is removed", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const path = `${widgets.at(cluster, "one")}/status`;
      const broken = await patch(cluster, path, [{ op: "add", path: "/status", value: { observedGeneration: "1" } }]);
      expect([broken.status, broken.body["reason"]]).toEqual([422, "Invalid"]);
      await patch(cluster, path, [{ op: "add", path: "/status", value: { observedGeneration: 3, state: "x" } }]);
      const wiped = await patch(cluster, path, [{ op: "remove", path: "/status" }]);
      expect(wiped.body["status"]).toEqual({ observedGeneration: -1 });
    });
  });
}
