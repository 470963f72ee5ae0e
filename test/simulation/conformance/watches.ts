import { describe, expect, it, onTestFinished } from "vitest";
import { isNewer } from "../../../src/operator/kube/store.ts";
import type { Host } from "./host.ts";
import { at, type Cluster, get, patch, post, remove, textAt, Watching } from "./kube.ts";

const hold = "example.dev/hold";

export function watchesConform(host: Host): void {
  describe("watching", () => {
    it("tells every change after a list, in order, each as it then stood", async () => {
      const { cluster, widgets } = await host.open();
      const path = widgets.at(cluster, "one");
      const list = await get(cluster, widgets.in(cluster));
      const watching = watch(cluster, widgets.in(cluster), {
        resourceVersion: textAt(list.body, "metadata.resourceVersion"),
      });
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers: [hold] }));
      await patch(cluster, path, [{ op: "replace", path: "/spec/size", value: 2 }]);
      await remove(cluster, path);
      await patch(cluster, path, [{ op: "remove", path: "/metadata/finalizers" }]);
      expect(await watching.reported(4)).toEqual(["ADDED one", "MODIFIED one", "MODIFIED one", "DELETED one"]);
      const [added, resized, marked, deleted] = watching.lines.map((line) => line.object);
      expect([at(added, "spec.size"), at(resized, "spec.size")]).toEqual([1, 2]);
      expect(at(marked, "metadata.deletionTimestamp")).toEqual(expect.any(String));
      expect(at(deleted, "metadata.finalizers")).toEqual([hold]);
      const versions = [added, resized, marked, deleted].map((object) =>
        Number(at(object, "metadata.resourceVersion")),
      );
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
      expect(new Set(versions).size).toBe(4);
    });

    it("tells each change with the version that its writer was answered, higher than all before", async () => {
      const { cluster, widgets } = await host.open();
      const list = await get(cluster, widgets.in(cluster));
      const resourceVersion = textAt(list.body, "metadata.resourceVersion");
      const watching = watch(cluster, widgets.in(cluster), { resourceVersion });
      const made = await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }));
      const path = widgets.at(cluster, "one");
      const resized = await patch(cluster, path, [{ op: "replace", path: "/spec/size", value: 2 }]);
      const answered = [made, resized].map(({ body }) => textAt(body, "metadata.resourceVersion"));
      await watching.reported(2);
      expect(watching.lines.map(({ object }) => at(object, "metadata.resourceVersion"))).toEqual(answered);
      const [first = "", second = ""] = answered;
      expect([isNewer(first, resourceVersion), isNewer(second, first)]).toEqual([true, true]);
    });

    it("tells nothing of a write that changes nothing", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const resize = (value: number) =>
        patch(cluster, widgets.at(cluster, "one"), [{ op: "replace", path: "/spec/size", value }]);
      const resized = await resize(2);
      const resourceVersion = textAt(resized.body, "metadata.resourceVersion");
      const watching = watch(cluster, widgets.in(cluster), { resourceVersion });
      await resize(2);
      await resize(3);
      expect(await watching.reported(1)).toEqual(["MODIFIED one"]);
      expect(at(watching.lines[0]?.object, "spec.size")).toBe(3);
    });

    it("starts with what there is where no resourceVersion is given", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      await post(cluster, widgets.in(cluster), widgets.body("two"));
      const watching = watch(cluster, widgets.in(cluster), {});
      expect((await watching.reported(2)).toSorted()).toEqual(["ADDED one", "ADDED two"]);
    });

    it("tells an object that comes to match a selector as ADDED and one that ceases to as DELETED", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const resourceVersion = textAt(made.body, "metadata.resourceVersion");
      const watching = watch(cluster, widgets.in(cluster), { resourceVersion, labelSelector: "in=yes" });
      const path = widgets.at(cluster, "one");
      await patch(cluster, path, [{ op: "add", path: "/metadata/labels", value: { in: "yes" } }]);
      await patch(cluster, path, [{ op: "replace", path: "/spec/size", value: 2 }]);
      await patch(cluster, path, [{ op: "remove", path: "/metadata/labels" }]);
      expect(await watching.reported(3)).toEqual(["ADDED one", "MODIFIED one", "DELETED one"]);
    });

    it("ends in order after timeoutSeconds, as a rule with a bookmark before", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      // The real server promises no bookmark, and now and then is a moment too late with it.
      const bookmark = await cluster.eventually("a bookmark", async () => {
        const query = { allowWatchBookmarks: "true", timeoutSeconds: "4" };
        const watching = watch(cluster, widgets.in(cluster), query);
        await post(cluster, widgets.in(cluster), { ...widgets.body("x"), metadata: { generateName: "more-" } });
        expect(await watching.end()).toBe("in order");
        const found = watching.lines.findIndex(({ type }) => type === "BOOKMARK");
        return found === -1 ? undefined : { reported: watching.lines.slice(0, found), ...watching.lines[found] };
      });
      expect(at(bookmark.object, "kind")).toBe("Widget");
      // The last event may be a moment behind the last write, and a bookmark is never behind an event.
      const reported = [made.body, ...bookmark.reported.map(({ object }) => object)].map((object) => versionOf(object));
      expect(versionOf(bookmark.object)).toBeGreaterThanOrEqual(Math.max(...reported));
    });

    it("of a kind that is not served is refused with a ClusterError", async () => {
      const { cluster } = await host.open();
      const end = await watch(cluster, "/apis/example.dev/v1/nothings", {}).end();
      expect(end).toMatchObject({ name: "ClusterError", status: 404 });
    });
  });
}

/** A watch that is closed when the test is over. */
function watch(cluster: Cluster, path: string, query: Record<string, string>): Watching {
  const watching = new Watching(cluster, path, query);
  onTestFinished(() => watching.stop());
  return watching;
}

function versionOf(object: unknown): number {
  return Number(textAt(object, "metadata.resourceVersion"));
}
