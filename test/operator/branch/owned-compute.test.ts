import { describe, expect, test } from "vitest";
import {
  awaitsBranch,
  carryOut,
  declaredSpec,
  ownedCompute,
  type StoredSpecs,
} from "../../../src/operator/branch/owned-compute.ts";
import type { Branch } from "../../../src/operator/resources/branch.ts";
import { type Compute, parseCompute } from "../../../src/operator/resources/compute.ts";
import { uidOf } from "../../support/builders.ts";
import { type StoredFields, storedComputes } from "../stored-objects.ts";
import { branch } from "./builders.ts";
import { Acting } from "./executing.ts";

const size = { computeUnits: { min: 0.25, max: 1 } };
const declaring = branch({ spec: { compute: size } });
const plain = branch();

/** Stored specs: they record what they are given, and answer what a test sets. */
function stored(isKept = true) {
  const asked: unknown[] = [];
  const answered: unknown[] = [];
  const specs: StoredSpecs = {
    isKept: (wanted, compute) => {
      asked.push([wanted, compute]);
      return isKept;
    },
    answered: (sent, compute) => answered.push([sent, compute]),
  };
  return { specs, asked, answered };
}

function computeOf(owner: string | undefined, more: object = {}): Compute {
  const ownerReferences = [
    { apiVersion: "compute-operator.dev/v1alpha1", kind: "Branch", name: "shop", uid: owner ?? "" },
  ];
  const parsed = parseCompute({
    metadata: {
      name: "shop",
      namespace: "team",
      uid: "of-compute",
      ...(owner === undefined ? {} : { ownerReferences }),
      ...more,
    },
    spec: { projectID: "shiny-wind-028834", branchRef: { name: "shop" } },
  });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

const mine = computeOf(uidOf("a"));
const theirs = computeOf(uidOf("b"));
const nobodys = computeOf(undefined);
const going = computeOf(uidOf("a"), { deletionTimestamp: "2026-01-01T00:00:00Z" });

describe("the Compute that a Branch declares", () => {
  test.each([
    ["is made where there is none", declaring, undefined, true, { kind: "create" }],
    ["stays where it is as declared", declaring, mine, true, undefined],
    ["is changed where it differs", declaring, mine, false, { kind: "patch" }],
    ["is deleted where it is declared no more", plain, mine, true, { kind: "delete" }],
    ["is none where none is declared", plain, undefined, true, undefined],
    ["is left alone while it goes", declaring, going, false, undefined],
    ["is not deleted twice", plain, going, true, undefined],
    ["is no step where nobody's has its name and none is declared", plain, nobodys, true, undefined],
  ])("the declared Compute %s", (_, object, existing, isKept, step) => {
    expect(ownedCompute(object, existing, stored(isKept).specs)).toStrictEqual({ step, isTaken: false });
  });

  test.each([
    ["another Branch's", theirs],
    ["nobody's", nobodys],
    ["another Branch's that goes", computeOf(uidOf("b"), { deletionTimestamp: "2026-01-01T00:00:00Z" })],
  ])("the owned Compute cannot be made while %s has its name, which stays as it is", (_, existing) => {
    expect(ownedCompute(declaring, existing, stored(false).specs)).toStrictEqual({ step: undefined, isTaken: true });
  });

  test("the owned Compute is compared with the declared spec, defaults and all", () => {
    const { specs, asked } = stored();
    ownedCompute(declaring, mine, specs);
    expect(asked).toEqual([[declaredSpec(declaring), mine]]);
  });
});

describe("an edit of the owned Compute", () => {
  const wallNow = Date.parse("2026-01-03T00:00:00Z");
  const held = (object: Branch, existing: Compute, isKept = false) =>
    awaitsBranch(object, existing, stored(isKept).specs, wallNow);
  const paused = (text: string) => branch({ spec: { compute: size }, annotations: { paused: text } });
  const showing = (reason: string, type: "Stalled" | "Reconciling" | "Expired") => {
    const shared = { status: "True", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
    return branch({
      spec: { compute: size },
      status: { conditions: [{ ...shared, type }] },
    });
  };

  test.each([
    ["a Branch at rest", declaring],
    ["one whose pause has ended", paused("2026-01-02T00:00:00Z")],
    ["one that waits for something else", showing("ServiceUnavailable", "Reconciling")],
  ])("an edit of the owned Compute waits for %s, which puts it back", (_, object) => {
    expect(held(object, mine)).toBe(true);
    expect(held(object, mine, true)).toBe(false);
  });

  test.each([
    ["is paused", paused("true"), mine],
    ["is being deleted", branch({ spec: { compute: size }, deleting: true }), mine],
    ["is stalled", showing("BranchLost", "Stalled"), mine],
    ["has ended", showing("Expired", "Expired"), mine],
    ["declares none, and is about to delete it", plain, mine],
    ["does not own it", declaring, theirs],
    ["cannot change it any more", declaring, going],
    ["has another name, as where the owner reference was copied", declaring, computeOf(uidOf("a"), { name: "copy" })],
  ])("an edit of the owned Compute counts where its Branch %s", (_, object, existing) => {
    expect(held(object, existing)).toBe(false);
  });
});

describe("the declared spec", () => {
  const of = (spec: Record<string, unknown>, status: Record<string, unknown> = {}) =>
    declaredSpec(branch({ spec, status }));

  test("the declared spec has project, connection and branch from the Branch, and the defaults of a Compute", () => {
    expect(of({ compute: size })).toMatchObject({
      ...size,
      projectID: "shiny-wind-028834",
      connectionRef: { name: "default" },
      branchRef: { name: "shop" },
      type: "read_write",
    });
    expect(of({})).toBeUndefined();
  });

  test.each([
    ["its own", { compute: { deletionPolicy: "Delete" }, deletionPolicy: "Retain" }, {}, "Delete"],
    ["the Branch's", { compute: {}, deletionPolicy: "Retain" }, {}, "Retain"],
    [
      "the Branch's, also where another is in force",
      { compute: {}, deletionPolicy: "Delete" },
      { deletionPolicy: "Retain" },
      "Delete",
    ],
    [
      "Retain where that is in force for the Branch",
      { compute: {} },
      { proof: { uid: "u", branchID: "br-one", by: "adopted" } },
      "Retain",
    ],
    [
      "none where the branch is deleted with its object",
      { compute: {} },
      { deletionPolicy: "Retain", proof: { uid: "u", branchID: "br-one", by: "created" } },
      undefined,
    ],
  ])("the declared spec has as deletionPolicy %s", (_, spec, status, policy) => {
    expect(of(spec, status)?.deletionPolicy).toBe(policy);
  });
});

describe("the owned Compute is brought to what is declared", () => {
  const setUp = (fields: StoredFields = {}) => {
    const acting = new Acting({ kinds: ["branches", "computes"] });
    const object = acting.stored(fields);
    const cluster = acting.cluster.client();
    const notes = stored();
    const computes = storedComputes(acting.cluster);
    const existing = () => computes.find();
    const does = (kind: "create" | "patch" | "delete", one: Branch = object, seen = existing()) =>
      carryOut({ kind }, one, seen, { cluster, stored: notes.specs });
    return { acting, object, computes, existing, does, notes };
  };

  test("the owned Compute is created with owner and labels, and does not hold its owner's deletion up", async () => {
    const { object, existing, does, notes } = setUp({
      metadata: { labels: { team: "shop" } },
      spec: { compute: size },
    });
    await does("create");
    const made = existing();
    expect(made).toMatchObject({
      metadata: {
        labels: { team: "shop" },
        ownerReferences: [
          {
            apiVersion: "compute-operator.dev/v1alpha1",
            kind: "Branch",
            name: "shop",
            uid: object.metadata.uid,
            controller: true,
            blockOwnerDeletion: false,
          },
        ],
      },
    });
    expect(made?.spec).toEqual(declaredSpec(object));
    expect(notes.answered).toEqual([[declaredSpec(object), made]]);
  });

  test("the owned Compute is given the declared spec in place of the one that it has", async () => {
    const { acting, existing, does, notes } = setUp({ spec: { compute: size } });
    await does("create");
    acting.write([{ op: "replace", path: "/spec/compute", value: { computeUnits: { min: 1, max: 2 } } }]);
    const changed = acting.object();
    await does("patch", changed);
    expect(existing()?.spec).toEqual(declaredSpec(changed));
    expect(notes.answered[1]).toEqual([declaredSpec(changed), existing()]);
  });

  test("an edit of the owned Compute that is put back is reported, and the Branch's own change is not", async () => {
    const { object, computes, does } = setUp({ spec: { compute: size } });
    await does("create");
    const edit = () => computes.write([{ op: "add", path: "/spec/disabled", value: true }]);
    const settled = { ...object, status: { observedGeneration: object.metadata.generation } };
    expect(await does("patch", settled)).toBeUndefined();
    edit();
    expect(await does("patch", settled)).toMatchObject({ kind: "Compute", metadata: { name: "shop" } });
    edit();
    expect(await does("patch", { ...settled, status: { observedGeneration: 0 } })).toBeUndefined();
  });

  test("the owned Compute is not patched where somebody has changed it since", async () => {
    const { computes, existing, does } = setUp({ spec: { compute: size } });
    await does("create");
    const old = existing();
    computes.write([{ op: "add", path: "/metadata/labels", value: { a: "b" } }]);
    await expect(does("patch", undefined, old)).rejects.toThrow("422");
  });

  test("the owned Compute is deleted, and none that has its name by then", async () => {
    const { computes, existing, does } = setUp({ spec: { compute: size } });
    await does("create");
    const old = existing();
    computes.drop();
    await does("create");
    await does("delete", undefined, old).catch(() => undefined);
    expect(existing()?.metadata.deletionTimestamp).toBeUndefined();
    await does("delete");
    expect(existing()).toBeUndefined();
  });

  test("the owned Compute is not deleted where it has changed: it may have lost its owner", async () => {
    const { computes, existing, does } = setUp({ spec: { compute: size } });
    await does("create");
    const old = existing();
    computes.write([{ op: "remove", path: "/metadata/ownerReferences" }]);
    await expect(does("delete", undefined, old)).rejects.toThrow("409");
    expect(existing()).toBeDefined();
  });

  test.each([
    [
      "keeps its endpoint where Retain came after it was last patched",
      { compute: size, deletionPolicy: "Retain" },
      "Retain",
    ],
    ["goes as it is where the branch goes too", { compute: size }, undefined],
    [
      "goes as it is where its own policy says so",
      { compute: { ...size, deletionPolicy: "Delete" }, deletionPolicy: "Retain" },
      undefined,
    ],
    ["goes as it is where it is declared no more", { deletionPolicy: "Retain" }, undefined],
  ])("the owned Compute that is deleted %s", async (_, spec, policy) => {
    const { acting, computes, existing, does } = setUp({ spec: { compute: size } });
    await does("create");
    computes.write([{ op: "add", path: "/metadata/finalizers", value: ["example.com/other"] }]);
    acting.write([{ op: "replace", path: "/spec", value: { ...acting.object().spec, compute: undefined, ...spec } }]);
    await does("delete", acting.object());
    expect(existing()?.metadata.deletionTimestamp).toBeDefined();
    expect(existing()?.spec.deletionPolicy).toBe(policy);
  });

  test.each([
    ["created, where none is declared", "create", {}],
    ["patched, where none is declared", "patch", {}],
    ["patched, where there is none", "patch", { spec: { compute: size } }],
    ["deleted, where there is none", "delete", { spec: { compute: size } }],
  ] as const)("nothing is %s of an owned Compute", async (_, kind, fields) => {
    const { acting, does, notes } = setUp(fields);
    await does(kind);
    expect(acting.effects).toEqual([]);
    expect(notes.answered).toEqual([]);
  });

  test("the owned Compute may find its name taken meanwhile, which is no error: the watch brings what has it", async () => {
    const { does, notes } = setUp({ spec: { compute: size } });
    await does("create");
    await does("create");
    expect(notes.answered).toHaveLength(1);
  });
});
