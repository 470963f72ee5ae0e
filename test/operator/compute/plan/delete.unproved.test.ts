import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  input,
  madeBy,
  now,
  proofFor,
  uidOf,
} from "../../../support/builders.ts";

const going = (fields: ComputeFields = {}) => compute({ linked: "ep-one", deleting: true, ...fields });
const unreadable = endpoint({ unreadable: ["name"] });

describe("an endpoint whose name cannot be read", () => {
  test("an endpoint with an unreadable name is deleted where something else proves it the Compute's own", () => {
    const noted = going({ status: { endpointID: "ep-one", proof: proofFor("ep-one") } });
    const deleted = { kind: "delete", endpointID: "ep-one", why: "deleted" };
    expect(plan(...input({ compute: noted, endpoints: [unreadable] }))).toEqual(deleted);
    const adopted = going({ spec: { adopt: { endpointID: "ep-one" }, deletionPolicy: "Delete" } });
    expect(plan(...input({ compute: adopted, endpoints: [unreadable] }))).toEqual(deleted);
  });

  test("keeps a deletion waiting where nothing else does, for the name may prove it", () => {
    const action = plan(...input({ compute: going(), endpoints: [unreadable] }));
    expect(action).toMatchObject({ kind: "wait", reason: "ServiceUnavailable" });
  });

  test("an endpoint with an unreadable name is let go where another Compute has it", () => {
    const status = { endpointID: "ep-one", proof: proofFor("ep-one", "created", uidOf("b")) };
    const owner = compute({ uid: uidOf("b"), name: "owner", linked: "ep-one", status });
    const action = plan(...input({ compute: going(), endpoints: [unreadable], others: [owner] }));
    expect(action).toMatchObject({
      kind: "release",
      message: "Endpoint ep-one is kept: it belongs to Compute team/owner.",
    });
  });

  test("an endpoint that a Compute has adopted is let go in its owner's name where another Compute has it", () => {
    const status = { endpointID: "ep-one", proof: proofFor("ep-one", "created", uidOf("b")) };
    const owner = compute({ uid: uidOf("b"), name: "owner", linked: "ep-one", status });
    const self = going({ spec: { adopt: { endpointID: "ep-one" } } });
    expect(plan(...input({ compute: self, endpoints: [unreadable], others: [owner] }))).toMatchObject({
      message: "Endpoint ep-one is kept: it belongs to Compute team/owner.",
    });
  });
});

test("an endpoint that is still listed soon after its first DELETE is no fault of the service", () => {
  const self = going();
  const deletes = new Map([["ep-one", { at: now - 1000, before: 0, accepted: true, proved: false, shown: 0 }]]);
  expect(plan(...input({ compute: self, endpoints: [madeBy(self)], state: { deletes } }))).toEqual({
    kind: "wait",
    reason: "Deleting",
    message: "Endpoint ep-one was deleted. The Compute is removed once the deletion is confirmed.",
  });
});

test("a deletion says what it is about where no endpoint is known", () => {
  const [retained, paused] = [{ spec: { deletionPolicy: "Retain" } }, { annotations: { paused: "true" } }];
  const messageFor = (fields: ComputeFields) => {
    const action = plan(...input({ compute: compute({ deleting: true, ...fields }) }));
    return "message" in action ? action.message : undefined;
  };
  expect(messageFor(retained)).toBe("Any endpoint of this Compute is kept: deletionPolicy is Retain.");
  expect(messageFor({ ...retained, linked: "ep-one" })).toBe("Endpoint ep-one is kept: deletionPolicy is Retain.");
  expect(messageFor(paused)).toContain("to have an endpoint that this Compute may have created deleted");
  expect(messageFor({ annotations: { ...paused.annotations, endpointID: "ep-one" } })).toContain(
    "to have endpoint ep-one deleted",
  );
  expect(messageFor({})).toBe("No endpoint was ever created for this Compute.");
});
