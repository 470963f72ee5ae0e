import { describe, expect, test } from "vitest";
import { interestsOf } from "../../../../src/operator/compute/observe/interests.ts";
import { type ComputeFields, compute, recordOf } from "../../../support/builders.ts";
import { reported } from "./observing.ts";

const interests = (fields: ComputeFields = {}) => interestsOf(compute(fields));

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
    const pendingWrite = recordOf({ branchID: "br-former" });
    expect(interests({ status: { pendingWrite } })).toMatchObject({
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
