import { describe, expect, test } from "vitest";
import { ClaimIndex } from "../../../../src/operator/compute/observe/claim-index.ts";
import { type ComputeFields, compute, uidOf } from "../../../support/builders.ts";
import { reported } from "./observing.ts";

const self = compute();
const { uid } = self.metadata;
/** Another that wants the same branch. */
const onBranch = compute({ uid: uidOf("b"), name: "on-branch" });
const elsewhere = compute({ uid: uidOf("c"), name: "elsewhere", spec: { branchID: "br-next" } });
const onEndpoint = compute({ uid: uidOf("d"), name: "on-endpoint", linked: "ep-one", spec: { type: "read_only" } });
const both = new Set([uid, onBranch.metadata.uid]);

function indexed(...computes: (typeof self)[]) {
  const services = new Map<string, string>();
  const claims = new ClaimIndex(
    ({ metadata }) => services.get(metadata.uid) ?? "https://service",
    () => false,
    () => "here",
  );
  for (const one of computes) claims.set(one);
  return { claims, services };
}

describe("a change of a Compute wakes", () => {
  const change = (before: ComputeFields, after: ComputeFields) => {
    const [previous, object] = [compute(before), compute(after)];
    const { claims } = indexed(previous, onBranch, elsewhere, onEndpoint);
    return claims.change({ type: "updated", object, previous });
  };
  const [branch, link] = [onBranch.metadata.uid, onEndpoint.metadata.uid];

  test.each<[string, ComputeFields, ComputeFields, string[]]>([
    ["nobody else where it touches no claim", {}, { spec: { disabled: true } }, []],
    [
      "those on its former and on its new branch",
      {},
      { spec: { branchID: "br-next" } },
      [branch, elsewhere.metadata.uid],
    ],
    ["those on its branch where its type changes", {}, { spec: { type: "read_only" } }, [branch]],
    ["those on its branch where its project changes", {}, { spec: { projectID: "another" } }, [branch]],
    ["those of an endpoint that it is to adopt", {}, { spec: { adopt: { endpointID: "ep-one" } } }, [branch, link]],
    [
      "those on its branch where it is to adopt the primary",
      {},
      { spec: { adopt: { branchPrimary: true } } },
      [branch],
    ],
    ["those on its branch where its connection changes", {}, { spec: { connectionRef: { name: "other" } } }, [branch]],
    ["those of an endpoint that it is linked to", {}, { linked: "ep-one" }, [branch, link]],
    ["those on its branch where it is being deleted", {}, { deleting: true }, [branch]],
    [
      "those on its branch where it turns out to reach nothing",
      { status: { observedThrough: undefined } },
      { status: { observedThrough: undefined, ...reported("Forbidden") } },
      [branch],
    ],
  ])("%s", (_, before, after, woken) => {
    expect(change(before, after)).toEqual(new Set([uid, ...woken]));
  });

  test("those on its branch when it is new, and when it is gone", () => {
    const { claims } = indexed(onBranch, elsewhere);
    expect(claims.change({ type: "added", object: self })).toEqual(both);
    expect(claims.claimantsOf(onBranch).onBranch("br-main")).toEqual([onBranch, self]);
    expect(claims.change({ type: "deleted", object: self, previous: self })).toEqual(both);
    expect(claims.claimantsOf(onBranch).onBranch("br-main")).toEqual([onBranch]);
    expect(claims.claimantsOf(onBranch).byUID(uid)).toBeUndefined();
  });

  test("those at its former and its new service, where its connection leads elsewhere", () => {
    const there = compute({ uid: uidOf("e"), name: "there" });
    const { claims, services } = indexed();
    services.set(there.metadata.uid, "https://another");
    for (const one of [self, onBranch, there]) claims.set(one);
    services.set(uid, "https://another");
    expect(claims.movedWith(self)).toEqual(new Set([uid, onBranch.metadata.uid, there.metadata.uid]));
    expect(claims.claimantsOf(there).onBranch("br-main")).toEqual([there, self]);
    expect(claims.claimantsOf(onBranch).onBranch("br-main")).toEqual([onBranch]);
  });
});

test("an endpoint is claimed by the Compute that is linked to it, at its own service and in its project", () => {
  const { claims } = indexed(self, onEndpoint);
  expect(claims.claimantOn("https://service", onEndpoint.spec.projectID, "ep-one")).toBe(onEndpoint);
  expect(claims.claimantOn("https://elsewhere", onEndpoint.spec.projectID, "ep-one")).toBeUndefined();
  expect(claims.claimantOn("https://service", "another", "ep-one")).toBeUndefined();
  expect(claims.claimantOn("https://service", onEndpoint.spec.projectID, "ep-two")).toBeUndefined();
});
