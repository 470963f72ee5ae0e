import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  type InputFields,
  input,
  madeBy,
  now,
  openSince,
} from "../../../support/builders.ts";

const linked = (fields: ComputeFields = {}) => compute({ linked: "ep-one", shows: "Active", ...fields });
const startedAt = now - 100;

/** Lists have lacked the endpoint since one begun so long before the present one. */
function missing(agoMs: number, proved = false) {
  return { missing: { id: "ep-one", since: startedAt - agoMs, proved } };
}
const proved = missing(10_000, true);
/** As the status is once that was concluded: the annotation that still names the endpoint counts as none. */
const recordedGone = { shows: "EndpointLost", status: { endpointID: "ep-one", gone: "ep-one", state: "Lost" } };

describe("an endpoint that ended with its branch", () => {
  const from = (branch: "shown" | "gone" | "awaited" | "unknown") => ({ branchID: "br-main", branch });
  const planned = (branch: Parameters<typeof from>[0], fields: ComputeFields = {}, rest: InputFields = {}) => {
    const [o, s] = input({ compute: linked(fields), state: proved, ...rest });
    return plan(o.kind === "observed" ? { ...o, missingFrom: from(branch) } : o, s);
  };

  test("an endpoint that ended with its branch is no loss: nothing is made, whatever else is missing and whatever was reported before", () => {
    const gone = {
      kind: "blocked",
      reason: "BranchNotFound",
      message: expect.stringContaining("br-main no longer exists"),
    };
    expect(planned("gone")).toMatchObject(gone);
    expect(planned("gone", {}, { list: { notListed: { missing: 50, known: 51 } } })).toMatchObject(gone);
    expect(planned("gone", { shows: "MassLoss", status: { lossDoubted: true } })).toMatchObject(gone);
    expect(planned("gone", { shows: "EndpointLost", status: { state: "Lost" } })).toMatchObject(gone);
    expect(planned("gone", {}, { state: missing(0) })).toMatchObject(gone);
  });

  test.each(["shown", "unknown"] as const)("an endpoint is lost where its branch is %s", (branch) => {
    expect(planned(branch)).toMatchObject({ kind: "wait", reason: "EndpointLost" });
    expect(planned(branch, {}, { list: { notListed: { missing: 4, known: 7 } } })).toMatchObject({
      reason: "MassLoss",
    });
  });

  test("an endpoint is lost where the spec names another branch by now: there another is made", () => {
    expect(planned("gone", { spec: { branchID: "br-next" } })).toMatchObject({ reason: "EndpointLost" });
  });

  test("a loss is waited for until branches are listed, unless a person has confirmed the loss", () => {
    expect(planned("awaited", {}, { state: missing(4000) })).toEqual({ kind: "noop", requeueAfterMs: 6000 - 100 });
    expect(planned("awaited", {}, { list: { notListed: { missing: 4, known: 7 } } })).toEqual({ kind: "noop" });
    const confirmed = { shows: "MassLoss", annotations: { confirmLoss: "now" }, status: { lossDoubted: true } };
    expect(planned("awaited", confirmed)).toMatchObject({ reason: "EndpointLost" });
  });
});

