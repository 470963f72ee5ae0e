import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, get, patch, post, remove, textAt } from "./kube.ts";

const hold = "example.dev/hold";
const release = [{ op: "remove", path: "/metadata/finalizers" }];

export function controllersConform(host: Host): void {
  describe("the end of a namespace", () => {
    it("marks its content, takes nothing new, and comes when the last finalizer is gone", async () => {
      const { cluster, widgets } = await host.open();
      const path = widgets.at(cluster, "one");
      const home = `/api/v1/namespaces/${cluster.namespace}`;
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers: [hold] }));
      await post(cluster, `${home}/secrets`, { metadata: { name: "key" } });
      const deleted = await remove(cluster, home);
      expect([deleted.status, at(deleted.body, "status.phase")]).toEqual([200, "Terminating"]);
      await cluster.eventually("the widget to be marked", async () =>
        at((await get(cluster, path)).body, "metadata.deletionTimestamp"),
      );
      await cluster.eventually("the Secret to be gone", async () =>
        (await get(cluster, `${home}/secrets/key`)).status === 404 ? true : undefined,
      );
      const late = await post(cluster, widgets.in(cluster), widgets.body("two"));
      expect([late.status, late.body["reason"]]).toEqual([403, "Forbidden"]);
      expect(at(late.body, "details.causes.0.reason")).toBe("NamespaceTerminating");
      await patch(cluster, path, release);
      await cluster.eventually("the namespace to be gone", async () =>
        (await get(cluster, home)).status === 404 ? true : undefined,
      );
    });
  });

  describe("the end of a definition", () => {
    it("marks every instance, shows it on itself, takes nothing new, and comes when the last is gone", async () => {
      const { cluster, widgets } = await host.openOwnWidgets();
      const path = widgets.at(cluster, "one");
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers: [hold] }));
      await remove(cluster, widgets.definition);
      await cluster.eventually("the widget to be marked", async () =>
        at((await get(cluster, path)).body, "metadata.deletionTimestamp"),
      );
      const definition = await get(cluster, widgets.definition);
      expect(textAt(definition.body, "metadata.deletionTimestamp")).toMatch(/Z$/);
      const late = await post(cluster, widgets.in(cluster), widgets.body("two"));
      expect([late.status, late.body["reason"]]).toEqual([403, "Forbidden"]);
      await patch(cluster, path, release);
      await cluster.eventually("the definition to be gone", async () =>
        (await get(cluster, widgets.definition)).status === 404 ? true : undefined,
      );
    });
  });

  describe("garbage collection", () => {
    it("deletes what an object owned when that is gone, and nothing that another still owns", async () => {
      const { cluster, widgets } = await host.open();
      const owner = await post(cluster, widgets.in(cluster), widgets.body("owner"));
      const other = await post(cluster, widgets.in(cluster), widgets.body("other"));
      const ref = (body: unknown) => ({
        apiVersion: `${widgets.group}/v1`,
        kind: "Widget",
        name: textAt(body, "metadata.name"),
        uid: textAt(body, "metadata.uid"),
      });
      const secrets = `/api/v1/namespaces/${cluster.namespace}/secrets`;
      await post(cluster, secrets, { metadata: { name: "owned", ownerReferences: [ref(owner.body)] } });
      await post(cluster, secrets, {
        metadata: { name: "shared", ownerReferences: [ref(owner.body), ref(other.body)] },
      });
      await remove(cluster, widgets.at(cluster, "owner"));
      await cluster.eventually("what was owned to be gone", async () =>
        (await get(cluster, `${secrets}/owned`)).status === 404 ? true : undefined,
      );
      expect((await get(cluster, `${secrets}/shared`)).status).toBe(200);
    });
  });
}
