import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { type ComputeFields, compute, endpoint, input, madeBy } from "../../../support/builders.ts";

const going = (fields: ComputeFields = {}) => compute({ deleting: true, ...fields });
const adopting = (adopt: object, deletionPolicy?: string) =>
  going({ linked: "ep-one", spec: { adopt, ...(deletionPolicy === undefined ? {} : { deletionPolicy }) } });
const released = (text: string) => ({ kind: "release", event: "Released", message: expect.stringContaining(text) });

describe("a Compute that is being deleted", () => {
  const byID = adopting({ endpointID: "ep-one" }, "Delete");

  test.each([
    ["it adopted by id, with the policy Delete", byID, endpoint()],
    ["it adopted as the primary, with the policy Delete", adopting({ branchPrimary: true }, "Delete"), endpoint()],
    ["it made, though spec.adopt is set", adopting({ branchPrimary: true }), madeBy(byID)],
  ])("a deleted Compute has the endpoint deleted that %s", (_, self, seen) => {
    const deleted = { kind: "delete", endpointID: "ep-one", why: "deleted" };
    expect(plan(...input({ compute: self, endpoints: [seen] }))).toEqual(deleted);
  });

  test.each([{ endpointID: "ep-one" }, { branchPrimary: true }])(
    "a deleted Compute keeps the endpoint that it adopted as %o, where no policy is set",
    (adopt) => {
      const kept = released("Endpoint ep-one is kept: the Compute adopted it");
      expect(plan(...input({ compute: adopting(adopt), endpoints: [endpoint()] }))).toMatchObject(kept);
      expect(plan(...input({ compute: adopting(adopt, "Retain"), endpoints: [endpoint()] }))).toMatchObject(
        released("Retain"),
      );
    },
  );

  test("deletes what its own create made beside the endpoint that it adopted, before it lets that go", () => {
    const self = adopting({ endpointID: "ep-one" });
    const endpoints = [endpoint(), madeBy(self, { id: "ep-two" })];
    expect(plan(...input({ compute: self, endpoints }))).toMatchObject({ kind: "delete", endpointID: "ep-two" });
  });

  test.each(["unavailable", "pending"] as const)(
    "a Compute is let go by the proof that the status has while the service is %s, unless the spec sets a policy",
    (kind) => {
      const observation =
        kind === "pending"
          ? ({ kind } as const)
          : ({ kind, reason: "Unauthorized", message: "refused", projectGone: false } as const);
      const shown = (by: string, spec = {}) => {
        const proof = { uid: going().metadata.uid, endpointID: "ep-one", by };
        const status = { deletionPolicy: "Retain", proof };
        return plan(...input({ compute: going({ linked: "ep-one", spec, status }), observation }));
      };
      expect(shown("adopted")).toMatchObject(released("deletionPolicy is Retain"));
      expect(shown("adopted", { deletionPolicy: "Delete" }).kind).not.toBe("release");
      expect(shown("signature").kind).not.toBe("release");
    },
  );
});

describe("a Compute that kubectl deletes with --cascade=orphan", () => {
  const orphaning = (fields: ComputeFields = {}) => {
    const object = going({ linked: "ep-one", ...fields });
    const { finalizers = [] } = object.metadata;
    return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, "orphan"] } };
  };
  const waits = {
    kind: "wait",
    reason: "Deleting",
    message: expect.stringContaining("until Kubernetes has removed the Compute as the owner of its connection Secret"),
    requeueAfterMs: 600_000,
  };

  test.each<[string, ComputeFields]>([
    ["its endpoint is its own", {}],
    ["it is let go", { spec: { deletionPolicy: "Retain" } }],
    ["it is paused", { annotations: { endpointID: "ep-one", paused: "true" } }],
  ])("nothing is sent while the garbage collector takes it off its dependents, where %s", (_, fields) => {
    const self = orphaning(fields);
    const endpoints = [madeBy(self)];
    expect(plan(...input({ compute: self, endpoints }))).toEqual(waits);
    const observation = { kind: "unavailable", reason: "Unauthorized", message: "no", projectGone: false } as const;
    expect(plan(...input({ compute: self, observation }))).toEqual(waits);
    const bare = going({ linked: "ep-one", ...fields });
    expect(plan(...input({ compute: bare, endpoints }))).not.toEqual(waits);
  });
});