describe("an endpoint that a list lacks", () => {
  test.each([
    ["in the first list", {}, { kind: "noop", requeueAfterMs: 10_000 - 100 }],
    ["for less than ten seconds, though these are over", missing(9_999), { kind: "noop", requeueAfterMs: 1000 }],
    ["for ten seconds", missing(10_000), { kind: "confirmDeletion", endpointID: "ep-one", after: "lost" }],
  ])("%s", (_, state, action) => {
    expect(plan(...input({ compute: linked(), state }))).toEqual(action);
  });

  test("an endpoint that its own GET does not show either is reported as lost, before another is created", () => {
    expect(plan(...input({ compute: linked(), state: proved }))).toMatchObject({
      kind: "wait",
      reason: "EndpointLost",
      requeueAfterMs: 1,
      gone: "ep-one",
    });
    expect(plan(...input({ compute: linked(recordedGone), state: proved }))).toMatchObject({
      kind: "create",
      lost: true,
    });
  });

  test.each([
    ["seen elsewhere", { observedThrough: "another connection" }, {}],
    ["paused", {}, { paused: "true" }],
    ["lost, and not made again", {}, {}],
  ])(
    "an endpoint that a list lacks gets back the link and finalizer that kubectl replace dropped, also while it is %s",
    (_, status, annotations) => {
      const self = linked({ guarded: false, annotations, status: { endpointID: "ep-one", ...status } });
      const restored = { kind: "link", endpointID: "ep-one", news: "none" };
      const spec = { ...self.spec, driftPolicy: "Report" } as const;
      expect(plan(...input({ compute: { ...self, spec }, state: proved }))).toMatchObject(restored);
    },
  );

  test("an endpoint is reported as lost only once while the create of its replacement is refused", () => {
    const refused = linked({ ...recordedGone, shows: "ProjectBusy" });
    expect(plan(...input({ compute: refused, state: proved }))).toMatchObject({ kind: "create" });
  });

  test("an endpoint is no longer looked for once the status says that it is gone, and one that comes back is another's", () => {
    const back = [madeBy(compute(), { name: "by hand" })];
    expect(plan(...input({ compute: linked(recordedGone), endpoints: back }))).toMatchObject({
      reason: "PrimaryExists",
    });
    const typed = linked({ ...recordedGone, annotations: { endpointID: "ep-other" } });
    expect(plan(...input({ compute: typed }))).toMatchObject({ kind: "noop" });
  });

  test("an endpoint is proved gone before the open create that may have made it is concluded from, and settles after it", () => {
    const write = openSince(now - 5000);
    expect(plan(...input({ compute: linked(), state: { write } }))).toMatchObject({ reason: "CreateUnknown" });
    const closed = { write: { ...write, phase: "closed" } } as const;
    expect(plan(...input({ compute: linked(), state: { ...closed, ...missing(10_000) } }))).toMatchObject({
      kind: "confirmDeletion",
    });
  });

  test.each([
    ["that this process made and no status has recorded is looked for first", undefined, { kind: "noop" }],
    ["that a status recorded through another key is not", "there", { reason: "MassLoss" }],
  ])("%s", (_, observedThrough, action) => {
    const self = linked({ status: { endpointID: "ep-one", observedThrough } });
    const state = { write: { ...openSince(0, {}, "ep-one"), phase: "closed" } } as const;
    expect(plan(...input({ compute: self, state }))).toMatchObject(action);
  });

  test("gives its place to another with our signature only when it is proved gone", () => {
    const endpoints = [madeBy(linked(), { id: "ep-other" })];
    const stepFor = (state: object) => plan(...input({ compute: linked(), endpoints, state }));
    expect(stepFor({})).toMatchObject({ kind: "noop" });
    expect(stepFor(missing(10_000))).toEqual({ kind: "confirmDeletion", endpointID: "ep-one", after: "lost" });
    expect(stepFor(proved)).toEqual({ kind: "link", endpointID: "ep-other", proof: "signature", news: "created" });
  });

  test("gives its place to none while it is paused, and takes the others along when it is deleted", () => {
    const endpoints = [madeBy(linked(), { id: "ep-other" })];
    const paused = linked({ annotations: { endpointID: "ep-one", paused: "true" } });
    expect(plan(...input({ compute: paused, endpoints, state: proved }))).toMatchObject({ reason: "Paused" });
    const action = plan(...input({ compute: linked({ deleting: true }), endpoints }));
    expect(action).toMatchObject({ kind: "delete", endpointID: "ep-other", why: "duplicate" });
  });

  test("an endpoint that was adopted by id is not created again", () => {
    const adopted = linked({ spec: { adopt: { endpointID: "ep-one" } } });
    expect(plan(...input({ compute: adopted, state: proved }))).toMatchObject({
      kind: "blocked",
      reason: "AdoptionRefused",
      message: expect.stringContaining("was deleted at the service"),
    });
  });

  test("an endpoint that was adopted as the branch's primary is created again", () => {
    const adopted = linked({ ...recordedGone, spec: { adopt: { branchPrimary: true } } });
    expect(plan(...input({ compute: adopted, state: proved }))).toMatchObject({ kind: "create" });
  });

  test("a lost endpoint has another taken over in its place that a person names, also with driftPolicy Report", () => {
    const spec = { driftPolicy: "Report", adopt: { endpointID: "ep-two" } } as const;
    const self = linked({ ...recordedGone, shows: "AdoptionRefused", spec });
    const endpoints = [endpoint({ id: "ep-two" })];
    expect(plan(...input({ compute: self, endpoints, state: proved }))).toMatchObject({
      kind: "link",
      endpointID: "ep-two",
      proof: "adopted",
    });
  });

  test("an endpoint is not created again with driftPolicy Report, however long it is gone", () => {
    const reporting = linked({ shows: "EndpointLost", spec: { driftPolicy: "Report" }, status: { state: "Lost" } });
    expect(plan(...input({ compute: reporting, state: proved }))).toMatchObject({
      kind: "wait",
      reason: "EndpointLost",
      message: expect.stringContaining("driftPolicy is Report"),
      requeueAfterMs: 60_000,
    });
  });

  test("a lost endpoint's place that another primary took is not fought over", () => {
    const reported = linked(recordedGone);
    const ownedByOther = endpoint({ id: "ep-by-hand" });
    expect(plan(...input({ compute: reported, endpoints: [ownedByOther], state: proved }))).toMatchObject({
      reason: "PrimaryExists",
    });
  });
});

