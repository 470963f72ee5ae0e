import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, get, patch, post, remove, textAt } from "./kube.ts";

const hold = "example.dev/hold";

export function deletionConforms(host: Host): void {
  describe("deleting", () => {
    it("removes an object without finalizers at once and names its uid", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const gone = await remove(cluster, widgets.at(cluster, "one"));
      expect([gone.status, gone.body["kind"], at(gone.body, "details.uid")]).toEqual([
        200,
        "Status",
        textAt(made.body, "metadata.uid"),
      ]);
      const read = await get(cluster, widgets.at(cluster, "one"));
      expect([read.status, read.body["reason"]]).toEqual([404, "NotFound"]);
      expect((await remove(cluster, widgets.at(cluster, "one"))).status).toBe(404);
    });

    it("only marks one with finalizers, once, and raises its generation", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers: [hold] }));
      const marked = await remove(cluster, widgets.at(cluster, "one"));
      expect([marked.status, marked.body["kind"]]).toEqual([200, "Widget"]);
      expect(textAt(marked.body, "metadata.deletionTimestamp")).toMatch(/Z$/);
      expect(at(marked.body, "metadata.deletionGracePeriodSeconds")).toBe(0);
      expect(at(marked.body, "metadata.generation")).toBe(2);
      const again = await remove(cluster, widgets.at(cluster, "one"));
      expect(at(again.body, "metadata.resourceVersion")).toBe(at(marked.body, "metadata.resourceVersion"));
    });

    it("lets no finalizer be added, nor the mark be taken away", async () => {
      const { cluster, widgets } = await host.open();
      const path = widgets.at(cluster, "one");
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers: [hold] }));
      await remove(cluster, path);
      const added = await patch(cluster, path, [
        { op: "add", path: "/metadata/finalizers/-", value: "example.dev/more" },
      ]);
      expect([added.status, added.body["reason"], at(added.body, "details.name")]).toEqual([422, "Invalid", "one"]);
      const undone = await patch(cluster, path, [{ op: "remove", path: "/metadata/deletionTimestamp" }]);
      expect(undone.status).toBe(200);
      expect(textAt(undone.body, "metadata.deletionTimestamp")).toMatch(/Z$/);
    });

    it("lets spec, annotations and status still be changed", async () => {
      const { cluster, widgets } = await host.open();
      const path = widgets.at(cluster, "one");
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers: [hold] }));
      await remove(cluster, path);
      const changed = await patch(cluster, path, [
        { op: "replace", path: "/spec/size", value: 2 },
        { op: "add", path: "/metadata/annotations", value: { a: "1" } },
      ]);
      expect([changed.status, at(changed.body, "metadata.generation")]).toEqual([200, 3]);
      const status = await patch(cluster, `${path}/status`, [
        { op: "add", path: "/status", value: { state: "going" } },
      ]);
      expect(at(status.body, "status.state")).toBe("going");
    });

    it("ends with the last finalizer, and leaves those of others", async () => {
      const { cluster, widgets } = await host.open();
      const path = widgets.at(cluster, "one");
      const finalizers = [hold, "example.dev/other"];
      await post(cluster, widgets.in(cluster), widgets.body("one", { size: 1 }, { finalizers }));
      await remove(cluster, path);
      const first = await patch(cluster, path, release(hold));
      expect(at(first.body, "metadata.finalizers")).toEqual(["example.dev/other"]);
      const last = await patch(cluster, path, release("example.dev/other"));
      expect([last.status, last.body["kind"]]).toEqual([200, "Widget"]);
      // By this the operator knows that the object is gone.
      expect(at(last.body, "metadata.finalizers") ?? []).toEqual([]);
      expect(textAt(last.body, "metadata.deletionTimestamp")).toMatch(/Z$/);
      expect((await get(cluster, path)).status).toBe(404);
    });

    it("is refused with 409 where the uid or the resourceVersion is another", async () => {
      const { cluster, widgets } = await host.open();
      const path = widgets.at(cluster, "one");
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const uid = await remove(cluster, path, options({ uid: "other" }));
      expect([uid.status, uid.body["reason"]]).toEqual([409, "Conflict"]);
      const version = await remove(cluster, path, options({ resourceVersion: "1" }));
      expect([version.status, version.body["reason"]]).toEqual([409, "Conflict"]);
      const right = {
        uid: textAt(made.body, "metadata.uid"),
        resourceVersion: textAt(made.body, "metadata.resourceVersion"),
      };
      expect((await remove(cluster, path, options(right))).status).toBe(200);
    });
  });
}

function release(name: string): object[] {
  return [
    { op: "test", path: "/metadata/finalizers/0", value: name },
    { op: "remove", path: "/metadata/finalizers/0" },
  ];
}

function options(preconditions: object): object {
  return { kind: "DeleteOptions", apiVersion: "v1", preconditions };
}
