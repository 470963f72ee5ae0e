import { describe, expect, test } from "vitest";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { interestsOf } from "../../../../src/operator/compute/observe/interests.ts";
import { type ComputeFields, compute, createMark } from "../../../support/builders.ts";
import { reported } from "./observing.ts";

const interests = (fields: ComputeFields = {}) => {
  const self = compute(fields);
  return interestsOf(self, annotationsOf(self));
};

describe("a change of its project affects a Compute", () => {
  test("through its branch's primary where it is one, and through nothing else", () => {
    expect(interests()).toEqual({ endpointIDs: [], primariesOf: ["br-main"], anyPlace: false });
    expect(interests()).not.toHaveProperty("pendingOn");
    expect(interests({ spec: { type: "read_only" } })).toEqual({ endpointIDs: [], primariesOf: [], anyPlace: false });
  });

  test("through the endpoint that it is to adopt", () => {
    expect(interests({ spec: { adopt: { endpointID: "ep-one" } } }).endpointIDs).toEqual(["ep-one"]);
  });

  test("through the branch on which its create is pending, which may be another one by now", () => {
    const pendingCreate = createMark({ branchID: "br-former" });
    expect(interests({ annotations: { pendingCreate } })).toMatchObject({
      primariesOf: ["br-main"],
      pendingOn: "br-former",
    });
  });

  test.each(["Conflict", "PrimaryExists", "CreateUnknown", "EndpointLost"])(
    "wherever it is, while it is %s",
    (reason) => {
      expect(interests({ status: reported(reason) }).anyPlace).toBe(true);
    },
  );

  test.each(["Active", "Creating", "ProjectBusy"])("not wherever it is, while it is %s", (reason) => {
    expect(interests({ status: reported(reason) }).anyPlace).toBe(false);
  });
});
