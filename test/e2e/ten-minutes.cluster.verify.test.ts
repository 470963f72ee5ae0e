import { expect, it } from "vitest";
import {
  apply as applyToCluster,
  createNamespace,
  kubeconfig,
  kubectl,
} from "../control-plane/shared-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import { DrivenOperator } from "./driven.ts";
import { compute, connection, goodKey, keySecret } from "./manifests.ts";

const baseURL = "http://service.test/api/v2";
const refreshSeconds = 30;
const shop = { id: "shop", branches: ["br-shop-1", "br-shop-2", "br-shop-3"] };
const blog = { id: "blog", branches: ["br-blog-1", "br-blog-2"] };
const projects = [shop, blog];
/** At the pace of life: what is idle suspends after five minutes. */
const seed = { branches: shop.branches, projects: [blog], service: { timeScale: 1 } };

it("five settled Computes over two projects cost one list per project and refresh for ten minutes, and no write", async () => {
  const namespace = await createNamespace("ten-minutes");
  await using driven = new DrivenOperator({ kubeconfig: kubeconfig(), namespace, seed });
  const computes = projects.flatMap(({ id, branches }) =>
    branches.map((branchID) => compute(branchID, { projectID: id, branchID, computeUnits: { min: 1, max: 1 } })),
  );
  const objects = [keySecret(goodKey), connection(baseURL, { refreshInterval: `${refreshSeconds}s` }), ...computes];
  await applyToCluster(objects.map((object) => inNamespace(object, namespace)));
  await eventually("all to be ready", async () => {
    await driven.clock.advance(5000);
    return (await readyComputes(namespace)) === computes.length || undefined;
  });
  // Past their first suspension, after five minutes without activity, and all that follows it.
  await driven.clock.advance(10 * 60_000);
  expect(await readyComputes(namespace)).toBe(computes.length);

  driven.clear();
  await driven.clock.advance(10 * 60_000);
  const count = (request: string) => driven.serviceRequests.filter((sent) => sent === request).length;
  const lists = projects.map(({ id }) => count(`GET /projects/${id}/endpoints`));
  expect(lists).toEqual(projects.map(() => 600 / refreshSeconds));
  const account = ["GET /auth", "GET /projects"];
  const other = driven.serviceRequests.filter((sent) => !sent.endsWith("/endpoints") && !account.includes(sent));
  expect(other).toEqual([]);
  expect(driven.serviceRequests.length - lists.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4);
  expect(driven.writes).toEqual([]);
  expect(driven.clusterRequests.some(({ method, path }) => method !== "GET" && path.includes("/leases"))).toBe(true);
}, 240_000);

function inNamespace(object: object, namespace: string): object {
  const metadata = "metadata" in object && typeof object.metadata === "object" ? object.metadata : {};
  return { ...object, metadata: { ...metadata, namespace } };
}

async function readyComputes(namespace: string): Promise<number> {
  const path = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
  const output = await kubectl(["get", "computes", "-n", namespace, `-o=jsonpath=${path}`]);
  return output.split("\n").filter((status) => status === "True").length;
}
