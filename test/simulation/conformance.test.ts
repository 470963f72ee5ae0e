import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { VirtualClock } from "../support/virtual-clock.ts";
import { ApiServer } from "./api-server/server.ts";
import { InMemoryClusterTransport } from "./api-server/transport.ts";
import { type Bench } from "./conformance/host.ts";
import { type Cluster, post } from "./conformance/kube.ts";
import { conformance } from "./conformance/suite.ts";
import { installWidgets } from "./conformance/widget.ts";
import { seededRandom } from "./random.ts";

conformance("the API server in memory", { open, openOwnWidgets: open, openForgetful: open });

async function open(): Promise<Bench & { forgetHistory: () => Promise<void> }> {
  const clock = new VirtualClock();
  const server = new ApiServer({ clock, random: seededRandom(1), controllerManager: true });
  const cluster: Cluster = {
    transport: new InMemoryClusterTransport(server, clock),
    namespace: "one",
    eventually: async (what, check) => {
      for (let waited = 0; waited < 10_000; waited += 100) {
        const found = await check();
        if (found !== undefined) return found;
        await clock.advance(100);
      }
      throw new Error(`${what}: not so after 10 s`);
    },
  };
  for (const name of ["one", "two"]) await post(cluster, "/api/v1/namespaces", { metadata: { name } });
  const computes: unknown = parse(readFileSync("crds/computes.yaml", "utf8"));
  await post(cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", computes);
  const forgetHistory = async () => server.store.compact();
  return { cluster, widgets: await installWidgets(cluster, "example.dev"), forgetHistory };
}
