import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import { startWithCrds } from "../control-plane/crds.ts";
import { compute } from "./manifests.ts";
import { World } from "./world.ts";

let controlPlane: ControlPlane;
let world: World;
beforeAll(async () => {
  controlPlane = await startWithCrds();
});
afterAll(() => controlPlane.stop());

beforeEach(async () => {
  world = await World.start({ cluster: controlPlane.admin, operatorArgs: ["--create-settle", "15s"] });
});
afterEach(() => world[Symbol.asyncDispose]());

const replica = compute("shop", { projectID: "shop", branchID: "br-main", type: "read_only" });

/** Does something when such a request has arrived, before it goes on to the service; resolves when that is done. */
function atArrival(wanted: "POST" | "DELETE", act: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = world.counter.onRequest(({ method }) => {
      if (method !== wanted) return;
      stop();
      act().then(resolve, reject);
    });
  });
}

async function expectOneEndpoint(): Promise<void> {
  await world.waitForReady("compute/shop", 90);
  const endpoints = await world.endpoints();
  expect(endpoints).toHaveLength(1);
  const { metadata, status } = await world.compute("shop");
  expect(endpoints[0]).toMatchObject({ id: status.endpointID, name: `k8s-${metadata.uid}` });
}

describe("in the middle of a create, it continues automatically and nothing is created twice when", () => {
  it("the operator is killed and started again", async () => {
    const killed = atArrival("POST", () => world.operator.kill());
    await world.apply(replica);
    await killed;
    await world.operator.start();
    await expectOneEndpoint();
    expect(world.counter.writes).toHaveLength(1);
  });

  it("the service is killed before it can answer, and started again", async () => {
    const killed = atArrival("POST", () => world.service.kill());
    await world.apply(replica);
    await killed;
    await world.waitForReason("compute/shop", "CreateUnknown");
    await world.service.start();
    await expectOneEndpoint();
  });

  it("the service's answer is lost", async () => {
    let lost = 0;
    world.counter.instead = ({ method, path, body }) => {
      if (method !== "POST" || lost++ > 0) return undefined;
      void world.service.call(method, path.replace("/api/v2", ""), JSON.parse(body));
      return "drop";
    };
    await world.apply(replica);
    await expectOneEndpoint();
    expect(world.counter.writes).toHaveLength(1);
  });

  it("kube-apiserver is killed and started again", async () => {
    const killed = atArrival("POST", () => controlPlane.killApiServer());
    await world.apply(replica);
    await killed;
    await controlPlane.restartApiServer();
    await expectOneEndpoint();
    expect(world.counter.writes).toHaveLength(1);
  });
});

/** Requests the deletion, and does something once the service is to receive it. */
async function deletion(meanwhile: () => Promise<void>): Promise<void> {
  const interrupted = atArrival("DELETE", meanwhile);
  await world.kubectl("delete", "compute/shop", "--wait=false");
  await interrupted;
}

describe("in the middle of a deletion, nothing is left behind when", () => {
  beforeEach(async () => {
    await world.apply(replica);
    await world.waitForReady("compute/shop");
  });

  it("the operator is killed and started again", async () => {
    await deletion(() => world.operator.kill());
    await world.operator.start();
    await world.kubectl("wait", "compute/shop", "--for=delete", "--timeout=90s");
    expect(await world.endpoints()).toEqual([]);
  });

  it("kube-apiserver is killed and started again", async () => {
    await deletion(() => controlPlane.killApiServer());
    await controlPlane.restartApiServer();
    await world.kubectl("wait", "compute/shop", "--for=delete", "--timeout=90s");
    expect(await world.endpoints()).toEqual([]);
  });
});
