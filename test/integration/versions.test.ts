import { expect, it } from "vitest";
import { ClusterUnreachable } from "../../src/operator/kube/errors.ts";
import type { ClusterTransport, WatchLine } from "../../src/operator/kube/transport.ts";
import { eventually } from "../support/eventually.ts";
import { Versions } from "./support/versions.ts";

function compute(name: string, resourceVersion: string) {
  return {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "Compute",
    metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion },
    spec: { projectID: "shop", branchID: "br-main" },
  };
}

/** Each watch sends the lines of one entry, and the API server ends it then; the last one stays open. */
function transportOf(lists: unknown[][], watches: WatchLine[][]) {
  const since: (string | undefined)[] = [];
  const transport: ClusterTransport = {
    request: async () => ({ status: 200, body: { metadata: { resourceVersion: "10" }, items: lists.shift() ?? [] } }),
    async *watch({ query }, { signal }) {
      since.push(query["resourceVersion"]);
      yield* watches.shift() ?? [];
      if (watches.length === 0) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  return { transport, since };
}

const modified = (name: string, version: string) => ({ type: "MODIFIED", object: compute(name, version) });

it("what the API server shows after it has ended a watch is seen too, from the last version on", async () => {
  const { transport, since } = transportOf(
    [[compute("db", "9")]],
    [[modified("db", "11")], [modified("db", "12")], []],
  );
  const versions = new Versions(transport);
  await versions.until("shop", "db", "version 12", (db) => db?.metadata.resourceVersion === "12");
  versions.stop();
  expect(since.slice(0, 2)).toEqual(["10", "11"]);
  expect(versions.of("shop", "db").map(({ metadata }) => metadata.resourceVersion)).toEqual(["9", "11", "12"]);
});

it("a watch that is cut off misses no version either: the next one continues where it was", async () => {
  const { transport, since } = transportOf([[compute("db", "9")]], [[modified("db", "11")], []]);
  let isCut = false;
  const cut: ClusterTransport = {
    request: (request, options) => transport.request(request, options),
    async *watch(request, options) {
      for await (const line of transport.watch(request, options)) {
        yield line;
        if (isCut) continue;
        isCut = true;
        throw new ClusterUnreachable("watch: the connection was reset");
      }
    },
  };
  const versions = new Versions(cut);
  await eventually("the second watch", () => since.length > 1 || undefined);
  versions.stop();
  expect(since).toEqual(["10", "11"]);
});

it("where the version of a watch has expired, a list shows what there is and what is gone", async () => {
  const expired = { type: "ERROR", object: { kind: "Status", code: 410 } };
  const { transport, since } = transportOf(
    [[compute("db", "9"), compute("old", "8")], [compute("db", "14")]],
    [[modified("db", "11"), expired], []],
  );
  const versions = new Versions(transport);
  await versions.until("shop", "db", "version 14", (db) => db?.metadata.resourceVersion === "14");
  await versions.until("shop", "old", "its end", (old) => old === undefined);
  versions.stop();
  expect(since.every((version) => version === "10")).toBe(true);
  expect(versions.of("shop", "db").map(({ metadata }) => metadata.resourceVersion)).toEqual(["9", "11", "14"]);
});
