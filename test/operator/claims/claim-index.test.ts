import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { ClaimIndex } from "../../../src/operator/claims/claim-index.ts";
import { EndpointIndex } from "../../../src/operator/claims/ownership.ts";
import { isOutsider } from "../../../src/operator/compute/observe/outsider.ts";
import type { ConnectionUser } from "../../../src/operator/resources/connection-user.ts";
import { type ComputeFields, compute, endpoint, uidOf } from "../../support/builders.ts";
import { reported } from "../compute/observe/observing.ts";

const self = compute();
const { uid } = self.metadata;
/** Another that wants the same branch. */
const onBranch = compute({ uid: uidOf("b"), name: "on-branch" });
const elsewhere = compute({ uid: uidOf("c"), name: "elsewhere", spec: { branchID: "br-next" } });
const onEndpoint = compute({ uid: uidOf("d"), name: "on-endpoint", linked: "ep-one", spec: { type: "read_only" } });
const both = new Set([uid, onBranch.metadata.uid]);

function indexed(...computes: (typeof self)[]) {
  const services = new Map<string, string>();
  /** The Computes whose services do not answer. */
  const unreachable = new Set<string>();
  const isUnreachable = ({ metadata }: ConnectionUser) => unreachable.has(metadata.uid);
  const baseURLOf = ({ metadata }: ConnectionUser) => services.get(metadata.uid) ?? "https://service";
  const connections = { baseURLOf, isUnreachable, reachedThrough: () => "here" };
  const claims = new ClaimIndex({ serviceOf: baseURLOf, isOutsider: (one) => isOutsider(one, connections) });
  for (const one of computes) claims.set(one);
  return { claims, services, unreachable };
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

  test("those on its branch when it reports that its service does not answer any more, having had nothing there", () => {
    const fields = { status: { observedThrough: undefined } };
    const previous = compute(fields);
    const { claims, unreachable } = indexed(previous, onBranch, elsewhere);
    unreachable.add(uid);
    const object = compute({ status: { ...fields.status, ...reported("ServiceUnavailable") } });
    expect(claims.change({ type: "updated", object, previous })).toEqual(both);
    const later = compute({ status: { ...object.status, state: "NotCreated" } });
    expect(claims.change({ type: "updated", object: later, previous: object })).toEqual(new Set([uid]));
  });

  test("those on its branch each time that its connection turns out to reach nothing, also after it did reach", () => {
    const never = { observedThrough: undefined };
    const hidden = compute({ status: { ...never, ...reported("Forbidden") } });
    const seen = compute({ status: never });
    const { claims } = indexed(hidden, onBranch, elsewhere);
    expect(claims.change({ type: "updated", object: seen, previous: hidden })).toEqual(both);
    const busy = compute({ status: { ...never, state: "NotCreated" } });
    expect(claims.change({ type: "updated", object: busy, previous: seen })).toEqual(new Set([uid]));
    expect(claims.change({ type: "updated", object: hidden, previous: busy })).toEqual(both);
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

describe("of many Computes that are to adopt one endpoint", () => {
  const many = 400;
  const adopter = (n: number, fields: ComputeFields = {}) =>
    compute({
      uid: uidOf(0x1000 + n),
      name: `adopter-${n}`,
      created: `2026-01-01T00:${String(n % 60).padStart(2, "0")}:00Z`,
      ...fields,
      spec: { adopt: { endpointID: "ep-one" }, ...fields.spec },
    });
  const adopters = Array.from({ length: many }, (_, n) => adopter(n));
  const first = adopters[0]?.metadata.uid;

  /** Counts how often it is asked for what a Compute has signed, as it is for each rank. */
  class CountingIndex extends EndpointIndex {
    asked = 0;
    override signedBy(by: string) {
      this.asked += 1;
      return super.signedBy(by);
    }
  }

  function contending() {
    const services = new Map<string, string>();
    const claims = new ClaimIndex({
      serviceOf: ({ metadata }) => services.get(metadata.uid) ?? "https://service",
      isOutsider: () => false,
    });
    for (const one of adopters) claims.set(one);
    return { claims, services };
  }
  const listed = (fields: Partial<Endpoint> = {}) => new EndpointIndex([endpoint(fields)]);
  const outsider = adopter(many, { namespace: "others" });
  const firstIn = ({ claims }: ReturnType<typeof contending>, endpoints: EndpointIndex) =>
    claims.claimantsOf(outsider).firstOn(endpoints.all[0] ?? endpoint(), endpoints)?.metadata.uid;

  test("the first is found for each of them in a time that does not grow with their number", () => {
    const { claims } = contending();
    const endpoints = new CountingIndex([endpoint()]);
    for (const one of adopters)
      expect(claims.claimantsOf(one).firstOn(endpoint(), endpoints)?.metadata.uid).toBe(first);
    expect(endpoints.asked).toBeLessThan(3 * many);
  });

  test.each<[string, (world: ReturnType<typeof contending>) => void]>([
    ["has gone", ({ claims }) => claims.delete(first ?? "")],
    ["names another endpoint", ({ claims }) => claims.set(adopter(0, { spec: { adopt: { endpointID: "ep-two" } } }))],
    ["is linked to another endpoint", ({ claims }) => claims.set(adopter(0, { linked: "ep-two" }))],
    [
      "has a connection that leads to another service now",
      ({ claims, services }) => {
        services.set(first ?? "", "https://elsewhere");
        claims.movedWith(adopters[0] ?? outsider);
      },
    ],
  ])("it is another once the first %s", (_, change) => {
    const world = contending();
    const endpoints = listed();
    expect(firstIn(world, endpoints)).toBe(first);
    change(world);
    expect(firstIn(world, endpoints)).toBe(uidOf(0x1000 + 60));
  });

  test("it is another where one that is linked to the endpoint comes, and no other where a status says something new", () => {
    const world = contending();
    const endpoints = listed();
    expect(firstIn(world, endpoints)).toBe(first);
    world.claims.set(adopter(7, { shows: "Conflict" }));
    expect(firstIn(world, endpoints)).toBe(first);
    world.claims.set(adopter(7, { linked: "ep-one" }));
    expect(firstIn(world, endpoints)).toBe(uidOf(0x1007));
  });

  test("nobody may adopt it once a list shows it on another branch", () => {
    const world = contending();
    expect(firstIn(world, listed())).toBe(first);
    expect(firstIn(world, listed({ branch_id: "br-next" }))).toBeUndefined();
  });
});
