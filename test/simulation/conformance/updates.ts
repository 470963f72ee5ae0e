import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, patch, post, put, textAt } from "./kube.ts";

export function updatesConform(host: Host): void {
  describe("PUT", () => {
    it("is refused with 409 Conflict where somebody wrote since", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const first = await put(cluster, widgets.at(cluster, "one"), { ...made.body, spec: { size: 2 } });
      expect(first.status).toBe(200);
      const stale = await put(cluster, widgets.at(cluster, "one"), { ...made.body, spec: { size: 3 } });
      expect([stale.status, stale.body["reason"]]).toEqual([409, "Conflict"]);
    });

    it("needs a resourceVersion for a custom resource and not for a Secret", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const blind = await put(cluster, widgets.at(cluster, "one"), widgets.body("one", { size: 2 }));
      expect([blind.status, blind.body["reason"]]).toEqual([422, "Invalid"]);

      const secrets = `/api/v1/namespaces/${cluster.namespace}/secrets`;
      await post(cluster, secrets, { metadata: { name: "key" }, stringData: { a: "1" } });
      const over = await put(cluster, `${secrets}/key`, { metadata: { name: "key" }, stringData: { b: "2" } });
      expect([over.status, over.body["data"]]).toEqual([200, { b: "Mg==" }]);
    });

    it("with another uid is refused with 409", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const resourceVersion = textAt(made.body, "metadata.resourceVersion");
      const metadata = { uid: "00000000-0000-4000-8000-000000000000", resourceVersion };
      const other = await put(cluster, widgets.at(cluster, "one"), widgets.body("one", { size: 2 }, metadata));
      expect([other.status, other.body["reason"]]).toEqual([409, "Conflict"]);
    });

    it("drops finalizers and annotations that it leaves out, and keeps the status", async () => {
      const { cluster, widgets } = await host.open();
      const metadata = { finalizers: ["example.dev/hold"], annotations: { a: "1" } };
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, metadata));
      const path = widgets.at(cluster, "one");
      const status = [{ op: "add", path: "/status", value: { observedGeneration: 1, state: "kept" } }];
      const seen = await patch(cluster, `${path}/status`, status);
      const resourceVersion = textAt(seen.body, "metadata.resourceVersion");
      const replaced = await put(cluster, path, widgets.body("one", { size: 1 }, { resourceVersion }));
      expect(at(replaced.body, "metadata.finalizers")).toBeUndefined();
      expect(at(replaced.body, "metadata.annotations")).toBeUndefined();
      expect(at(replaced.body, "status.state")).toBe("kept");
    });
  });
}
