import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import type { WriteRecord } from "../../../../src/operator/resources/compute.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  input,
  madeBy,
  proofFor,
  recordOf,
  uidOf,
} from "../../../support/builders.ts";
import { conflict, older, other, younger } from "../claimants.ts";

describe("adoption", () => {
  const byID = (fields: ComputeFields = {}) =>
    compute({ ...fields, spec: { adopt: { endpointID: "ep-one" }, ...fields.spec } });
  const refused = (text: string) => ({ reason: "AdoptionRefused", message: expect.stringContaining(text) });

  test("links what it names, and writes nothing to the service", () => {
    const adopted = { kind: "link", endpointID: "ep-one", proof: "adopted", news: "adopted" };
    expect(plan(...input({ compute: byID(), endpoints: [endpoint()] }))).toEqual(adopted);
    const primary = compute({ spec: { adopt: { branchPrimary: true } } });
    expect(plan(...input({ compute: primary, endpoints: [endpoint()] }))).toEqual(adopted);
  });

  test("the adoption of a branch's primary creates a missing primary", () => {
    const self = compute({ spec: { adopt: { branchPrimary: true } } });
    expect(plan(...input({ compute: self }))).toMatchObject({ kind: "create" });
  });

  test.each([
    ["is missing", [], {}, "does not have"],
    ["is missing, beside a primary that anybody may take", [endpoint({ id: "ep-free" })], {}, "does not have"],
    ["is of another type", [endpoint()], { type: "read_only" }, "of type read_write"],
    [
      "is on another branch",
      [endpoint({ branch_id: "br-next" })],
      {},
      "is on branch br-next, and spec.branchID is br-main",
    ],
  ])("an adoption is refused where the target %s", (_, endpoints, spec, text) => {
    expect(plan(...input({ compute: byID({ spec }), endpoints }))).toMatchObject(refused(text));
  });

  test("an adoption by a copied link to an endpoint of another type is refused, owns nothing, and blocks no other Compute", () => {
    const replica = compute({ spec: { type: "read_only", adopt: { endpointID: "ep-one" } }, linked: "ep-one" });
    const ownedByOther = { ...refused("of type read_write, and spec.type is read_only"), ownedByOther: true };
    expect(plan(...input({ compute: replica, endpoints: [endpoint()] }))).toMatchObject(ownedByOther);
    const gone = { ...replica, metadata: { ...replica.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(plan(...input({ compute: gone, endpoints: [endpoint()] }))).toMatchObject({ kind: "release" });
    const claimant = other({ spec: { adopt: { endpointID: "ep-one" } } });
    const seen = { compute: claimant, endpoints: [endpoint()], others: [replica] };
    expect(plan(...input(seen))).toMatchObject({ kind: "link", proof: "adopted" });
  });

  test("an adoption is refused where the target is another Compute's by its signature", () => {
    const maker = other({ linked: "ep-one" });
    expect(plan(...input({ compute: byID(), endpoints: [madeBy(maker)], others: [maker] }))).toMatchObject(
      refused("Compute others/other created endpoint ep-one, which spec.adopt names"),
    );
  });

  test("an adoption by two is won by the older one, or by the one that holds it already", () => {
    const claimant = other({ created: older, spec: { adopt: { endpointID: "ep-one" } } });
    expect(plan(...input({ compute: byID(), endpoints: [endpoint()], others: [claimant] }))).toMatchObject(conflict());
    const holder = other({ created: younger, linked: "ep-one", spec: { adopt: { endpointID: "ep-one" } } });
    expect(plan(...input({ compute: byID(), endpoints: [endpoint()], others: [holder] }))).toMatchObject(conflict());
  });

  test("an adoption by two of the same branch's primary is won by the older, before either has linked it", () => {
    const spec = { adopt: { branchPrimary: true } };
    const [self, claimant] = [compute({ spec }), other({ created: younger, spec })];
    expect(plan(...input({ compute: self, endpoints: [endpoint()], others: [claimant] }))).toMatchObject({
      kind: "link",
    });
    expect(plan(...input({ compute: claimant, endpoints: [endpoint()], others: [self] }))).toMatchObject(
      conflict("team/shop"),
    );
  });

  describe("of a branch's primary without a name", () => {
    const self = compute({ spec: { adopt: { branchPrimary: true } } });
    const pendingWrite = (fields: Partial<WriteRecord> = {}) => ({
      pendingWrite: recordOf({ uid: uidOf("b"), ...fields }),
    });
    const waits = {
      kind: "wait",
      reason: "Creating",
      message: expect.stringContaining("may be the one that Compute others/other just created"),
    };
    const link = { kind: "link", proof: "adopted" };

    test.each<[string, object, ComputeFields]>([
      ["waits while another's recorded create may have made it", waits, { status: pendingWrite() }],
      [
        "waits also where the other's key was revoked before it ever saw anything",
        waits,
        { shows: "Unauthorized", status: { ...pendingWrite(), observedThrough: undefined } },
      ],
      ["does not wait for a create on another branch", link, { status: pendingWrite({ branchID: "br-next" }) }],
      ["does not wait for a restart", link, { status: pendingWrite({ operation: "restart" }) }],
      ["does not wait for a create of the other type", link, { spec: { type: "read_only" }, status: pendingWrite() }],
      ["does not wait for one without a record", link, {}],
    ])("%s", (_, expected, fields) => {
      const others = [other({ created: younger, ...fields })];
      expect(plan(...input({ compute: self, endpoints: [endpoint()], others }))).toMatchObject(expected);
    });

    test("does not wait for one whose create has led to a link", () => {
      const others = [
        other({ created: younger, linked: "ep-other", status: { endpointID: "ep-other", ...pendingWrite() } }),
      ];
      const endpoints = [endpoint(), endpoint({ id: "ep-other", branch_id: "br-next" })];
      expect(plan(...input({ compute: self, endpoints, others }))).toMatchObject(link);
    });

    test("does not wait where a name shows that it is nobody's", () => {
      const others = [other({ created: younger, status: pendingWrite() })];
      expect(plan(...input({ compute: self, endpoints: [endpoint({ name: "by hand" })], others }))).toMatchObject(link);
    });
  });

  test("leaves an endpoint to the Compute that made it, though only its status proves that, and it is the younger", () => {
    const self = compute({ linked: "ep-one", spec: { adopt: { branchPrimary: true } } });
    const status = { endpointID: "ep-one", proof: proofFor("ep-one", "created", uidOf("b")) };
    const maker = other({ created: younger, linked: "ep-one", status });
    expect(plan(...input({ compute: self, endpoints: [endpoint()], others: [maker] }))).toMatchObject(conflict());
    expect(plan(...input({ compute: maker, endpoints: [endpoint()], others: [self] }))).toMatchObject({
      kind: "settled",
    });
  });

  test("adopt is read only while nothing is linked", () => {
    const self = compute({ linked: "ep-mine", spec: { adopt: { endpointID: "ep-one" } } });
    const mine = madeBy(self, { id: "ep-mine" });
    expect(plan(...input({ compute: self, endpoints: [mine, endpoint({ branch_id: "br-2" })] }))).toMatchObject({
      kind: "settled",
    });
  });

  test("the adoption of an endpoint is independent of a claimant on another service", () => {
    const claimant = other({ created: older, spec: { adopt: { endpointID: "ep-one" } } });
    const elsewhere = { "others/default": "https://another/api/v2" };
    expect(plan(...input({ compute: byID(), endpoints: [endpoint()], others: [claimant], elsewhere }))).toMatchObject({
      kind: "link",
    });
  });
});
