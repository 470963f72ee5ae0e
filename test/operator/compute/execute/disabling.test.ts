import { describe, expect, test } from "vitest";
import { createEndpoint } from "../../../../src/operator/compute/execute/create.ts";
import { patchMetadata } from "../../../../src/operator/compute/execute/patch-metadata.ts";
import { patchEndpoint } from "../../../../src/operator/compute/execute/update.ts";
import { NoResponseError } from "../../../../src/operator/service-client/transport.ts";
import { createMark, endpoint } from "../../../support/builders.ts";
import { json, refusal } from "../../../support/scripted-service.ts";
import { Acting, linked, settled } from "./executing.ts";

/** One that is linked, and whose PATCH says this of `disabled`. */
function changing(disabled: boolean | undefined, status: object = {}) {
  const acting = new Acting();
  const self = acting.stored({ metadata: linked, status: { ...settled, ...status } });
  const shows = (fields: object) => () => json(200, { endpoint: endpoint(fields), operations: [] });
  acting.answer = shows({ disabled: disabled ?? false });
  const attributes = disabled === undefined ? { pooler_enabled: true } : { disabled };
  const action = { kind: "patch", endpointID: "ep-one", fields: ["disabled"], progress: "Updating" } as const;
  const send = () => patchEndpoint({ ...action, attributes, corrects: [] }, acting.context(self), acting.access);
  return { acting, shows, send };
}
const noted = ({ acting }: { acting: Acting }) => {
  const { disabledByUs, unansweredDisables, endpointID } = acting.compute().status;
  return { disabledByUs, unansweredDisables, endpointID };
};
const byUs = { disabledByUs: true, endpointID: "ep-one" };

describe("before a PATCH that disables", () => {
  test.each([
    ["the first", {}, 1],
    ["the second, the first of which was not answered", { disabledByUs: true, unansweredDisables: 1 }, 2],
    ["more, of which two stand for all", { disabledByUs: true, unansweredDisables: 2 }, 2],
    ["one by another process", { unansweredDisables: 1 }, 2],
  ])("it is noted that we do, and how many may take effect: %s", async (_, status, unansweredDisables) => {
    const one = changing(true, status);
    let before: object = {};
    one.acting.answer = () => {
      before = noted(one);
      return refusal(423);
    };
    await one.send();
    expect(before).toEqual({ ...byUs, unansweredDisables });
  });

  test("what is noted already is not written again, and checked to stand", async () => {
    const { acting, send } = changing(true, { disabledByUs: true, unansweredDisables: 2 });
    const { resourceVersion } = acting.compute().metadata;
    await send();
    expect(acting.effects).toEqual(["PATCH computes/shop/status", "PATCH service/endpoints/ep-one"]);
    expect(acting.compute().metadata.resourceVersion).toBe(resourceVersion);
  });

  test("nothing is sent where the note may be gone: the Compute has changed since", async () => {
    const { acting, send } = changing(true, { disabledByUs: true, unansweredDisables: 2 });
    acting.write([{ op: "add", path: "/metadata/labels", value: { touched: "yes" } }]);
    await expect(send()).rejects.toMatchObject({ status: 422 });
    expect(acting.service.requests).toEqual([]);
  });

  test("the note is not written from a stale view, and then nothing is sent", async () => {
    const { acting, send } = changing(true);
    acting.write([{ op: "add", path: "/spec/branchID", value: "br-other" }]);
    await expect(send()).rejects.toMatchObject({ status: 422 });
    expect(acting.service.requests).toEqual([]);
  });

  test("other changes note nothing", async () => {
    const { acting, send } = changing(undefined);
    const outcome = await send();
    expect(acting.effects).toEqual(["PATCH service/endpoints/ep-one"]);
    expect(outcome.disabling).toEqual({});
  });
});

describe("after a PATCH that disables", () => {
  test.each([
    ["nothing more can take effect where it was the only one", {}, 0],
    ["an earlier one still may", { disabledByUs: true, unansweredDisables: 1 }, 1],
  ])("and was accepted, %s", async (_, status, unanswered) => {
    expect((await changing(true, status).send()).disabling).toEqual({ byUs: true, unanswered });
  });

  test("and was not answered, its time begins", async () => {
    const { acting, send } = changing(true);
    await acting.cluster.clock.advance(700);
    acting.answer = () => Promise.reject(new NoResponseError("reset"));
    const outcome = await send();
    expect(acting.tools.state.known.unansweredDisableSince).toBe(700);
    expect(outcome.disabling).toEqual({});
  });

  test.each([
    ["was refused, it is not ours", 400, {}, { byUs: false, unanswered: 0 }],
    ["was refused, an earlier one is", 400, { disabledByUs: true }, { byUs: true, unanswered: 0 }],
    [
      "was refused, an earlier one may be",
      400,
      { disabledByUs: true, unansweredDisables: 1 },
      { byUs: true, unanswered: 1 },
    ],
    ["is to be sent again, it is not ours yet", 423, {}, { byUs: false, unanswered: 0 }],
  ])("and %s", async (_, status, before, expected) => {
    const { acting, send } = changing(true, before);
    acting.answer = () => refusal(status);
    expect((await send()).disabling).toEqual(expected);
    expect(acting.tools.state.known.unansweredDisableSince).toBeUndefined();
  });
});

