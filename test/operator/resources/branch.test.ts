import { describe, expect, test } from "vitest";
import {
  branchNameOf,
  expiryInWords,
  ownedComputeSpec,
  owningBranch,
  parseBranch,
} from "../../../src/operator/resources/branch.ts";
import { owningPool } from "../../../src/operator/resources/compute-pool.ts";

const metadata = { name: "pr-1", namespace: "shop", uid: "u-1", resourceVersion: "1" };

function branch(spec: object = {}, status: object = {}) {
  const read = parseBranch({ metadata, spec: { projectID: "shop-one", expiry: { never: true }, ...spec }, status });
  if (!read.ok) throw new Error(read.problem);
  return read.value;
}

test("the name of a branch at the service is that of its spec, else that of its object", () => {
  expect(branchNameOf(branch({ branchName: "preview/pr-1" }))).toBe("preview/pr-1");
  expect(branchNameOf(branch())).toBe("shop/pr-1");
});

test.each([
  [{ after: "72h" }, "after 72h"],
  [{ at: "2026-01-01T00:00:00Z" }, "at 2026-01-01T00:00:00Z"],
  [{ lease: "1h" }, "lease 1h"],
  [{ never: true }, "never"],
])("the expiry %j is %s in words", (expiry, words) => {
  expect(expiryInWords(branch({ expiry }).spec.expiry)).toBe(words);
});

test.each([
  ["Branch", owningBranch],
  ["ComputePool", owningPool],
])("the owner of a Compute that is a %s is found by kind and version", (kind, owning) => {
  const reference = { apiVersion: "compute-operator.dev/v1alpha1", kind, name: "x", uid: "u-2" };
  const owned = (...ownerReferences: object[]) => {
    const read = parseBranch({ metadata: { ...metadata, ownerReferences }, spec: branch().spec });
    if (!read.ok) throw new Error(read.problem);
    return owning(read.value)?.uid;
  };
  const others = [
    { ...reference, kind: "Compute", uid: "u-3" },
    { ...reference, apiVersion: "example.com/v1", uid: "u-4" },
  ];
  expect(owned(...others, reference)).toBe("u-2");
  expect(owned(...others)).toBeUndefined();
  expect(owning({ metadata })).toBeUndefined();
});

test.each([
  ["that controls it", true, "pool", "branch"],
  ["that controls it", true, "branch", "pool"],
  ["that comes first where none does", false, "pool", "pool"],
  ["that comes first where none does", false, "branch", "branch"],
])(
  "one alone of a Branch and a pool that both own a Compute is its owner: the one %s (%#)",
  (_, controls, first, one) => {
    const reference = { apiVersion: "compute-operator.dev/v1alpha1", name: "x", controller: false };
    const owners = [
      { ...reference, kind: "Branch", uid: "branch" },
      { ...reference, kind: "ComputePool", uid: "pool" },
    ];
    const [before, after] = first === "pool" ? owners.toReversed() : owners;
    const ownerReferences = [before, { ...after, controller: controls }];
    const read = parseBranch({ metadata: { ...metadata, ownerReferences }, spec: branch().spec });
    const found = read.ok ? [owningBranch(read.value), owningPool(read.value)] : [];
    expect(found.flatMap((owner) => owner?.uid ?? [])).toEqual([one]);
  },
);

const connectionRef = { kind: "ClusterServiceConnection", name: "eu" };
const owned = (spec: object, status: object = {}) => ownedComputeSpec(branch({ connectionRef, ...spec }, status));

test("the Compute of a Branch is made with project, connection and branch of that, and only where it is asked for", () => {
  const compute = { computeUnits: { min: 1, max: 2 } };
  const common = { projectID: "shop-one", connectionRef, branchRef: { name: "pr-1" } };
  expect(owned({ compute })).toMatchObject({ ...compute, ...common });
  expect(owned({})).toBeUndefined();
});

test.each<[string, object, object, string | undefined]>([
  ["its own", { compute: { deletionPolicy: "Delete" }, deletionPolicy: "Retain" }, {}, "Delete"],
  ["that of its Branch", { compute: {}, deletionPolicy: "Retain" }, {}, "Retain"],
  [
    "that in force when its Branch is deleted",
    { compute: {} },
    { proof: { uid: "u", branchID: "br-one", by: "adopted" } },
    "Retain",
  ],
  [
    "none where the default is in force",
    { compute: {} },
    { deletionPolicy: "Retain", proof: { uid: "u", branchID: "br-one", by: "created" } },
    undefined,
  ],
  [
    "that of its Branch, rather than the one that was in force",
    { compute: {}, deletionPolicy: "Delete" },
    { deletionPolicy: "Retain" },
    "Delete",
  ],
])("the policy of the Compute of a Branch is %s", (_, spec, status, policy) => {
  const made = owned(spec, status);
  expect(made).toBeDefined();
  expect(Reflect.get(Object(made), "deletionPolicy")).toBe(policy);
});

describe("a time in the spec", () => {
  const read = (at: string) =>
    parseBranch({ metadata: { name: "shop" }, spec: { projectID: "shop-one", expiry: { at } } });

  test.each([
    "2026-11-24T00:00:00Z",
    "2026-12-31T00:00:00Z",
    "2000-02-29T00:00:00Z",
    "2028-02-29T23:59:59.125+14:00",
    "2026-10-31T08:30:00-23:59",
  ])("a time in the spec can be %s", (at) => {
    expect(read(at).ok).toBe(true);
    expect(Date.parse(at)).not.toBeNaN();
  });

  test.each([
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-12-32T00:00:00Z",
    "2026-12-00T00:00:00Z",
    "2026-02-31T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-11-31T00:00:00Z",
    "2026-12-01T24:00:00Z",
    "2026-12-01T00:60:00Z",
    "2026-12-01T00:00:60Z",
    "2026-12-01T00:00:00+24:00",
    "2026-12-01T00:00:00+01:60",
  ])("a time in the spec cannot be %s, which no clock shows", (at) => {
    expect(read(at)).toMatchObject({ ok: false, problem: expect.stringContaining("must be a time such as") });
  });
});
