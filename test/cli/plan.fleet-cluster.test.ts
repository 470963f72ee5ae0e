import { describe, expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { fleetOf, signatureOf } from "../../src/operator/resources/signature.ts";
import { main, preview, project, staging } from "../service/support/shop.ts";
import { Beside, kubeconfig } from "./beside.ts";
import { compute, connection, documents, pool } from "./texts.ts";

const fleet = documents(compute("shop-preview"), pool("shop-readers", 2));
const held = documents(connection, fleet);

describe("a live fleet", () => {
  const prod = { fleet: "prod" };
  const gone = { name: "gone", namespace: "shop", uid: "0f6c1d1e-8d5b-4c57-9a3e-000000000009" };
  const replica = { branchID: main, type: "read_only" };
  const id = fleetOf("prod");

  test.each(["--kubeconfig", "--kubeconfig --fleet prod", "--fleet prod", ""])(
    "applying a live fleet's manifests with '%s' creates nothing",
    async (line) => {
      const flags = line === "" ? [] : line.split(" ");
      using beside = new Beside(held, prod);
      const file = beside.stage.file("manifests.yaml", held);
      const config = beside.stage.file("kubeconfig", kubeconfig);
      const named = flags.flatMap((flag) => (flag === "--kubeconfig" ? [flag, config] : [flag]));
      const run = await beside.stage.run("apply", ["-f", file, "--yes", ...named]);
      expect(beside.stage.writes).toEqual([]);
      expect(run.status).toBe(flags.length === 0 ? 1 : 0);
      expect(run.out).toContain(flags.length === 0 ? "Set --fleet to the name of that fleet" : "3 unchanged");
    },
  );

  test.each(["", "--fleet prod"])("plan lists the orphans of a live fleet in each format, with '%s'", async (line) => {
    const flags = line === "" ? [] : line.split(" ");
    using beside = new Beside(held, prod);
    const ids = [gone, { ...gone, name: "former" }].map((metadata) => beside.endpoint(metadata, replica)).toSorted();
    const other = { ...gone, uid: "0f6c1d1e-8d5b-4c57-9a3e-000000000008" };
    for (const name of [signatureOf({ metadata: { ...other, resourceVersion: "" } }, fleetOf("other")), "k8s-123"]) {
      beside.stage.shop.create({ branch_id: main, type: "read_only", name });
      beside.stage.shop.finishOperations();
    }
    const text = await beside.run("plan", fleet, ...flags);
    expect(text).toMatchObject({ status: 0, err: "" });
    const what = `read_only on branch ${main} of project ${project}: made by the operator of fleet #${id}, and no Compute has it`;
    expect(text.out.split("\n").filter((shown) => shown.startsWith("? "))).toEqual(
      ids.map((orphan) => `? ${orphan}  orphan  ${what}`),
    );
    expect(text.out).toContain("Plan: 3 unchanged, 2 orphans.");
    const { out } = await beside.run("plan", fleet, "--output", "json", ...flags);
    expect(JSON.parse(out)).toMatchObject({ orphans: ids.map((endpoint) => ({ endpoint, fleet: id })) });
    const markdown = await beside.run("plan", fleet, "--output", "markdown", ...flags);
    expect(markdown.out).toMatch(new RegExp(`^\\| \`${ids[0]}\` \\| orphan \\| read_only on branch`, "m"));
  });

  test("an orphan's id at two services is two orphans of a live fleet", async () => {
    const [key = "", here = ""] = connection.split("---\n");
    const there = here.replace("name: default", "name: there").replace("//service", "//another-service");
    const through = compute("through-there", "type: read_only, connectionRef: {name: there}", main);
    using beside = new Beside(documents(key, here, there, fleet, through), prod);
    const orphan = beside.endpoint(gone, replica);
    const { out } = await beside.run("plan", documents(fleet, through), "--output", "json");
    expect(JSON.parse(out).orphans.map(({ endpoint }: { endpoint: string }) => endpoint)).toEqual([orphan, orphan]);
  });

  test("a live fleet has no orphans in namespaces that may not be read", async () => {
    using beside = new Beside(held, prod);
    beside.endpoint({ ...gone, namespace: "eu" }, replica);
    const known = beside.endpoint({ ...gone, name: "shop-readers-0" }, replica);
    beside.refused.add("/v1alpha1/computes");
    const run = await beside.run("plan", fleet);
    expect(run.out.split("\n").filter((shown) => shown.startsWith("? "))).toEqual([expect.stringContaining(known)]);
  });

  test("leaves orphans unjudged without its cluster", async () => {
    using beside = new Beside(held, prod);
    beside.endpoint(gone, replica);
    const path = beside.stage.file("a.yaml", held);
    const run = await beside.stage.run("plan", ["-f", path, "--fleet", "prod", "--output", "json"]);
    expect(JSON.parse(run.out)).not.toHaveProperty("orphans");
    expect(run.status).toBe(0);
  });

  test("was signed for another fleet than --fleet says: plan shows that the operator signs it again", async () => {
    using beside = new Beside(documents(connection, compute("shop-preview")), prod);
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/shop-preview/status";
    const condition = { type: "Ready", status: "True", reason: "Active", message: "" };
    const conditions = [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }];
    const op = { op: "add", path: "/status", value: { conditions } };
    beside.send({ method: "PATCH", path, contentType: "application/json-patch+json", body: [op] });
    expect((await beside.run("plan", compute("shop-preview"))).status).toBe(0);
    const run = await beside.run("plan", compute("shop-preview"), "--fleet", "production");
    expect(run).toMatchObject({ status: 2, out: expect.stringContaining(`name k8s-${id}-`) });
    expect((await beside.run("apply", compute("shop-preview"), "--fleet", "production")).status).toBe(1);
    expect(beside.stage.writes).toEqual([]);
  });

  test("lost its cluster: plan shows what former takes over, and what is made a second time without it", async () => {
    using beside = new Beside(connection, prod);
    const former = beside.endpoint({ ...gone, name: "a" }, replica);
    const asked = await beside.run(
      "plan",
      compute("a", "type: read_only, adopt: {former: true}", main),
      "--fleet",
      "prod",
    );
    expect(asked).toMatchObject({
      status: 2,
      out: expect.stringMatching(new RegExp(`~ shop/a +patch +${former}: name k8s-`)),
    });
    const text = compute("a", "type: read_only", main);
    const unasked = await beside.run("plan", text, "--fleet", "prod");
    expect(unasked.out).toMatch(
      /\+ shop\/a +create .*Another endpoint is created beside ep-[a-z0-9-]+, created by a former Compute/,
    );
    expect(unasked.out).toContain(former);
    expect((await beside.run("apply", text, "--fleet", "prod")).status).toBe(1);
    expect(beside.stage.writes).toEqual([]);
  });

  test("an operator takes over what apply made, and plan shows that, and what it makes beside", async () => {
    using beside = new Beside(connection, prod);
    const uid = derivedUID("shop", "a");
    const made = beside.endpoint({ namespace: "shop", name: "a", uid }, replica);
    const asked = compute("a", "type: read_only, adopt: {former: true}", main);
    const taken = await beside.run("plan", asked, "--fleet", "prod");
    expect(taken).toMatchObject({
      status: 2,
      out: expect.stringMatching(new RegExp(`~ shop/a +patch +${made}: name`)),
    });
    const unasked = await beside.run("plan", compute("a", "type: read_only", main), "--fleet", "prod");
    expect(unasked.out).toMatch(/\+ shop\/a +create .*spec\.adopt is not \{former: true\}/);
    expect(await beside.run("apply", asked, "--fleet", "prod")).toMatchObject({ status: 0 });
    expect(beside.stage.writes).toEqual([]);
  });

  test("runs beside apply: --prune keeps what a Compute of the cluster may still take over", async () => {
    using beside = new Beside(documents(connection, compute("shop-preview")), prod);
    const own = (name: string) => ({ namespace: "shop", name, uid: derivedUID("shop", name) });
    beside.endpoint(own("shop-preview"), { branchID: staging, type: "read_write" });
    const left = beside.endpoint(own("left"), { branchID: preview, type: "read_only" });
    const flags = ["--prune", "--fleet", "prod", "--namespace", "shop"];
    // The operator's endpoint counts for nothing here: the deletion is the only one of one.
    expect((await beside.run("apply", compute("shop-preview"), ...flags)).err).toContain("1 of 1 computes");
    const run = await beside.run("apply", compute("shop-preview"), ...flags, "--max-deletes", "1");
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("1 to delete, 1 unchanged, 1 orphan") });
    expect(beside.stage.writes.map(({ line }) => line)).toEqual([`DELETE /projects/${project}/endpoints/${left}`]);
  });
});
