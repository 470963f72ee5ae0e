import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, type Cluster, get, itemsOf, namesOf, post, remove, textAt } from "./kube.ts";
import type { Widgets } from "./widget.ts";

export function listsConform(host: Host): void {
  describe("listing", () => {
    it("shows a namespace's objects by name, at a resourceVersion not older than any of them", async () => {
      const { cluster, widgets } = await host.open();
      await makeAll(cluster, widgets, ["b", "a", "c"]);
      const all = await get(cluster, widgets.in(cluster));
      expect([all.body["kind"], namesOf(all)]).toEqual(["WidgetList", ["a", "b", "c"]]);
      const newest = Math.max(...itemsOf(all).map((item) => Number(textAt(item, "metadata.resourceVersion"))));
      expect(Number(textAt(all.body, "metadata.resourceVersion"))).toBeGreaterThanOrEqual(newest);
      expect(itemsOf(all)[0]).toMatchObject({ kind: "Widget", status: { observedGeneration: -1 } });
    });

    it("shows all namespaces where none is named", async () => {
      const { cluster, widgets } = await host.open();
      await makeAll(cluster, widgets, ["a"]);
      await makeAll({ ...cluster, namespace: "default" }, widgets, ["a"]);
      const found = itemsOf(await get(cluster, widgets.all)).map((item) => textAt(item, "metadata.namespace"));
      expect(found).toEqual(expect.arrayContaining([cluster.namespace, "default"]));
    });

    it("goes page by page through one moment, whatever changes meanwhile", async () => {
      const { cluster, widgets } = await host.open();
      await makeAll(cluster, widgets, ["a", "b", "c", "d", "e"]);
      const first = await get(cluster, widgets.in(cluster), { limit: "2" });
      expect([namesOf(first), at(first.body, "metadata.remainingItemCount")]).toEqual([["a", "b"], 3]);
      await remove(cluster, widgets.at(cluster, "d"));
      await makeAll(cluster, widgets, ["f"]);
      const next = (answer: typeof first) =>
        get(cluster, widgets.in(cluster), { limit: "2", continue: textAt(answer.body, "metadata.continue") });
      const second = await next(first);
      expect(namesOf(second)).toEqual(["c", "d"]);
      const third = await next(second);
      expect([namesOf(third), at(third.body, "metadata.continue")]).toEqual([["e"], ""]);
      expect(at(third.body, "metadata.resourceVersion")).toBe(at(first.body, "metadata.resourceVersion"));
    });

    it.each([
      ["a=1", ["both", "one"]],
      ["a==1,b=2", ["both"]],
      ["a!=1", ["none"]],
      ["b", ["both"]],
      ["!b", ["none", "one"]],
      ["a in (1, 2)", ["both", "one"]],
      ["b notin (2)", ["none", "one"]],
    ])("takes the label selector %s", async (labelSelector, expected) => {
      const { cluster, widgets } = await host.open();
      const labels = { none: {}, one: { a: "1" }, both: { a: "1", b: "2" } };
      for (const [name, of] of Object.entries(labels)) {
        await post(cluster, widgets.in(cluster), widgets.body(name, { size: 1 }, { labels: of }));
      }
      expect(namesOf(await get(cluster, widgets.in(cluster), { labelSelector }))).toEqual(expected);
    });

    it("takes field selectors by name, and by type for Secrets, and refuses what it does not know", async () => {
      const { cluster, widgets } = await host.open();
      await makeAll(cluster, widgets, ["a", "b"]);
      expect(namesOf(await get(cluster, widgets.in(cluster), { fieldSelector: "metadata.name=b" }))).toEqual(["b"]);
      expect((await get(cluster, widgets.in(cluster), { fieldSelector: "spec.size=1" })).status).toBe(400);
      const secrets = `/api/v1/namespaces/${cluster.namespace}/secrets`;
      await post(cluster, secrets, { metadata: { name: "x" }, type: "example.dev/key" });
      await post(cluster, secrets, { metadata: { name: "y" } });
      const typed = await get(cluster, secrets, { fieldSelector: "type=example.dev/key" });
      expect(namesOf(typed)).toEqual(["x"]);
      expect(itemsOf(typed)[0]).not.toHaveProperty("kind");
    });

    it("answers 404 for a kind that is not served", async () => {
      const { cluster } = await host.open();
      expect((await get(cluster, "/apis/example.dev/v1/nothings")).status).toBe(404);
    });
  });
}

async function makeAll(cluster: Cluster, widgets: Widgets, names: readonly string[]): Promise<void> {
  for (const name of names) await post(cluster, widgets.in(cluster), widgets.body(name));
}
