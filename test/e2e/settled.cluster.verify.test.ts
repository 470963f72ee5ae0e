import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writesBy } from "../control-plane/audit.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { eventually } from "../support/eventually.ts";
import { compute } from "./manifests.ts";
import { World } from "./world.ts";

const refreshSeconds = 5;
const watchedSeconds = 60;
const projects = [
  { id: "shop", branches: ["br-shop-1", "br-shop-2", "br-shop-3"] },
  { id: "blog", branches: ["br-blog-1", "br-blog-2"] },
];

let controlPlane: ControlPlane;
let world: World;
beforeAll(async () => {
  controlPlane = await startWithCrds();
  const operatorKubeconfig = await controlPlane.kubeconfigFor({ name: "the-operator", groups: ["system:masters"] });
  world = await World.start({
    cluster: controlPlane.admin,
    operatorKubeconfig,
    projects,
    operatorArgs: ["--leader-elect"],
    connection: { refreshInterval: `${refreshSeconds}s` },
  });
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await controlPlane?.stop();
});

it("a settled fleet costs one list per project and refresh, and no write but the lease's, for a minute", async () => {
  const branches = projects.flatMap(({ id, branches: names }) =>
    names.map((branchID) => ({ projectID: id, branchID })),
  );
  await world.apply(...branches.map((spec) => compute(spec.branchID, { ...spec, computeUnits: { min: 1, max: 1 } })));
  for (const { branchID } of branches) await world.waitForReady(`compute/${branchID}`);
  // What a refresh shows of the beginnings (operations that end, the last activity) is still to be written.
  await sleep(3 * refreshSeconds * 1000);

  world.counter.clear();
  const writesBefore = writesBy("the-operator", controlPlane.auditLogFile).length;
  const began = performance.now();
  const requests = () => world.counter.requests.map(({ method, path }) => `${method} ${path}`);
  const listsOf = (id: string) => requests().filter((one) => one === `GET /api/v2/projects/${id}/endpoints`).length;
  // A machine that stands still delays lists, and makes none more.
  const expected = watchedSeconds / refreshSeconds;
  await eventually(
    `${expected} lists of each project`,
    () => projects.every(({ id }) => listsOf(id) >= expected) || undefined,
    { timeoutMs: (watchedSeconds + 2 * refreshSeconds) * 1000 },
  );
  const watched = (performance.now() - began) / 1000;
  const writes = writesBy("the-operator", controlPlane.auditLogFile).slice(writesBefore);

  for (const { id } of projects) {
    expect(listsOf(id), `lists of ${id} in ${watched} s`).toBeLessThanOrEqual(watched / refreshSeconds + 1);
  }
  expect(requests().filter((request) => !/^GET \/api\/v2\/projects\/(shop|blog)\/endpoints$/.test(request))).toEqual(
    [],
  );
  const other = writes.filter(({ objectRef }) => objectRef?.resource !== "leases");
  expect(other.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
  expect(writes.length).toBeGreaterThan(0);
}, 240_000);
