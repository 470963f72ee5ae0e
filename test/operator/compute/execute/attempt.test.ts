import { describe, expect, test } from "vitest";
import { createEndpoint } from "../../../../src/operator/compute/execute/create.ts";
import { patchEndpoint } from "../../../../src/operator/compute/execute/update.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, poolerPatch, standing } from "./executing.ts";

// What the answer to a write means for the lists that the next plan may be made on.

/** Sends a PATCH 700 ms after the start. */
async function patched(answer: Acting["answer"], more: object = {}) {
  const { acting, self } = standing();
  acting.answer = answer;
  await acting.cluster.clock.advance(700);
  const { condition } = await patchEndpoint({ ...poolerPatch, ...more }, acting.context(self), acting.access);
  return { acting, message: condition.kind === "shown" ? condition.message : "", known: acting.tools.state.known };
}

describe("after a write, lists from before", () => {
  test.each([
    ["busy", 423],
    ["called too often", 429],
    ["not available", 503],
  ])("lists from before a write still count if the service was %s, because it did nothing", async (_, status) => {
    const { acting, known } = await patched(() => refusal(status));
    expect(known.lists.countAfter).toBe(0);
    expect(acting.access.lister.writtenAt("ep-one")).toBe(Number.NEGATIVE_INFINITY);
  });

  test("lists from before a write still count if it was not sent", async () => {
    const { acting, self } = standing();
    acting.withdrawn = true;
    await acting.cluster.clock.advance(700);
    const outcome = await patchEndpoint(poolerPatch, acting.context(self), acting.access);
    expect(outcome).toMatchObject({ condition: { kind: "unchanged" }, requeue: { kind: "after", ms: 1 } });
    expect(acting.effects).toEqual([]);
    expect(acting.tools.state.known.lists.countAfter).toBe(0);
  });

  test.each<[string, Acting["answer"]]>([
    ["no answer came", () => Promise.reject(new NoResponseError("reset"))],
    ["the service refused it", () => refusal(400)],
    ["the answer shows no endpoint", () => json(200, {})],
  ])(
    "lists from before a write no longer count if %s, neither for another Compute with the same link",
    async (_, answer) => {
      const { acting, known } = await patched(answer);
      expect(known.lists.countAfter).toBe(700);
      expect(acting.access.lister.writtenAt("ep-one")).toBe(700);
    },
  );
});

describe("an endpoint that no list has shown yet", () => {
  test("an endpoint is not missed after the create that made it", async () => {
    const acting = new Acting();
    acting.stored();
    acting.answer = () => json(201, { endpoint: endpoint({ id: "ep-new" }), operations: [] });
    const attributes = { branch_id: "br-main", type: "read_write" };
    await createEndpoint(
      { kind: "create", attributes, newest: undefined, lost: false },
      acting.context(acting.compute()),
      acting.access,
    );
    expect(acting.access.lister.isUnlisted("ep-new")).toBe(true);
  });

  test("an endpoint that was only changed is missed", async () => {
    const { acting } = await patched(() => json(200, { endpoint: endpoint(), operations: [] }));
    expect(acting.access.lister.answers.has("ep-one")).toBe(true);
    expect(acting.access.lister.isUnlisted("ep-one")).toBe(false);
  });
});

describe("a change that was refused", () => {
  test("says what it was to do, and what to do about it", async () => {
    const { message } = await patched(() => refusal(400));
    expect(message).toBe(
      "The service refused to change endpoint ep-one: no (HTTP 400). Change the spec; retried with backoff, at most hourly.",
    );
  });

  test("names the branch of a move, which may be what is missing", async () => {
    const move = {
      attributes: { branch_id: "br-main" },
      fields: ["disabled", "branchID"],
      progress: "Moving",
      from: "br-old",
    };
    const { message } = await patched(() => refusal(404, "branch not found"), move);
    expect(message).toContain("change endpoint ep-one and move it to branch br-main");
  });
});
