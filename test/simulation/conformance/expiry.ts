import { describe, expect, it, onTestFinished } from "vitest";
import type { Host } from "./host.ts";
import { at, type Cluster, get, post, remove, textAt, Watching } from "./kube.ts";

export function expiryConforms(host: Host): void {
  describe("forgotten history", () => {
    it("ends a watch from before with an ERROR line of 410 Expired", async () => {
      const { cluster, widgets, forgetHistory } = await host.openForgetful();
      const list = await get(cluster, widgets.in(cluster));
      const resourceVersion = textAt(list.body, "metadata.resourceVersion");
      await post(cluster, widgets.in(cluster), widgets.body("one"));
      await remove(cluster, widgets.at(cluster, "one"));
      await forgetHistory();
      const watching = await watchOnceReady(cluster, widgets.in(cluster), resourceVersion);
      const [line] = watching.lines;
      expect([line?.type, at(line?.object, "code"), at(line?.object, "reason")]).toEqual(["ERROR", 410, "Expired"]);
    });

    it("ends a paged list begun before with 410 Expired", async () => {
      const { cluster, widgets, forgetHistory } = await host.openForgetful();
      for (const name of ["a", "b", "c"]) await post(cluster, widgets.in(cluster), widgets.body(name));
      const first = await get(cluster, widgets.in(cluster), { limit: "1" });
      await remove(cluster, widgets.at(cluster, "c"));
      await forgetHistory();
      const query = { limit: "1", continue: textAt(first.body, "metadata.continue") };
      const second = await get(cluster, widgets.in(cluster), query);
      expect([second.status, second.body["reason"]]).toEqual([410, "Expired"]);
    });
  });
}

/** A watch that ran to its end; a server that has just been restarted refuses some before it is ready. */
function watchOnceReady(cluster: Cluster, path: string, resourceVersion: string): Promise<Watching> {
  return cluster.eventually("a watch to be served", async () => {
    const watching = new Watching(cluster, path, { resourceVersion });
    onTestFinished(() => watching.stop());
    return (await watching.end()) === "in order" ? watching : undefined;
  });
}
