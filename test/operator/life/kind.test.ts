import { expect, test } from "vitest";
import { computePatches } from "../../../src/operator/compute/execute/patch-metadata.ts";
import { type Kind, type KindTypes, step } from "../../../src/operator/life/kind.ts";
import { atOnce } from "../../../src/operator/life/outcome.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import { compute } from "../../support/builders.ts";

type Action = "write" | "wait" | "let go";
type Types = KindTypes & { object: Compute; action: Action; access: undefined };

const stop = { rule: "endpoint-delete-proof", message: "" };

/** The step that is carried out where this one is planned, and whether the API server was asked for the definition. */
async function carriedOut(
  planned: Action,
  { isStopped = false, deleting = true, uninstalling = true } = {},
): Promise<{ action: Action | undefined; asked: boolean }> {
  const object = compute({ deleting });
  const seen: { action: Action | undefined; asked: boolean } = { action: undefined, asked: false };
  const done: Types["done"] = { condition: { kind: "unchanged" }, requeue: atOnce, events: [] };
  const kind: Kind<Types> = {
    patches: computePatches,
    reasons: {},
    observe: () => undefined,
    plan: () => planned,
    guard: () => (isStopped ? stop : undefined),
    insteadOf: () => "wait",
    onStop: () => {},
    letGo: (action) => (action === "wait" ? "let go" : undefined),
    uninstalling: () => {
      seen.asked = true;
      return Promise.resolve(uninstalling);
    },
    execute: (action) => {
      seen.action = action;
      return Promise.resolve(done);
    },
    refused: () => done,
    status: () => Promise.resolve(done),
  };
  const memory = { requeue: { reason: "", count: 0, dueAt: undefined } };
  await step(kind, { object, memory, given: undefined, access: undefined });
  return seen;
}

test.each([
  ["that waits is let go once the definition goes", "wait", {}, "let go", true],
  ["whose write the guard stopped is let go too", "write", { isStopped: true }, "let go", true],
  ["that waits stays while the definition does", "wait", { uninstalling: false }, "wait", true],
  [
    "whose write the guard stopped stays while the definition does",
    "write",
    { isStopped: true, uninstalling: false },
    "wait",
    true,
  ],
  ["has its write sent, whatever becomes of the definition", "write", {}, "write", false],
] as const)("an object under deletion %s", async (_, planned, fields, action, asked) => {
  expect(await carriedOut(planned, fields)).toEqual({ action, asked });
});

test.each([
  ["waits", "wait", {}],
  ["had its write stopped by the guard", "write", { isStopped: true }],
] as const)(
  "an object that nobody deletes and that %s is not let go, and nothing is asked",
  async (_, planned, fields) => {
    expect(await carriedOut(planned, { ...fields, deleting: false })).toEqual({ action: "wait", asked: false });
  },
);
