import { describe, expect, it } from "vitest";
import type { Host } from "./host.ts";
import { at, get, post, textAt } from "./kube.ts";

export function createsConform(host: Host): void {
  describe("creating", () => {
    it("gives an object uid, creation time, generation 1 and a resourceVersion", async () => {
      const { cluster, widgets } = await host.open();
      const made = await post(cluster, widgets.in(cluster), widgets.body("one"));
      expect(made.status).toBe(201);
      expect(textAt(made.body, "metadata.uid")).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(textAt(made.body, "metadata.creationTimestamp")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(Number(textAt(made.body, "metadata.resourceVersion"))).toBeGreaterThan(0);
      expect(at(made.body, "metadata.generation")).toBe(1);
      expect(at(made.body, "metadata.namespace")).toBe(cluster.namespace);
    });

    it("fills in defaults, also inside an object that is there, and drops what the schema does not name", async () => {
      const { cluster, widgets } = await host.open();
      const spec = { size: 1, box: { depth: 2 }, unknown: "x", color: null };
      const made = await post(cluster, widgets.in(cluster), widgets.body("one", spec));
      expect(at(made.body, "spec")).toEqual({ size: 1, color: "grey", box: { depth: 2, lid: true } });
    });

    it("drops the status and puts the default one in its place", async () => {
      const { cluster, widgets } = await host.open();
      const body = { ...widgets.body("one"), status: { state: "made up" } };
      const made = await post(cluster, widgets.in(cluster), body);
      expect(made.body["status"]).toEqual({ observedGeneration: -1 });
      const read = await get(cluster, widgets.at(cluster, "one"));
      expect(read.body["status"]).toEqual({ observedGeneration: -1 });
    });

    it("refuses a name that is taken, a namespace that is missing and a resourceVersion", async () => {
      const { cluster, widgets } = await host.open();
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      const again = await post(cluster, widgets.in(cluster), widgets.body("one"));
      expect([again.status, again.body["reason"]]).toEqual([409, "AlreadyExists"]);

      const nowhere = await post(cluster, `/apis/${widgets.group}/v1/namespaces/none/widgets`, widgets.body("one"));
      expect([nowhere.status, nowhere.body["reason"]]).toEqual([404, "NotFound"]);

      const old = await post(cluster, widgets.in(cluster), widgets.body("two", { size: 1 }, { resourceVersion: "7" }));
      expect([old.status, old.body["reason"]]).toEqual([500, undefined]);
    });

    it.each([
      ["below the minimum", { size: 0.1 }],
      ["without what is required", { color: "red" }],
      ["outside the enum", { size: 1, color: "blue" }],
      ["off the pattern", { size: 1, name: "UP" }],
      ["too long", { size: 1, name: "abcdef" }],
      ["of another type", { size: "1" }],
      ["matching two of one", { size: 1, either: { a: "x", b: "y" } }],
      ["with a map value of another type", { size: 1, labels: { a: 1 } }],
    ])("refuses a spec %s with 422 Invalid, naming the object", async (_, spec) => {
      const { cluster, widgets } = await host.open();
      const refused = await post(cluster, widgets.in(cluster), widgets.body("one", spec));
      expect([refused.status, refused.body["reason"], at(refused.body, "details.name")]).toEqual([
        422,
        "Invalid",
        "one",
      ]);
    });

    it("refuses a second owner that controls the object", async () => {
      const { cluster, widgets } = await host.open();
      const owner = { apiVersion: "v1", kind: "Secret", name: "key", controller: true };
      const owned = (ownerReferences: object[]) => widgets.body("one", { size: 1 }, { ownerReferences });
      const owners = [
        { ...owner, uid: "one" },
        { ...owner, uid: "two" },
      ];
      const refused = await post(cluster, widgets.in(cluster), owned(owners));
      expect([refused.status, refused.body["reason"]]).toEqual([422, "Invalid"]);
      const shared = owners.map((one, index) => ({ ...one, controller: index === 0 }));
      expect((await post(cluster, widgets.in(cluster), owned(shared))).status).toBe(201);
    });

    it("makes up the rest of a generated name", async () => {
      const { cluster, widgets } = await host.open();
      const body = { ...widgets.body("x"), metadata: { generateName: "some-" } };
      const made = await post(cluster, widgets.in(cluster), body);
      expect(textAt(made.body, "metadata.name")).toMatch(/^some-[a-z0-9]{5}$/);
    });
  });
}
