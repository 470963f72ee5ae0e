import { describe, expect, test } from "vitest";
import { derivedUID } from "../../src/cli/manifests/derived-uid.ts";
import { fleetOf, signatureOf, signatureOfUID } from "../../src/operator/resources/signature.ts";
import { main, preview, project, staging } from "../service/support/shop.ts";
import { type Fate, Stage } from "./command-stage.ts";
import { compute, connection, documents, pool } from "./texts.ts";

/** A uid as an API server gives it. */
const uid = (nth: number) => `0f6c1d1e-8d5b-4c57-9a3e-00000000000${nth}`;

const prod = fleetOf("prod");

const creates = `POST /projects/${project}/endpoints`;

interface Made {
  fleet?: string | undefined;
  namespace?: string;
  uid?: string;
  type?: "read_only" | "read_write";
  branch?: string;
}

/** An endpoint as the operator of a fleet makes it for the Compute of this name. */
function made(stage: Stage, name: string, nth: number, options: Made = {}): string {
  const { fleet = "prod", namespace = "shop", type = "read_only", branch = main } = options;
  const metadata = { name, namespace, uid: options.uid ?? uid(nth), resourceVersion: "" };
  const signature = signatureOf({ metadata }, fleetOf(fleet));
  const units = type === "read_only" ? { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 1 } : {};
  const { endpoint } = stage.shop.create({ branch_id: branch, type, name: signature, ...units });
  stage.shop.finishOperations();
  return endpoint.id;
}

const manifests = documents(connection, compute("shop-preview"), pool("shop-readers", 2));

/** The computes of these manifests, as the operator of fleet prod made them. */
function live(stage: Stage): { primary: string; readers: string[] } {
  const primary = made(stage, "shop-preview", 1, { type: "read_write", branch: preview });
  return { primary, readers: [0, 1].map((index) => made(stage, `shop-readers-${index}`, 2 + index)) };
}

const apply = (stage: Stage, text: string, ...flags: string[]) =>
  stage.run("apply", ["-f", stage.file("a.yaml", text), "--yes", ...flags]);

const plan = (stage: Stage, text: string, ...flags: string[]) =>
  stage.run("plan", ["-f", stage.file("a.yaml", text), ...flags]);

test("a live fleet's manifests applied with --fleet send nothing, and each line says who keeps the endpoint", async () => {
  using stage = new Stage();
  const { primary } = live(stage);
  const run = await apply(stage, manifests, "--fleet", "prod");
  expect(run).toMatchObject({ status: 0, err: "" });
  expect(stage.writes).toEqual([]);
  expect(run.out).toMatch(
    new RegExp(`= shop/shop-preview +as is +${primary}: .*\\(kept by the operator of fleet #${prod}\\)`),
  );
  expect(run.out).toContain("Plan: 3 unchanged.");
});

