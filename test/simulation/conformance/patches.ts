import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, get, patch, post } from "./kube.ts";

export function patchesConform(host: Host): void {
  describe("JSON Patch", () => {
    it("is carried out where its tests hold", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const version = {
        op: "test",
        path: "/metadata/resourceVersion",
        value: at(made.body, "metadata.resourceVersion"),
      };
      const added = { op: "add", path: "/metadata/annotations", value: { "example.dev/mark": "yes" } };
      const patched = await patch(cluster, widgets.at(cluster, "one"), [uidTest(made.body), version, added]);
      expect(patched.status).toBe(200);
      expect(at(patched.body, "metadata.annotations")).toEqual({ "example.dev/mark": "yes" });
      const more = { op: "add", path: "/metadata/annotations/example.dev~1more", value: "1" };
      const again = await patch(cluster, widgets.at(cluster, "one"), [more]);
      expect(at(again.body, "metadata.annotations")).toEqual({ "example.dev/mark": "yes", "example.dev/more": "1" });
    });

    it.each([
      ["tests another uid", { op: "test", path: "/metadata/uid", value: "other" }],
      ["tests an old resourceVersion", { op: "test", path: "/metadata/resourceVersion", value: "1" }],
      ["tests what is not there", { op: "test", path: "/metadata/annotations/none", value: "1" }],
      ["removes what is not there", { op: "remove", path: "/metadata/annotations" }],
      ["adds below what is not there", { op: "add", path: "/metadata/annotations/a", value: "1" }],
      ["tests a finalizer that is not there", { op: "test", path: "/metadata/finalizers/0", value: "a" }],
    ])("that %s is refused whole with 422 Invalid, naming no object", async (_, operation) => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const change = { op: "replace", path: "/spec/size", value: 2 };
      const refused = await patch(cluster, widgets.at(cluster, "one"), [uidTest(made.body), change, operation]);
      expect([refused.status, refused.body["reason"], at(refused.body, "details.name")]).toEqual([
        422,
        "Invalid",
        undefined,
      ]);
      const read = await get(cluster, widgets.at(cluster, "one"));
      expect(at(read.body, "spec.size")).toBe(1);
    });

    it("that sets another resourceVersion is a conflict, and one that sets another uid is invalid", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const path = widgets.at(cluster, "one");
      const version = await patch(cluster, path, [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }]);
      expect([version.status, version.body["reason"]]).toEqual([409, "Conflict"]);
      const uid = await patch(cluster, path, [{ op: "replace", path: "/metadata/uid", value: "other" }]);
      expect([uid.status, uid.body["reason"], at(uid.body, "details.name")]).toEqual([422, "Invalid", "one"]);
    });

    it("that replaces a member that is not there adds it", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const named = await patch(cluster, widgets.at(cluster, "one"), [
        { op: "replace", path: "/spec/name", value: "a" },
      ]);
      expect([named.status, at(named.body, "spec.name")]).toEqual([200, "a"]);
    });

    it("that breaks the schema is refused, naming the object", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const broken = await patch(cluster, widgets.at(cluster, "one"), [
        { op: "replace", path: "/spec/size", value: 99 },
      ]);
      expect([broken.status, at(broken.body, "details.name")]).toEqual([422, "one"]);
    });

    it("that changes nothing leaves the resourceVersion as it is, but for the first, which stores the defaults", async () => {
      const { cluster, widgets } = await host.open();
      const same = () => patch(cluster, widgets.at(cluster, "one"), [{ op: "replace", path: "/spec/size", value: 1 }]);
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      const first = await same();
      const second = await same();
      expect([first.status, second.status]).toEqual([200, 200]);
      expect(at(first.body, "metadata.resourceVersion")).not.toBe(at(made.body, "metadata.resourceVersion"));
      expect(at(second.body, "metadata.resourceVersion")).toBe(at(first.body, "metadata.resourceVersion"));
    });

    it("of something that is not there is 404 NotFound", async () => {
      const { cluster, widgets } = await host.open();
      const missing = await patch(cluster, widgets.at(cluster, "none"), [{ op: "add", path: "/spec/size", value: 1 }]);
      expect([missing.status, missing.body["reason"]]).toEqual([404, "NotFound"]);
    });
  });
}

function uidTest(body: unknown): object {
  return { op: "test", path: "/metadata/uid", value: at(body, "metadata.uid") };
}
