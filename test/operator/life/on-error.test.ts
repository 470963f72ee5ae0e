import { describe, expect, test } from "vitest";
import { ClusterError, ClusterUnreachable } from "../../../src/operator/kube/errors.ts";
import { onError } from "../../../src/operator/life/on-error.ts";
import { branchKind } from "../../../src/operator/resources/branch.ts";
import { computeKind } from "../../../src/operator/resources/compute.ts";

const own = { kind: branchKind, metadata: { namespace: "default", name: "shop" } };
const others = {
  "another kind of the same name": { kind: computeKind.kind, namespace: "default", name: "shop" },
  "another name": { kind: branchKind.kind, namespace: "default", name: "till" },
  "another namespace": { kind: branchKind.kind, namespace: "till", name: "shop" },
  "no object": undefined,
};
const itself = { kind: branchKind.kind, ...own.metadata };

const answer = (status: number, about: typeof itself | undefined, more: Partial<ClusterError["details"]> = {}) =>
  new ClusterError({ status, reason: "", message: `PATCH /x: ${status}`, about, ...more });

const meaning = (error: unknown): unknown => {
  try {
    return onError<unknown>(error, own.kind, own, { outdated: () => "outdated", refused: (refusal) => refusal });
  } catch (thrown) {
    return thrown === error ? "thrown again" : thrown;
  }
};

const stale = [
  ["not found", 404, {}],
  ["a conflict", 409, {}],
  ["a failed test", 422, {}],
] as const;
const refusals = [
  [403, "Forbidden", {}],
  [422, "Rejected", { subject: "shop" }],
] as const;

describe("an answer of the API server", () => {
  test.each(stale)("%s about the object itself leaves it to the next version", (_, status) => {
    expect(meaning(answer(status, itself))).toBe("outdated");
  });

  test.each(stale.flatMap((one) => Object.entries(others).map((other) => [...one, ...other] as const)))(
    "%s about another object says nothing of this one: %#",
    (_, status, _more, _name, about) => {
      expect(meaning(answer(status, about))).toBe("thrown again");
    },
  );

  test.each(refusals)("a refusal with %d is %s, and says of which object", (status, reason, more) => {
    expect(meaning(answer(status, itself, more))).toMatchObject({
      reason,
      isOwn: true,
      message: `The Kubernetes API server refused the operator's patch of this Branch: PATCH /x: ${status}. Nothing is sent to the service until the patch is accepted: shorten the annotations, or change the policy that refuses it.`,
    });
  });

  test.each(refusals.flatMap((one) => Object.entries(others).map((other) => [...one, ...other] as const)))(
    "a refusal with %d of a request for another object never passes for one of this object: %#",
    (status, reason, more, _name, about) => {
      expect(meaning(answer(status, about, more))).toMatchObject({
        reason,
        isOwn: false,
        message: `The Kubernetes API server refused a request that this Branch needs: PATCH /x: ${status}. Nothing is sent to the service until the request is accepted: grant the right, or change the policy that refuses it.`,
      });
    },
  );

  test.each([429, 500, 503])("an answer of %d, about itself too, is thrown again", (status) => {
    expect(meaning(answer(status, itself))).toBe("thrown again");
  });
});

test.each([new ClusterUnreachable("no answer"), new Error("a defect"), "text"])(
  "what is no answer is thrown again: %s",
  (error) => {
    expect(meaning(error)).toBe("thrown again");
  },
);

test.each([
  [{ outdated: () => "outdated" }, 403],
  [{ refused: () => "refused" }, 409],
])("an error that a kind has no consequence for is thrown again: %#", (consequences, status) => {
  const error = answer(status, itself);
  expect(() => onError<unknown>(error, own.kind, own, consequences)).toThrow(error);
});