test("a live fleet's manifests applied without --fleet send nothing, and the missing flag is named", async () => {
  using stage = new Stage();
  const { primary, readers } = live(stage);
  const run = await apply(stage, manifests);
  expect(run.status).toBe(1);
  expect(stage.writes).toEqual([]);
  const ids = [primary, ...readers].toSorted().join(", ");
  expect(run.out).toMatch(
    new RegExp(
      `! shop/shop-readers-0 .*\\(${ids}\\) that is kept by the operator of fleet #${prod}\\. Set --fleet to `,
    ),
  );
  expect(run.out).toMatch(/! shop\/shop-preview .*PrimaryExists: .* is kept by the operator of fleet #.* Set --fleet/);
});

test("a live fleet's manifests applied with the name of another fleet send nothing, whatever branch they name", async () => {
  using stage = new Stage();
  live(stage);
  const moved = manifests.replaceAll(main, staging);
  for (const text of [manifests, moved]) {
    // Each on what the other left.
    const run = await apply(stage, text, "--fleet", "production");
    expect(run.status).toBe(1);
    expect(run.out).toContain(`kept by the operator of fleet #${prod}. Set --fleet to the name of that fleet`);
  }
  expect(stage.writes).toEqual([]);
});

test("a changed manifest of a live fleet is shown by plan, and apply leaves the change to the operator", async () => {
  using stage = new Stage();
  const { primary } = live(stage);
  const changed = manifests.replace(`branchID: ${preview}`, `branchID: ${preview}, disabled: true`);
  const planned = await plan(stage, changed, "--fleet", "prod");
  expect(planned.status).toBe(2);
  expect(planned.out).toMatch(
    new RegExp(`~ shop/shop-preview +patch +${primary}: disabled false → true; cuts its connections \\(kept by`),
  );
  const applied = await apply(stage, changed, "--fleet", "prod");
  expect(applied.status).toBe(1);
  expect(applied.out).toContain("so apply sends nothing for this Compute. Apply its manifest with kubectl");
  expect(stage.writes).toEqual([]);
});

test("another Compute in a live fleet's manifests is created beside them by apply, since no key is its own", async () => {
  using stage = new Stage();
  live(stage);
  const more = documents(manifests, compute("another", "type: read_only", main));
  expect(await apply(stage, more, "--fleet", "prod")).toMatchObject({ status: 0 });
  expect(stage.writes.map(({ line }) => line)).toEqual([creates]);
});

test("another primary of a live fleet's branch is refused: the line says that another Compute of the fleet has it", async () => {
  using stage = new Stage();
  const { primary } = live(stage);
  const run = await plan(stage, documents(connection, compute("another")), "--fleet", "prod");
  expect(run.status).toBe(1);
  expect(run.out).toContain(`is kept by the operator of fleet #${prod} for another Compute. `);
  expect(run.out).toContain(primary);
});

test("manifests with the same names in two namespaces find each their own", async () => {
  using stage = new Stage();
  const inShop = made(stage, "a", 1);
  const inEU = made(stage, "a", 2, { namespace: "eu" });
  const one = documents(connection, compute("a", "type: read_only", main));
  const run = await plan(stage, documents(one, one.replaceAll("namespace: shop", "namespace: eu")), "--fleet", "prod");
  expect(run.status).toBe(0);
  expect(run.out).toMatch(new RegExp(`= eu/a +as is +${inEU}`));
  expect(run.out).toMatch(new RegExp(`= shop/a +as is +${inShop}`));
});

test("another type, which cannot be changed, makes nothing beside", async () => {
  using stage = new Stage();
  const id = made(stage, "a", 1);
  const run = await apply(stage, documents(connection, compute("a", "", preview)), "--fleet", "prod");
  expect(run.status).toBe(1);
  expect(run.out).toContain(`Endpoint ${id} of this namespace and name`);
  expect(run.out).toContain(
    `is of type read_only, which cannot be changed to read_write. Declare the Compute under another name.`,
  );
  expect(stage.writes).toEqual([]);
});

test("two endpoints of one Compute are not told apart: which one it has only its cluster knows", async () => {
  using stage = new Stage();
  const ids = [made(stage, "a", 1), made(stage, "a", 2)].toSorted();
  const text = documents(connection, compute("a", "type: read_only", main));
  const run = await apply(stage, text, "--fleet", "prod");
  expect(run).toMatchObject({ status: 1, out: expect.stringContaining("Name its cluster with --kubeconfig") });
  expect(run.out).toContain(ids.join(", "));
  expect(stage.writes).toEqual([]);
});

test("a live fleet listed by a service that shows no names gets no replica a second time", async () => {
  using stage = new Stage({ strictSpec: true });
  live(stage);
  const run = await apply(stage, manifests, "--fleet", "prod");
  expect(run.status).toBe(1);
  expect(stage.writes).toEqual([]);
});

test("an endpoint with an operator's signature is not written to where a manifest adopts it by id, in its fleet or in none", async () => {
  using stage = new Stage();
  const id = made(stage, "kept", 1);
  const text = documents(connection, compute("a", `type: read_only, adopt: {endpointID: ${id}}, disabled: true`, main));
  for (const flags of [[], ["--fleet", "prod"], ["--fleet", "other"]]) {
    // Nothing changes in between.
    const run = await apply(stage, text, ...flags);
    expect(run).toMatchObject({
      status: 1,
      out: expect.stringContaining(`is kept by the operator of fleet #${prod}`),
    });
  }
  expect(stage.writes).toEqual([]);
});

test("an operator's signature is never signed over, not even with former", async () => {
  using stage = new Stage();
  made(stage, "a", 1);
  const text = documents(connection, compute("a", "type: read_only, adopt: {former: true}", main));
  expect((await apply(stage, text, "--fleet", "prod")).status).toBe(0);
  expect((await apply(stage, text, "--fleet", "other")).status).toBe(1);
  expect(stage.writes).toEqual([]);
});

describe("what apply makes", () => {
  const replica = documents(connection, compute("a", "type: read_only", main));
  const own = { metadata: { namespace: "shop", name: "a", uid: derivedUID("shop", "a"), resourceVersion: "" } };
  const names = (stage: Stage) => stage.shop.list().flatMap(({ type, name }) => (type === "read_only" ? [name] : []));

  test("what apply makes is signed for the fleet, and recognised with and without --fleet", async () => {
    using stage = new Stage();
    const first = await apply(stage, replica, "--fleet", "prod");
    expect(first.status).toBe(0);
    expect(names(stage)).toEqual([signatureOf(own, prod)]);
    expect((await apply(stage, replica, "--fleet", "prod")).status).toBe(0);
    expect((await apply(stage, replica)).status).toBe(0);
    expect(stage.writes).toHaveLength(1);
  });

  test("what apply makes is not written to from another fleet: the flag is named", async () => {
    using stage = new Stage();
    await apply(stage, replica, "--fleet", "prod");
    const sent = stage.writes.length;
    const changed = replica.replace("type: read_only", "type: read_only, disabled: true");
    for (const flags of [[], ["--fleet", "other"]]) {
      // Nothing changes in between.
      const run = await apply(stage, changed, ...flags);
      expect(run).toMatchObject({ status: 1 });
      expect(run.out).toContain(`signed for fleet #${prod}, so nothing is written to it. Set --fleet`);
    }
    expect(stage.writes).toHaveLength(sent);
    expect((await apply(stage, changed, "--fleet", "prod")).status).toBe(0);
  });

  test("what apply makes is signed for the fleet later, in a change that the plan shows", async () => {
    using stage = new Stage();
    await apply(stage, replica);
    const planned = await plan(stage, replica, "--fleet", "prod");
    expect(planned).toMatchObject({
      status: 2,
      out: expect.stringContaining(`name ${signatureOfUID(own.metadata.uid)} → k8s-`),
    });
    const run = await apply(stage, replica, "--fleet", "prod");
    const said = /^ {2}shop\/a: wrote the signature of the fleet as the name of ep-/m;
    expect(run).toMatchObject({ status: 0, err: "", out: expect.stringMatching(said) });
    expect(names(stage)).toEqual([signatureOf(own, prod)]);
    expect(stage.writes).toHaveLength(2);
    expect((await plan(stage, replica, "--fleet", "prod")).status).toBe(0);
  });

  test.each<[string, Fate, number]>([
    ["whose reply is lost is not sent again once a list shows it", "lost after", 1],
    ["that is lost is sent again", "lost before", 2],
    ["that a busy project refuses is sent again", 423, 2],
  ])("a signature %s", async (_, fate, attempts) => {
    using stage = new Stage();
    await apply(stage, replica);
    let sent = 0;
    stage.fate = ({ method }) => (method === "PATCH" && ++sent === 1 ? fate : "answered");
    const run = await apply(stage, replica, "--fleet", "prod");
    expect(run).toMatchObject({ status: 0, out: expect.stringContaining("Applied: 1 as declared.") });
    expect(sent).toBe(attempts);
    expect(names(stage)).toEqual([signatureOf(own, prod)]);
  });

  test("a signature without a usable answer is given up after eight attempts, and the next plan shows it again", async () => {
    using stage = new Stage();
    await apply(stage, replica);
    let sent = 0;
    stage.fate = ({ method }) => {
      if (method !== "PATCH") return "answered";
      sent += 1;
      return "lost before";
    };
    const run = await apply(stage, replica, "--fleet", "prod");
    expect(run.status).toBe(1);
    expect(run.out).toMatch(
      /^! shop\/a: ServiceUnavailable: .* no usable answer to a request to write the name of endpoint ep-.*: no answer in time\. /m,
    );
    expect(sent).toBe(8);
    expect((await plan(stage, replica, "--fleet", "prod")).status).toBe(2);
  });

  test("a manifest with former creates an endpoint where none exists, and needs --fleet", async () => {
    using stage = new Stage();
    const text = replica.replace("type: read_only", "type: read_only, adopt: {former: true}");
    const without = await apply(stage, text);
    expect(without.status).toBe(1);
    expect(without.out).toContain(
      "nothing is created without it. Set --fleet to the operator's, or remove spec.adopt.",
    );
    expect(without.out).not.toContain("operator runs without");
    expect((await apply(stage, text, "--fleet", "prod")).status).toBe(0);
    expect(names(stage)).toEqual([signatureOf(own, prod)]);
  });
});

describe("--fleet", () => {
  test("needs a namespace for each manifest", async () => {
    using stage = new Stage();
    const text = documents(connection, compute("a"), pool("r", 1)).replaceAll(/, namespace: shop/g, "");
    const run = await plan(stage, text, "--fleet", "prod");
    expect(run).toMatchObject({ status: 1, out: "" });
    expect(run.err).toContain("Compute a: metadata.namespace: --fleet needs it");
    expect(run.err).toContain("or set --namespace");
    expect((await plan(stage, text, "--fleet", "prod", "--namespace", "eu")).out).toContain("+ eu/a");
  });

  test("takes no empty name", async () => {
    using stage = new Stage();
    expect(await plan(stage, manifests, "--fleet", "")).toMatchObject({
      err: expect.stringContaining("--fleet must be 1 to 253 characters without spaces"),
    });
  });
});