describe("after a PATCH that enables", () => {
  test.each([
    ["where the answer shows it, lists are to show it too", { disabled: false }, 0, {}],
    ["where the service never shows it, it is so", {}, 0, { byUs: false }],
    ["one without an answer may yet take effect: somebody else may have disabled it", { disabled: false }, 1, {}],
  ])("%s", async (_, fields, unansweredDisables, disabling) => {
    const { acting, shows, send } = changing(false, { disabledByUs: true, unansweredDisables });
    acting.answer = shows(fields);
    expect((await send()).disabling).toEqual(disabling);
  });
});

describe("a create", () => {
  const create = (acting: Acting, disabled: boolean) =>
    createEndpoint(
      {
        kind: "create",
        attributes: { branch_id: "br-main", type: "read_write", ...(disabled ? { disabled } : {}) },
        mark: { branchID: "br-main", through: "here" },
        lost: false,
      },
      acting.context(acting.compute()),
      acting.access,
    );

  test.each([true, false])("says whether it made the endpoint disabled: %s", async (disabled) => {
    const acting = new Acting();
    acting.stored({ status: { observedGeneration: 1 } });
    acting.answer = () => json(201, { endpoint: endpoint(), operations: [] });
    expect(await create(acting, disabled)).toMatchObject({ disabling: { byUs: disabled } });
    expect(acting.compute().status).toEqual({ observedGeneration: 1, ...(disabled ? { disabledByUs: true } : {}) });
  });

  test.each([
    ["an earlier one may still take effect, and disable it", { disabled: false }, true, { disabledByUs: true }, true],
    ["an earlier one may, but disables nothing", { disabled: false }, true, {}, false],
    ["an earlier one may, but nothing would show it", {}, true, { disabledByUs: true }, false],
    ["none was sent before", { disabled: false }, false, { disabledByUs: true }, false],
  ])("that made an enabled endpoint: %s", async (_, shows, marked, status, isOurs) => {
    const acting = new Acting();
    const { uid } = acting.stored({ metadata: { annotations: { a: "b" } }, status }).metadata;
    const path = "/metadata/annotations/compute-operator.dev~1pending-create";
    if (marked) acting.write([{ op: "add", path, value: createMark({ uid }) }]);
    acting.answer = () => json(201, { endpoint: endpoint(shows), operations: [] });
    expect((await create(acting, false)).disabling).toEqual({ byUs: isOurs });
  });

  test("that was refused leaves no mark", async () => {
    const acting = new Acting();
    acting.stored({ metadata: { annotations: { a: "b" } } });
    acting.answer = () => refusal(400);
    await create(acting, false);
    expect(Object.keys(acting.compute().metadata.annotations ?? {})).toEqual(["a"]);
  });
});

describe("a link", () => {
  const status = { observedGeneration: 1, appliedGeneration: 1, disabledByUs: true, unansweredDisables: 1 };
  const link = { kind: "link", endpointID: "ep-one", proof: "signature" } as const;
  const dropped = { observedGeneration: 1, appliedGeneration: -1 };
  const kept = { ...status, appliedGeneration: -1 };

  test.each([
    ["we made and may have disabled", "created", status, false, kept],
    [
      "we made and disabled",
      "created",
      { observedGeneration: 1, disabledByUs: true },
      false,
      { ...dropped, disabledByUs: true },
    ],
    ["we made", "created", { observedGeneration: 1, unansweredDisables: 0 }, false, dropped],
    ["we take over: somebody else disabled it", "adopted", status, false, dropped],
    ["a person names, and our pending create may have made", "adopted", status, true, kept],
  ] as const)("to an endpoint that %s", async (_, news, before, marked, after) => {
    const acting = new Acting();
    acting.stored({ metadata: { annotations: { a: "b" } }, status: before });
    const path = "/metadata/annotations/compute-operator.dev~1pending-create";
    const value = createMark({ uid: acting.compute().metadata.uid });
    if (marked) acting.write([{ op: "add", path, value }]);
    await patchMetadata({ ...link, news }, acting.context(acting.compute()));
    expect(acting.compute().status).toEqual(after);
    expect(Object.keys(acting.compute().metadata.annotations ?? {})).toEqual(["a", "compute-operator.dev/endpoint-id"]);
  });

  test("writes no status that stands", async () => {
    const acting = new Acting();
    acting.stored({ status: dropped });
    await patchMetadata({ ...link, news: "created" }, acting.context(acting.compute()));
    expect(acting.effects).toEqual(["PATCH computes/shop"]);
  });

  test("to the primary that appeared is reported as linked without proof", async () => {
    const acting = new Acting();
    acting.stored({ status: dropped });
    const taken = { ...link, proof: "none", news: "created" } as const;
    const { events } = await patchMetadata(taken, acting.context(acting.compute()));
    expect(events).toMatchObject([{ type: "Warning", reason: "Created", message: expect.stringContaining("ep-one") }]);
  });
});
