import { describe, expect, test } from "vitest";
import { asRecord } from "../../src/operator/objects/record.ts";
import { main, project } from "../service/support/shop.ts";
import { Beside, kubeconfig } from "./beside.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const branch = `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: pr-1, namespace: shop}
spec: {projectID: ${project}, expiry: {after: 72h}}
`;
const observed = "adopt: {branchPrimary: true}, managementPolicy: Observe";
const seen = `managementPolicy: Observe, expiry: {never: true}, adopt: {branchID: ${main}}`;
const objects = "/apis/compute-operator.dev/v1alpha1/namespaces/shop";
const path = `${objects}/computes/shop-preview`;

/** A cluster that KUBECONFIG names, whose context is in namespace shop. */
function cluster(): Beside {
  const beside = new Beside(documents(connection, compute("shop-preview"), branch, pool("readers", 2)));
  beside.stage.env = { KUBECONFIG: beside.stage.file("kubeconfig", kubeconfig) };
  return beside;
}

function run({ stage }: Beside, line: string) {
  const [verb, ...args] = line.split(" ");
  return stage.run(verb === "pause" ? verb : "disrupt", args);
}

const annotationsOf = (beside: Beside) => asRecord(asRecord(beside.send({ method: "GET", path }).metadata).annotations);

/** Shows changes as waiting for a window, as the operator does. */
function waits(beside: Beside, value: readonly object[]): void {
  const body = [{ op: "add", path: "/status/waiting", value }];
  beside.send({ method: "PATCH", path: `${path}/status`, contentType: "application/json-patch+json", body });
}

describe("disrupt", () => {
  test("lets connections be cut until a time, and says which changes can go now", async () => {
    using beside = cluster();
    const until = new Date(beside.stage.time.now() + 1_800_000).toISOString().replace(/\.\d+Z$/, "Z");
    const named = `connections of Compute shop/shop-preview may be cut until ${until}`;
    const alone = await run(beside, "disrupt shop-preview --for 30m");
    expect(alone).toEqual({ status: 0, err: "", out: `${named}: no change waits for that` });
    expect(annotationsOf(beside)["compute-operator.dev/disruptionUntil"]).toBe(until);
    waits(beside, [
      { field: "computeUnits.max", ours: "8" },
      { field: "branchID", ours: "br-other" },
    ]);
    expect((await run(beside, "disrupt compute/shop-preview --for 30m")).out).toBe(
      `${named}: computeUnits.max 8, branchID br-other can go now`,
    );
    await run(beside, "pause shop-preview");
    expect((await run(beside, "disrupt shop-preview --for 30m")).out).toContain("is paused, so the request waits");
  });

  test.each([
    ["disrupt shop-preview", "--for is needed: for how long connections may be cut, such as 30m"],
    ["disrupt shop-preview --for soon", "--for must be between 1s and 999d"],
    ["disrupt branch/pr-1 --for 30m", "the kind of branch/pr-1 must be compute or computepool"],
    ["disrupt computes --for 30m", "namespace shop has no Compute or ComputePool named computes"],
    [
      "disrupt readers --for 30m",
      "ComputePool shop/readers has replicas, and each of them is a Compute that waits for windows: name it, such as readers-0",
    ],
  ])("refuses %s, and changes nothing", async (line, said) => {
    using beside = cluster();
    expect(await run(beside, line)).toMatchObject({ status: 1, out: "", err: expect.stringContaining(said) });
    expect(annotationsOf(beside)).not.toHaveProperty(["compute-operator.dev/disruptionUntil"]);
  });
});

describe("an object that is only observed", () => {
  test.each([
    ["restart watched", "Compute shop/watched", "restarted"],
    ["restart watched --wait", "Compute shop/watched", "restarted"],
    ["disrupt watched --for 30m", "Compute shop/watched", "changed"],
    ["reset pr-2 --yes", "Branch shop/pr-2", "reset"],
  ])("%s says that nothing is sent for an observed object, and asks for nothing", async (line, name, done) => {
    const adopted = branch.replace("pr-1", "pr-2").replace("expiry: {after: 72h}", seen);
    using beside = new Beside(documents(connection, compute("watched", observed), adopted));
    beside.stage.env = { KUBECONFIG: beside.stage.file("kubeconfig", kubeconfig) };
    const [verb, ...args] = line.split(" ");
    const said = await beside.stage.run(verb === "restart" || verb === "reset" ? verb : "disrupt", args);
    expect(said).toMatchObject({ status: 1, out: "" });
    expect(said.err).toContain(`${name} is only observed (managementPolicy: Observe): nothing is ${done}`);
    const stored = ["computes/watched", "branches/pr-2"].map((at) =>
      beside.send({ method: "GET", path: `${objects}/${at}` }),
    );
    expect(JSON.stringify(stored)).not.toMatch(/restartedAt|resetAt|disruptionUntil/);
  });
});
