import { expect, test } from "vitest";
import { identityOf, noop, type WriteAction } from "../../../../src/operator/compute/plan/action.ts";

const create = {
  kind: "create" as const,
  attributes: { type: "read_only", branch_id: "br-main" },
  newest: undefined,
  lost: false,
} satisfies WriteAction;
const patch: WriteAction = {
  kind: "patch",
  endpointID: "ep-one",
  attributes: { disabled: true },
  fields: ["disabled"],
  progress: "Updating",
  corrects: [],
};
const sign: WriteAction = { kind: "sign", endpointID: "ep-one", name: "k8s-a", takesOver: false };
const restart: WriteAction = { kind: "restart", endpointID: "ep-one", value: "1", startedAt: undefined };
const remove: WriteAction = { kind: "delete", endpointID: "ep-one", why: "deleted" };

test.each<[string, WriteAction, WriteAction]>([
  ["a create", create, { ...create, attributes: { ...create.attributes, disabled: true } }],
  ["a patch", patch, { ...patch, attributes: { disabled: false } }],
  ["a signature", sign, { ...sign, name: "k8s-b" }],
  ["a signature elsewhere", sign, { ...sign, endpointID: "ep-two" }],
  ["a restart", restart, { ...restart, value: "2" }],
  ["a deletion", remove, { ...remove, endpointID: "ep-two" }],
])("%s that failed is another write than one with other content", (_, write, other) => {
  expect(identityOf(write, 1)).toBe(identityOf({ ...write }, 1));
  expect(identityOf(other, 1)).not.toBe(identityOf(write, 1));
});

test("a write of another kind is another one", () => {
  const all = [create, patch, sign, restart, remove].map((write) => identityOf(write, 1));
  expect(new Set(all).size).toBe(5);
  // A restart's value may be an endpoint's id.
  expect(identityOf({ ...restart, value: "ep-one" }, 1)).not.toBe(identityOf(remove, 1));
  for (const name of all) expect(JSON.parse(name)).toHaveLength(3);
});

test.each([create, patch, restart, remove])("an edit makes $kind another write", (write) => {
  expect(identityOf(write, 2)).not.toBe(identityOf(write, 1));
});

test("an edit changes no signature", () => {
  expect(identityOf(sign, 2)).toBe(identityOf(sign, 1));
});

test("an action that does nothing until there is news has no time of its own", () => {
  expect(noop(undefined)).not.toHaveProperty("requeueAfterMs");
  expect(noop(5)).toEqual({ kind: "noop", requeueAfterMs: 5 });
});
