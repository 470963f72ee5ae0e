import { describe, expect, test } from "vitest";
import { memberSpec, membersOf, planPool, specOf } from "../../../src/operator/pool/plan.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { type ComputePool, parseComputePool } from "../../../src/operator/resources/compute-pool.ts";
import { compute, uidOf } from "../../support/builders.ts";

function pool(replicas: number, template: Record<string, unknown> = {}): ComputePool {
  const parsed = parseComputePool({
    metadata: { name: "readers", namespace: "team", uid: uidOf("p"), resourceVersion: "1", generation: 1 },
    spec: { replicas, template: { projectID: "shiny-wind-028834", branchID: "br-main", ...template } },
    status: {},
  });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

function member(
  name: string,
  fields: { deleting?: boolean; owner?: string; spec?: Record<string, unknown> } = {},
): Compute {
  const { owner = uidOf("p"), deleting = false, spec } = fields;
  const made = compute({ name, uid: `uid-of-${name}`, deleting, spec: { type: "read_only", ...spec } });
  const reference = { apiVersion: "compute-operator.dev/v1alpha1", kind: "ComputePool", name: "readers", uid: owner };
  return { ...made, metadata: { ...made.metadata, ownerReferences: [reference] } };
}

function planned(self: ComputePool, computes: Compute[]) {
  const members = membersOf(self, computes);
  const plan = planPool(self, members, (name) => computes.find(({ metadata }) => metadata.name === name));
  const names = (of: typeof plan.update) => of.map((one) => one.compute.metadata.name);
  const adopt = plan.adopt.map(({ metadata }) => metadata.name);
  return { create: plan.create, adopt, update: names(plan.update), remove: names(plan.remove), blocked: plan.blocked };
}

const nothing = { create: [], adopt: [], update: [], remove: [], blocked: undefined };

describe("a pool", () => {
  test("shrinks from the highest, also to nothing", () => {
    const all = ["readers-0", "readers-10", "readers-2", "readers-1"].map((name) => member(name));
    expect(planned(pool(1), all)).toEqual({ ...nothing, remove: ["readers-10", "readers-2", "readers-1"] });
    expect(planned(pool(0), all.slice(0, 1))).toEqual({ ...nothing, remove: ["readers-0"] });
  });

  test("waits for one that is being deleted before it makes it again, and deletes none twice", () => {
    const leaving = member("readers-1", { deleting: true });
    expect(planned(pool(2), [member("readers-0"), leaving])).toEqual(nothing);
    expect(planned(pool(1), [member("readers-0"), leaving])).toEqual(nothing);
  });

  test("a pool has its members adopt what a former one made, if adoptFormer says so, also those that exist", () => {
    const self = { ...pool(2), spec: { ...pool(2).spec, adoptFormer: true } };
    const adopt = { former: true };
    expect(memberSpec(self, 0)).toEqual({ ...memberSpec(pool(2), 0), adopt });
    expect(planned(self, [member("readers-0")])).toEqual({ ...nothing, create: [1], update: ["readers-0"] });
    const own = { endpointID: "ep-one" };
    const kept = specOf(self, { index: 0, compute: member("readers-0", { spec: { adopt: own } }) });
    expect(kept.adopt).toEqual(own);
  });

  describe("restored from a backup", () => {
    const restored = (
      fields: { owner?: string; pool?: string; kind?: string; spec?: Record<string, unknown> } = {},
    ) => {
      const { owner, pool: of = "readers", kind = "ComputePool", spec } = fields;
      const { metadata, ...rest } = member("readers-0", spec === undefined ? {} : { spec });
      const { ownerReferences: _, ...own } = metadata;
      const reference = { apiVersion: "compute-operator.dev/v1alpha1", kind, name: "readers", uid: owner ?? "" };
      const owners = owner === undefined ? {} : { ownerReferences: [reference] };
      return { ...rest, metadata: { ...own, labels: { "compute-operator.dev/pool": of }, ...owners } };
    };

    test("takes back its members, which have no owner or the former pool's uid, and makes only what is missing", () => {
      expect(planned(pool(2), [restored()])).toEqual({ ...nothing, adopt: ["readers-0"], create: [1] });
      expect(planned(pool(1), [restored({ owner: uidOf("old") })])).toEqual({ ...nothing, adopt: ["readers-0"] });
    });

    test("waits for one that is being deleted, as the garbage collector does where the former owner is gone", () => {
      const leaving = restored({ owner: uidOf("old") });
      const deleting = { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
      expect(planned(pool(1), [deleting])).toEqual(nothing);
    });

    test.each([
      ["another pool's label", { pool: "web" }],
      ["another owner", { owner: uidOf("old"), kind: "Other" }],
      ["another project", { spec: { projectID: "another" } }],
      ["another type", { spec: { type: "read_write" } }],
    ])("leaves alone what has %s", (_, fields) => {
      expect(planned(pool(1), [restored(fields)])).toMatchObject({
        adopt: [],
        create: [],
        blocked: expect.stringContaining("Compute readers-0 exists"),
      });
    });
  });

  test("leaves to a person what one of them is to adopt: nobody else can say", () => {
    const adopting = { type: "read_only", adopt: { endpointID: "ep-one" } };
    expect(planned(pool(1), [member("readers-0", { spec: adopting })])).toEqual(nothing);
    const changed = member("readers-0", { spec: { ...adopting, disabled: true } });
    expect(planned(pool(1), [changed]).update).toEqual(["readers-0"]);
    expect(specOf(pool(1), { index: 0, compute: changed })).toEqual({ ...memberSpec(pool(1), 0), ...adopting });
  });

  test("gives each the template, whatever was changed by hand", () => {
    const changed = member("readers-0", { spec: { disabled: true } });
    expect(planned(pool(1), [changed])).toEqual({ ...nothing, update: ["readers-0"] });
    const same = member("readers-0", { spec: { computeUnits: { min: 1, max: 2 } } });
    expect(planned(pool(1, { computeUnits: { max: 2, min: 1 } }), [same])).toEqual(nothing);
  });

  test("changes none that is leaving or too many", () => {
    const changed = (name: string, deleting = false) => member(name, { deleting, spec: { disabled: true } });
    const all = [changed("readers-0", true), changed("readers-1")];
    expect(planned(pool(1), all)).toEqual({ ...nothing, remove: ["readers-1"] });
  });

  test.each([
    ["another pool's", member("readers-0", { owner: uidOf("q") })],
    ["a pool's of the same name that is gone", member("readers-0", { owner: uidOf("r") })],
    ["nobody's", compute({ name: "readers-0" })],
  ])("leaves a Compute alone that has its name and is %s, and says so", (_, ownedByOther) => {
    expect(planned(pool(2), [ownedByOther])).toEqual({
      ...nothing,
      create: [1],
      blocked: expect.stringContaining("Compute readers-0 exists and does not belong to this pool"),
    });
  });

  test("names the Compute that is in its way, and not another that it lacks", () => {
    const { create, blocked } = planned(pool(4), [member("readers-2", { owner: uidOf("q") })]);
    expect(create).toEqual([0, 1, 3]);
    expect(blocked).toContain("Compute readers-2 exists");
  });

  test.each([
    "readers",
    "readers-",
    "readers-01",
    "readers-x",
    "readers--1",
    "readers-1-2",
    "other-0",
    "readers-9999999999",
  ])("does not take %s for a number of its own", (name) => {
    expect(planned(pool(0), [member(name)])).toEqual(nothing);
  });
});

test("a replica is always read_only, with a connection Secret of its own", () => {
  const self = pool(3, { connectionSecret: { name: "db", database: "shop", role: "app" }, disabled: true });
  expect(memberSpec(self, 2)).toMatchObject({
    type: "read_only",
    disabled: true,
    connectionSecret: { name: "db-2", database: "shop", role: "app" },
  });
  expect(memberSpec(pool(1), 0)).not.toHaveProperty("connectionSecret");
});
