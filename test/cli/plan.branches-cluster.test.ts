import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { asRecord } from "../../src/operator/objects/record.ts";
import { annotations, noteKeys } from "../../src/operator/resources/names.ts";
import { main, project } from "../service/support/shop.ts";
import { Beside } from "./beside.ts";
import { baseURL, compute, connection, documents } from "./texts.ts";

const own = "computeUnits: {min: 0.25, max: 1}";
const branch = (expiry: string, more = "", metadata = "") => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: pr-1, namespace: shop${metadata}}
spec: {projectID: ${project}, branchName: preview/pr-1, expiry: {${expiry}}${more}}
`;
const asking = branch("never: true", "", `, annotations: {${annotations.resetAt}: "2"}`);
const path = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/branches/pr-1";

/** A cluster whose operator has made the branch and says so in the status. */
function standing(expiry = "never: true", more = ""): { beside: Beside; id: string } {
  const beside = new Beside(documents(connection, branch(expiry, more)));
  const { uid } = asRecord(beside.send({ method: "GET", path }).metadata);
  const note = { [noteKeys.uid]: String(uid), [noteKeys.object]: "shop/pr-1" };
  const answer = beside.stage.shop.ana(`POST /projects/${project}/branches`, {
    branch: { name: "preview/pr-1", parent_id: main },
    annotation_value: note,
  });
  beside.stage.shop.finishOperations();
  const id = String(asRecord(answer.body["branch"]).id);
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const value = {
    observedGeneration: 1,
    appliedGeneration: 1,
    branchID: id,
    appliedExpiry: "never",
    proof: { uid, branchID: id, by: "created" },
    conditions: [{ type: "Ready", status: "True", reason: "Available", message: "", lastTransitionTime }],
  };
  const body = [{ op: "add", path: "/status", value }];
  beside.send({ method: "PATCH", path: `${path}/status`, contentType: "application/json-patch+json", body });
  return { beside, id };
}

describe("plan beside the operator that keeps a Branch", () => {
  test("a Branch as it stands is unchanged, and another expiry is a change of its end", async () => {
    const { beside, id } = standing();
    using _ = beside;
    expect(await beside.run("plan", documents(connection, branch("never: true")))).toMatchObject({
      status: 0,
      err: "",
    });
    const run = await beside.run("plan", documents(connection, branch("after: 72h")));
    expect(run).toMatchObject({
      status: 2,
      out: expect.stringContaining(`~ Branch shop/pr-1  patch    ${id}: expiry never → after 72h`),
    });
  });

  test("a new value of resetAt is a reset, which says that the data goes", async () => {
    const { beside, id } = standing();
    using _ = beside;
    const run = await beside.run("plan", documents(connection, asking));
    expect(run.status).toBe(2);
    expect(run.out).toContain(`- Branch shop/pr-1  reset    ${id}: the branch is reset to the head of its parent`);
    expect(run.out).toContain("Plan: 1 to reset.");
  });

  test("a reset that children hinder is a problem", async () => {
    const { beside, id } = standing();
    using _ = beside;
    beside.stage.shop.ana(`POST /projects/${project}/branches`, { branch: { name: "child", parent_id: id } });
    beside.stage.shop.finishOperations();
    const run = await beside.run("plan", documents(connection, asking));
    expect(run).toMatchObject({ status: 1, out: expect.stringMatching(/! Branch shop\/pr-1 +refuse +HasChildren: /) });
  });

  test("a compute that the manifest adds to the Branch is a creation on its branch", async () => {
    const { beside, id } = standing();
    using _ = beside;
    const run = await beside.run("plan", documents(connection, branch("never: true", `, compute: {${own}}`)));
    expect(run).toMatchObject({
      status: 2,
      out: expect.stringContaining(`+ shop/pr-1         create   read_write on branch ${id}`),
    });
  });

  test("a Compute may name a Branch of the cluster that the manifests do not hold", async () => {
    const { beside, id } = standing();
    using _ = beside;
    const naming = compute("reader", "type: read_only").replace(/branchID: [^,}]+/, "branchRef: {name: pr-1}");
    const run = await beside.run("plan", documents(connection, naming));
    expect(run.out).toContain(`+ shop/reader  create   read_only on branch ${id}`);
  });

  test("what the API server would refuse is a problem: another name or parent of the branch", async () => {
    const { beside } = standing();
    using _ = beside;
    const text = branch("never: true", ", parent: {branchName: other}").replace("preview/pr-1", "preview/pr-2");
    const run = await beside.run("plan", documents(connection, text));
    expect(run.status).toBe(1);
    expect(run.err).toContain("branchName is immutable and is preview/pr-1 in the cluster");
    expect(run.err).toContain(
      'parent is immutable and is not set in the cluster, so kubectl apply refuses {"branchName',
    );
  });

  test("what the API server would refuse is a problem: another type of the Branch's compute, unless that is taken out", async () => {
    const typed = (type: string) => branch("never: true", `, compute: {${own}${type}}`);
    const { beside } = standing("never: true", `, compute: {${own}}`);
    using _ = beside;
    const planned = (text: string) => beside.run("plan", documents(connection, text));
    const refused = await planned(typed(", type: read_only"));
    expect([refused.status, refused.err]).toEqual([
      1,
      expect.stringContaining("compute.type is immutable and is read_write in the cluster"),
    ]);
    for (const text of [typed(", type: read_write"), branch("never: true")]) {
      expect((await planned(text)).err).not.toContain("immutable");
    }
  });

  test("a Branch whose connection has reached nothing keeps no younger one from its name", async () => {
    const guessed = `apiVersion: compute-operator.dev/v1alpha1
kind: ServiceConnection
metadata: {name: guessed, namespace: shop}
spec: {baseURL: "${baseURL}", apiKeySecretRef: {name: no-key}}
`;
    const squatter = branch("never: true", ", connectionRef: {name: guessed}").replace("name: pr-1", "name: squatter");
    using beside = new Beside(documents(connection, guessed, squatter));
    beside.stage.time.pass(60_000);
    beside.hold(asRecord(parse(branch("never: true"))));
    const run = await beside.run("plan", documents(connection, branch("never: true")));
    expect(run).toMatchObject({ status: 2, err: "", out: expect.stringContaining("+ Branch shop/pr-1") });
  });

  test("apply sends nothing for a Branch of the cluster", async () => {
    const { beside } = standing();
    using _ = beside;
    const run = await beside.run("apply", documents(connection, branch("after: 72h")));
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("This Branch is in a cluster") });
    expect(beside.stage.writes).toEqual([]);
  });
});
