import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Installation } from "./installation.ts";

// One story, in order.

let installation: Installation;
beforeAll(async () => {
  installation = await Installation.start({ host: "::1" });
});
afterAll(() => installation?.[Symbol.asyncDispose]());

describe("on a cluster whose API server listens on ::1 only", () => {
  it("the operator of deploy makes the computes of the samples", async () => {
    expect(installation.cluster.url).toMatch(/^https:\/\/\[::1\]:\d+$/);
    await installation.install("deploy");
    await installation.applySamples();
    await installation.samplesReady();
  });

  it("its metrics are served on IPv6 too, by a Service of both families", async () => {
    const { url } = installation.operator;
    const metrics = await fetch(`${url.replace("127.0.0.1", "[::1]")}/metrics`);
    expect(await metrics.text()).toContain("compute_operator_leader");
    const service = ["get", "service", "compute-operator-metrics", "-n", "compute-operator-system"];
    const families = await installation.kubectl(...service, "-o", "jsonpath={.spec.ipFamilies}");
    expect(JSON.parse(families)).toEqual(["IPv6", "IPv4"]);
  });
});