describe("too much gone at once", () => {
  const massive = { notListed: { missing: 4, known: 7 } };
  const massLoss = { kind: "blocked", reason: "MassLoss", message: expect.stringContaining("confirmLoss") };

  test.each([
    [3, 3, false],
    [3, 5, false],
    [4, 8, false],
    [4, 7, true],
    [10, 10, true],
    [400, 1000, false],
  ])(
    "a loss of %i of %i known endpoints of a project is believed only up to three, or up to half",
    (gone, known, refused) => {
      const list = { notListed: { missing: gone, known } };
      const action = plan(...input({ compute: linked(), list, state: proved }));
      expect(action.kind === "blocked" && action.reason === "MassLoss").toBe(refused);
    },
  );

  test("a mass loss is not confirmed by a refresh that a person requests", () => {
    const annotations = { endpointID: "ep-one", reconcileRequestedAt: "now" };
    const asked = linked({ annotations, shows: "MassLoss" });
    expect(plan(...input({ compute: asked, list: massive, state: proved }))).toMatchObject(massLoss);
  });

  test("a mass loss is not examined further until a person confirms it", () => {
    expect(plan(...input({ compute: linked(), list: massive, state: proved }))).toMatchObject(massLoss);
    const annotations = { endpointID: "ep-one", confirmLoss: "now" };
    expect(plan(...input({ compute: linked({ annotations }), list: massive, state: proved }))).toMatchObject(massLoss);
    const asked = linked({ annotations, shows: "MassLoss" });
    expect(plan(...input({ compute: asked, list: massive }))).toMatchObject({ kind: "noop" });
    expect(plan(...input({ compute: asked, list: massive, state: proved }))).toMatchObject({ reason: "EndpointLost" });
  });

  test("a mass loss is not approved by a value that confirmed another before", () => {
    const fields = { endpointID: "ep-one", confirmLoss: "before" };
    const status = { lastHandledConfirmLoss: "before" };
    const answered = linked({ annotations: fields, shows: "MassLoss", status });
    expect(plan(...input({ compute: answered, list: massive, state: proved }))).toMatchObject(massLoss);
  });

  test("a mass loss stays unconfirmed for each Compute until a person confirms it there, even after others were created again", () => {
    const reported = linked({ shows: "MassLoss", status: { state: "Lost" } });
    const list = { notListed: { missing: 2, known: 7 } };
    expect(plan(...input({ compute: reported, list, state: proved }))).toMatchObject(massLoss);
  });

  test.each(["ServiceUnavailable", "Paused"])(
    "a mass loss stays unbelieved though %s was shown since, and fewer are missing by now",
    (shows) => {
      const reported = linked({ shows, status: { lossDoubted: true } });
      const list = { notListed: { missing: 2, known: 7 } };
      expect(plan(...input({ compute: reported, list, state: proved }))).toMatchObject(massLoss);
    },
  );

  test("a mass loss is over as soon as the endpoint is back", () => {
    const reported = linked({ shows: "MassLoss", status: { state: "Lost" } });
    expect(plan(...input({ compute: reported, endpoints: [madeBy(reported)] }))).toMatchObject({ kind: "settled" });
  });

  test.each([
    ["another base URL or key", "there", "was last seen with others. Check connection, key and project"],
    [
      "one that nobody remembers, as after a restore, or where the annotation was typed by hand",
      undefined,
      "(annotation compute-operator.dev/endpoint-id) is not listed with the current base URL and key, and it is not known with which it was created",
    ],
  ])("a single endpoint that was last seen through %s is not believed gone", (_, observedThrough, message) => {
    const self = linked({ status: { endpointID: "ep-one", ...(observedThrough && { observedThrough }) } });
    const before = { ...self, status: { ...self.status, observedThrough } };
    expect(plan(...input({ compute: before, state: proved }))).toMatchObject({
      reason: "MassLoss",
      message: expect.stringContaining(message),
    });
  });
});
