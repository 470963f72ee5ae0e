import { describe, expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { signatureOfUID } from "../../src/operator/resources/signature.ts";
import { main, preview, staging } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

/** A uid as an API server gives it. */
const uid = (nth: number) => `0f6c1d1e-8d5b-4c57-9a3e-00000000000${nth}`;

/** An endpoint as a cluster's operator makes it for the Compute with this uid. */
function made(stage: Stage, nth: number, type: string, branch: string): string {
  const { endpoint } = stage.shop.create({ branch_id: branch, type, name: signatureOfUID(uid(nth)) });
  stage.shop.finishOperations();
  return endpoint.id;
}

describe("the manifests of a fleet that a cluster's operator runs", () => {
  const fleet = documents(connection, compute("shop-preview"), pool("shop-readers", 2));

  function running(stage: Stage): { primary: string; replicas: string[] } {
    const primary = made(stage, 1, "read_write", preview);
    return { primary, replicas: [2, 3].map((nth) => made(stage, nth, "read_only", main)) };
  }

  test("apply creates nothing, and says who keeps the computes and what to do", async () => {
    using stage = new Stage();
    const { primary } = running(stage);
    const before = stage.shop.list().length;
    const run = await stage.run("apply", ["-f", stage.file("shop.yaml", fleet), "--yes"]);
    expect(run.status).toBe(1);
    expect(stage.writes).toEqual([]);
    expect(stage.shop.list()).toHaveLength(before);
    expect(run.out).toMatch(/! shop\/shop-readers-0 +refuse +Conflict: Nothing is created .* is kept by an operator\./);
    expect(run.out).toContain("Name its cluster with --kubeconfig or --context");
    expect(run.out).toContain(primary);
  });

  test("plan says that a running operator keeps them, and never that no Compute owns one", async () => {
    using stage = new Stage();
    const { primary } = running(stage);
    const run = await stage.run("plan", ["-f", stage.file("shop.yaml", fleet)]);
    expect(run.status).toBe(1);
    expect(run.out).toContain(
      `! shop/shop-preview    refuse   PrimaryExists: The primary of branch ${preview} (${primary}) is kept by an operator, and nothing shows for which Compute.`,
    );
    expect(run.out).toContain(primary);
    expect(run.out).not.toContain("no Compute owns");
    expect(run.out).toContain("Plan: 3 refused.");
  });

  test("a primary that apply made under another name is not said to be nobody's", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, compute("a", "", preview)));
    await stage.run("apply", ["-f", path, "--yes"]);
    const renamed = stage.file("b.yaml", documents(connection, compute("b", "", preview)));
    const run = await stage.run("plan", ["-f", renamed]);
    expect(run.out).toMatch(
      /PrimaryExists: The primary of branch br-preview-1 \(ep-[a-z0-9-]+\) was created by apply for a Compute/,
    );
    const adopting = stage.file("c.yaml", documents(connection, compute("b", "adopt: {branchPrimary: true}", preview)));
    expect((await stage.run("plan", ["-f", adopting])).status).toBe(0);
  });

  test("a primary of the operator on the target branch of a move is called the operator's too", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, compute("a", "", preview)));
    expect((await stage.run("apply", ["-f", path, "--yes"])).status).toBe(0);
    made(stage, 1, "read_write", staging);
    const moved = stage.file("b.yaml", documents(connection, compute("a", "", staging)));
    const run = await stage.run("plan", ["-f", moved]);
    expect(run.out).toMatch(
      /PrimaryExists: The primary of branch br-staging-1 \(ep-[a-z0-9-]+\) is kept by an operator/,
    );
  });

  test("changes of what apply made are still carried out in that project", async () => {
    using stage = new Stage();
    const path = stage.file("a.yaml", documents(connection, compute("a", "", preview)));
    await stage.run("apply", ["-f", path, "--yes"]);
    made(stage, 1, "read_only", main);
    stage.file("a.yaml", documents(connection, compute("a", "disabled: true", preview)));
    expect(await stage.run("apply", ["-f", path, "--yes"])).toMatchObject({ status: 0, err: "" });
  });

  test("what the operator made is not written to, not even where a manifest adopts it", async () => {
    using stage = new Stage();
    made(stage, 1, "read_write", preview);
    const text = compute("a", "adopt: {branchPrimary: true}, disabled: true", preview);
    const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, text)), "--yes"]);
    expect(run).toMatchObject({
      status: 1,
      out: expect.stringContaining("is kept by an operator, so nothing is written to it"),
    });
    expect(stage.writes).toEqual([]);
  });
});

describe("a project without a running operator's computes is applied to as before", () => {
  const another = documents(connection, compute("b", "type: read_only", main));
  const applied = (stage: Stage, text = another) => stage.run("apply", ["-f", stage.file("b.yaml", text), "--yes"]);

  test("apply works as before beside what it made from other manifests", async () => {
    using stage = new Stage();
    stage.shop.create({ branch_id: main, type: "read_only", name: signatureOfUID(derivedUID("shop", "elsewhere")) });
    stage.shop.finishOperations();
    expect((await applied(stage)).status).toBe(0);
  });

  test("apply works as before beside the cluster's own Computes, where the manifests hold them", async () => {
    using stage = new Stage();
    made(stage, 1, "read_only", main);
    const known = compute("a", "type: read_only", main, `uid: ${uid(1)}`);
    expect((await applied(stage, documents(another, known))).status).toBe(0);
  });

  test("apply works as before beside computes of an operator that is gone, which the manifests adopt by id", async () => {
    using stage = new Stage();
    const left = made(stage, 1, "read_only", main);
    const known = compute("a", `type: read_only, adopt: {endpointID: ${left}}`, main);
    expect((await applied(stage, documents(another, known))).status).toBe(0);
  });

  test("apply works as before beside an operator's computes of another branch or type, until a manifest may be one of them", async () => {
    using stage = new Stage();
    made(stage, 1, "read_only", main);
    const elsewhere = documents(connection, compute("a", "type: read_only", preview), compute("b", "", staging));
    expect((await applied(stage, elsewhere)).status).toBe(0);
    const sent = stage.writes.length;
    const more = documents(elsewhere, compute("c", "type: read_only", main), compute("d", "type: read_only", staging));
    const run = await applied(stage, more);
    expect(run).toMatchObject({ status: 1, out: expect.stringContaining("2 refused") });
    expect(stage.writes).toHaveLength(sent);
  });

  test("apply works as before beside names that only look like an operator's", async () => {
    using stage = new Stage();
    stage.shop.create({ branch_id: main, type: "read_only", name: "k8s-cluster endpoint" });
    stage.shop.finishOperations();
    expect((await applied(stage)).status).toBe(0);
  });
});
