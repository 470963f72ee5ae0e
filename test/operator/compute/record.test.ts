import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/api/endpoint.ts";
import { newestIn } from "../../../src/operator/compute/candidates.ts";
import { isOpen, type RememberedWrite } from "../../../src/operator/compute/memory.ts";
import {
  afterList,
  afterSight,
  carriedBy,
  chosen,
  nextRecord,
  noted,
  openingOf,
  recordIn,
  relinked,
} from "../../../src/operator/compute/record.ts";
import { never } from "../../../src/operator/life/record.ts";
import type { Compute } from "../../../src/operator/resources/compute.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  type InputFields,
  madeBy,
  now,
  observedBy,
  openSince,
  proofFor,
  recordOf,
  uidOf,
} from "../../support/builders.ts";

// Rule 2: a create takes effect within --create-settle (60 s here), and a list lags at most 10 s.
const settled = 70_000;
const lag = 10_000;

const self = compute();
/** A list that began so long after the record opened. */
const begun = (ms: number) => ({ startedAt: ms });

/** What a list concludes for a record that opened at 0. */
function listed(
  endpoints: readonly Endpoint[],
  list: InputFields["list"],
  { write = openSince(0), of = self, others = [] }: { write?: RememberedWrite; of?: Compute; others?: Compute[] } = {},
): RememberedWrite {
  return afterList(write, observedBy(of, endpoints, list, { others }));
}

describe("a list and an open create", () => {
  const mine = madeBy(self, { id: "ep-mine" });
  const nameless = endpoint({ id: "ep-nameless" });

  test.each<[string, readonly Endpoint[], number, string | undefined, RememberedWrite["phase"]]>([
    ["the answered endpoint, at once", [mine], 1, "ep-mine", "closed"],
    ["another of ours, 10 s after the opening", [mine], lag, undefined, "closed"],
    ["another of ours, sooner: the list may lag", [mine], lag - 1, undefined, "open"],
    ["another of ours than the answered one, sooner", [mine], lag - 1, "ep-answered", "open"],
    ["another of ours than the answered one, 10 s after the opening", [mine], lag, "ep-answered", "closed"],
    ["none, after the settle time and 10 s", [], settled, undefined, "closed"],
    ["none, before", [], settled - 1, undefined, "open"],
    ["none, before, though the request was answered", [], settled - 1, "ep-mine", "open"],
    ["an endpoint without a name, after the settle time and 10 s", [nameless], settled, undefined, "open"],
    ["an endpoint without a name, before", [nameless], settled - 1, undefined, "open"],
  ])("shows %s", (_, endpoints, startedAt, answered, phase) => {
    const write = openSince(0, {}, answered);
    expect(listed(endpoints, begun(startedAt), { write }).phase).toBe(phase);
  });

  test("shows what status.proof says this Compute made, where the service shows no names", () => {
    const proved = compute({ status: { proof: proofFor("ep-nameless") } });
    expect(listed([nameless], begun(lag), { of: proved }).phase).toBe("closed");
  });

  test.each([
    ["a typed link", { linked: "ep-nameless" }],
    ["an adopted endpoint", { linked: "ep-nameless", spec: { adopt: { endpointID: "ep-nameless" } } }],
  ])("shows %s, which closes nothing before the settle time is over", (_, fields) => {
    expect(listed([nameless], begun(settled - 1), { of: compute(fields) }).phase).toBe("open");
  });

  test("a list with an answer laid over it decides nothing", () => {
    expect(listed([mine], { ...begun(settled), laidOver: true }).phase).toBe("open");
  });

  test("concludes nothing for a record that is closed", () => {
    const write = { ...openSince(0), phase: "closed" } as const;
    expect(listed([mine], begun(settled), { write })).toBe(write);
  });

  test("concludes for a record that was refused only that our own endpoint makes it needless", () => {
    const write = { ...openSince(0), phase: "unsent" } as const;
    expect(listed([], begun(settled), { write })).toBe(write);
    expect(listed([mine], begun(1), { write })).toMatchObject({ phase: "closed" });
  });

  test("a list that closes a record with our endpoint remembers which it is", () => {
    expect(listed([mine], begun(lag)).made).toBe("ep-mine");
    expect(listed([], begun(settled))).not.toHaveProperty("made");
  });
});

describe("an endpoint without a name that a create may have made", () => {
  const open = (seen: Partial<Endpoint>, fields: ComputeFields = {}, others: Compute[] = []) =>
    listed([endpoint(seen)], begun(settled), {
      write: openSince(0, { newest: "2026-01-01T10:00:00Z" }),
      of: compute(fields),
      others,
    }).phase === "open";
  const later = { created_at: "2026-01-01T10:00:01Z" };

  test.each<[string, boolean, Partial<Endpoint>, ComputeFields]>([
    ["of the type and on the branch", true, later, {}],
    ["as old as the newest of the list before", true, { created_at: "2026-01-01T10:00:00Z" }, {}],
    ["older than the newest of the list before", false, { created_at: "2026-01-01T09:59:59Z" }, {}],
    ["whose age the service does not show", true, { created_at: undefined }, {}],
    ["of the other type", false, { ...later, type: "read_only" }, {}],
    ["on another branch", false, { ...later, branch_id: "br-next" }, {}],
    [
      "on the branch that the spec names since",
      true,
      { ...later, branch_id: "br-next" },
      { spec: { branchID: "br-next" } },
    ],
    ["on the branch of the record, though the spec names another", true, later, { spec: { branchID: "br-next" } }],
    ["whose name cannot be read", true, { ...later, name: "?", unreadable: ["name"] }, {}],
    ["with a name that is nobody's signature", false, { ...later, name: "by hand" }, {}],
    ["that only our own typed link names", true, later, { linked: "ep-one" }],
  ])("%s keeps it open: %s", (_, expected, seen, fields) => {
    expect(open(seen, fields)).toBe(expected);
  });

  test("an endpoint without a name is no candidate while another Compute is linked to it", () => {
    const other = compute({ uid: uidOf("b"), name: "other", linked: "ep-one" });
    expect(open(later, {}, [other])).toBe(false);
  });

  test("keeps a record open that does not say what was newest, whatever its age", () => {
    expect(listed([endpoint({ created_at: "2020-01-01T00:00:00Z" })], begun(settled)).phase).toBe("open");
  });

  test("does not keep a takeover open: that makes no endpoint", () => {
    const write = openSince(0, { operation: "takeover", endpointID: "ep-two" });
    expect(listed([endpoint()], begun(settled), { write }).phase).toBe("closed");
  });

  describe("beside a signature on another endpoint that was made since", () => {
    const newest = "2026-01-01T10:00:00Z";
    const nameless = endpoint({ id: "ep-nameless", ...later });
    const other = compute({ uid: uidOf("b"), name: "other", spec: { type: "read_only" } });
    const signed = madeBy(other, { id: "ep-signed", ...later });
    const after = (...lists: [number, readonly Endpoint[]][]) =>
      lists.reduce<RememberedWrite>(
        (write, [startedAt, endpoints]) => listed(endpoints, { startedAt }, { write }),
        openSince(0, { newest }),
      ).phase;
    const both = [nameless, signed];

    test.each<[string, RememberedWrite["phase"], [number, readonly Endpoint[]][]]>([
      [
        "two such lists 60 s apart prove that it is another's",
        "closed",
        [
          [10_000, both],
          [settled, both],
        ],
      ],
      [
        "two such lists less than 60 s apart prove nothing",
        "open",
        [
          [10_001, both],
          [settled, both],
        ],
      ],
      ["one list proves nothing", "open", [[settled + 60_000, both]]],
      [
        "the second list must show the signature too",
        "open",
        [
          [10_000, both],
          [settled, [nameless]],
        ],
      ],
      [
        "the settle time must be over too",
        "open",
        [
          [0, both],
          [60_000, both],
        ],
      ],
      [
        "an older signature proves nothing",
        "open",
        [
          [10_000, [nameless, { ...signed, created_at: "2026-01-01T09:00:00Z" }]],
          [settled, [nameless, { ...signed, created_at: "2026-01-01T09:00:00Z" }]],
        ],
      ],
    ])("%s", (_, phase, lists) => {
      expect(after(...lists)).toBe(phase);
    });
  });
});

describe("a list of another service than the create was sent to", () => {
  const elsewhere = { ...begun(settled), baseURL: "https://other/api/v2", fingerprint: "other" };
  const asked = { annotations: { confirmLoss: "yes" } };

  test("settles nothing, however late, until the base URL is put back", () => {
    expect(listed([], elsewhere).phase).toBe("open");
    expect(listed([], { ...elsewhere, baseURL: "https://service/api/v2" }).phase).toBe("closed");
  });

  test.each<[string, ComputeFields, RememberedWrite["phase"]]>([
    ["a new value", { ...asked, shows: "CreateUnknown" }, "closed"],
    ["nothing has asked yet", { ...asked, shows: "Creating" }, "open"],
    [
      "a value that was handled before",
      { ...asked, shows: "CreateUnknown", status: { lastHandledConfirmLoss: "yes" } },
      "open",
    ],
  ])(
    "another service's list settles only if a person has set confirmLoss since the condition asked: %s",
    (_, fields, phase) => {
      expect(listed([], elsewhere, { of: compute(fields) }).phase).toBe(phase);
    },
  );

  test("confirmLoss also says that none of the endpoints without a name is it", () => {
    const of = compute({ ...asked, shows: "CreateUnknown" });
    expect(listed([endpoint()], begun(settled), { of }).phase).toBe("closed");
  });

  test("confirmLoss shortens no settle time", () => {
    const of = compute({ ...asked, shows: "CreateUnknown" });
    expect(listed([], { ...elsewhere, ...begun(settled - 1) }, { of }).phase).toBe("open");
  });

  test("another key for the same base URL is the same service", () => {
    expect(listed([], { ...begun(settled), fingerprint: "another key" }).phase).toBe("closed");
  });

  test("a record of which the place is not known takes any list", () => {
    const write = openSince(0, { through: "" });
    expect(listed([], elsewhere, { write }).phase).toBe("closed");
  });
});

describe("a list and an open takeover", () => {
  const of = compute({ spec: { adopt: { former: true } } });
  const write = openSince(0, { operation: "takeover", endpointID: "ep-one" }, "ep-one");
  const ours = [madeBy(of)];
  const former = [madeBy(compute({ uid: uidOf("f") }))];
  const after = (...lists: [number, readonly Endpoint[]][]) =>
    lists.reduce((before, [startedAt, endpoints]) => listed(endpoints, { startedAt }, { write: before, of }), write)
      .phase;

  test.each<[string, RememberedWrite["phase"], [number, readonly Endpoint[]][]]>([
    ["one list that shows our name, though the PATCH was answered: the next may lag", "open", [[settled, ours]]],
    [
      "two lists that do, 10 s apart",
      "closed",
      [
        [5000, ours],
        [15_000, ours],
      ],
    ],
    [
      "two lists that do, less than 10 s apart",
      "open",
      [
        [5000, ours],
        [14_999, ours],
      ],
    ],
    ["a list that still shows the former name", "open", [[settled - 1, former]]],
    ["a list that still shows the former name after the settle time and 10 s", "closed", [[settled, former]]],
  ])("%s: %s", (_, phase, lists) => {
    expect(after(...lists)).toBe(phase);
  });
});

describe("a list and an open move", () => {
  const move = (answered?: string) =>
    openSince(0, { operation: "move", endpointID: "ep-one", branchID: "br-old", to: "br-main" }, answered);
  const linked = compute({ linked: "ep-one" });

  test.each<[string, string, number, string | undefined, RememberedWrite["phase"]]>([
    ["the new branch, 10 s after an answer", "br-main", lag, "ep-one", "closed"],
    ["the new branch, sooner: the next list may lag", "br-main", lag - 1, "ep-one", "open"],
    ["the new branch, without an answer: the move may be an earlier one", "br-main", settled - 1, undefined, "open"],
    ["the old branch, after an answer", "br-old", settled - 1, "ep-one", "open"],
    ["the old branch, after the settle time and 10 s", "br-old", settled, undefined, "closed"],
    ["the new branch, after the settle time and 10 s", "br-main", settled, undefined, "closed"],
  ])("the record of a move is read against a list that shows %s", (_, branch_id, startedAt, answered, phase) => {
    const endpoints = [madeBy(linked, { branch_id })];
    expect(listed(endpoints, begun(startedAt), { write: move(answered), of: linked }).phase).toBe(phase);
  });

  test("a move is no create: it is open, and asks for no search", () => {
    const o = observedBy(linked, [madeBy(linked)], begun(1));
    expect([isOpen(move()), openingOf(o, move())]).toEqual([true, undefined]);
  });
});

describe("a restart's record", () => {
  const write = openSince(0, { operation: "restart", endpointID: "ep-one", value: "two" });
  const restarting = (restartedAt: string, done?: string) =>
    compute({ linked: "ep-one", annotations: { endpointID: "ep-one", restartedAt }, status: { restartedAt: done } });

  test("blocks nothing but another restart", () => {
    expect(isOpen(write)).toBe(false);
  });

  test.each<[string, Compute, number, RememberedWrite["phase"]]>([
    ["while the annotation asks for its value", restarting("two", "one"), settled, "open"],
    ["once that is carried out, after the settle time", restarting("two", "two"), settled, "closed"],
    ["once another value is asked for, after the settle time", restarting("three", "one"), settled, "closed"],
    ["once another value is asked for, before", restarting("three", "one"), settled - 1, "open"],
  ])("a restart's record is for rule 9 to close %s", (_, of, startedAt, phase) => {
    expect(listed([madeBy(of)], begun(startedAt), { write, of }).phase).toBe(phase);
  });
});

describe("why a create is open", () => {
  const opening = (startedAt: number, endpoints: readonly Endpoint[] = [], list: InputFields["list"] = {}) =>
    openingOf(observedBy(self, endpoints, { startedAt, ...list }, { now: startedAt }), openSince(0));

  test.each([
    ["a list must begin later", opening(5000), { kind: "waiting", forMs: settled - 5000 }],
    ["the time is over and the list is older", opening(settled - 1), { kind: "waiting", forMs: 1000 }],
    [
      "lists come from another service",
      opening(settled, [], { baseURL: "https://other/api/v2", fingerprint: "other" }),
      { kind: "elsewhere", baseURL: "https://service/api/v2" },
    ],
    [
      "endpoints have no names",
      opening(settled, [endpoint()]),
      { kind: "nameless", candidates: [expect.objectContaining({ id: "ep-one" })] },
    ],
  ])("%s", (_, shown, expected) => {
    expect(shown).toEqual(expected);
  });
});

/** What is remembered once this term sees a version, by default as the first one of the Compute. */
const sight = (write: RememberedWrite | undefined, seen: Compute, at: number, isFirst = true) =>
  afterSight(write, seen, { now: at, isFirst });

describe("the first sight of a version", () => {
  const own = recordOf({ by: "this-term", n: 2 });
  const remembered = (phase: RememberedWrite["phase"]): RememberedWrite => ({ ...openSince(5), record: own, phase });
  const recorded = (record = own) => compute({ shows: "Creating", status: { pendingWrite: record } });

  test("opens a record of another term, from then on", () => {
    const seen = recorded(recordOf({ by: "an-earlier-term", n: 3 }));
    for (const write of [undefined, remembered("closed"), remembered("unsent")]) {
      expect(sight(write, seen, now)).toMatchObject({ phase: "open", openedAt: now, record: { n: 3 } });
    }
  });

  test.each(["unsent", "open", "closed"] as const)("leaves what this term remembers as its own %s", (phase) => {
    const write = remembered(phase);
    expect(sight(write, recorded(), now)).toBe(write);
  });

  test("an older record of this term is a late version, and opens nothing", () => {
    const write = remembered("closed");
    expect(sight(write, recorded(recordOf({ by: "this-term", n: 1 })), now)).toBe(write);
  });

  test("a newer record under this term's name is not what this process remembers, and opens", () => {
    const seen = recorded(recordOf({ by: "this-term", n: 3 }));
    expect(sight(remembered("closed"), seen, now)).toMatchObject({ phase: "open", openedAt: now });
  });

  test("a record that was copied from another object counts as none", () => {
    const copied = recorded(recordOf({ uid: uidOf("b") }));
    expect(recordIn(copied)).toBeUndefined();
    expect(sight(undefined, copied, now)).toBeUndefined();
  });

  test("a version without the open record writes it again, and the opening keeps its clock", () => {
    const seen = compute({ shows: "Creating" });
    const restored = { ...remembered("open"), record: { ...own, by: "unknown" } };
    expect(sight(remembered("open"), seen, now)).toEqual(restored);
    expect(sight(restored, recorded({ ...own, by: "unknown" }), now)).toBe(restored);
  });

  test.each(["unsent", "closed"] as const)("a version without a record that is %s opens nothing", (phase) => {
    const write = remembered(phase);
    expect(sight(write, compute({ shows: "Creating" }), now)).toBe(write);
  });

  describe("with our finalizer on an empty status", () => {
    test.each<[string, ComputeFields]>([
      ["whatever the link says", { annotations: { endpointID: "ep-one" } }],
      ["without a link", {}],
    ])("opens a create of an unknown place, %s", (_, fields) => {
      const record = { operation: "create", by: "unknown", n: 1, through: "", branchID: "br-main" };
      expect(sight(undefined, compute(fields), now)).toMatchObject({ phase: "open", openedAt: now, record });
    });

    test("opens nothing once this term has seen the Compute: it knows what it sent", () => {
      expect(sight(undefined, compute(), now, false)).toBeUndefined();
      expect(sight(remembered("closed"), compute(), now, false)).toMatchObject({ phase: "closed" });
    });

    test("keeps its clock while the status stays empty", () => {
      const first = sight(undefined, compute(), 5);
      expect(sight(first, compute(), now, false)).toMatchObject({ phase: "open", openedAt: 5 });
    });
  });

  test.each<[string, ComputeFields]>([
    ["without our finalizer is a new Compute", { guarded: false }],
    ["with a condition was seen to", { shows: "PrimaryExists" }],
  ])("%s: nothing is open", (_, fields) => {
    expect(sight(undefined, compute(fields), now)).toBeUndefined();
  });
});

describe("the record of the next request", () => {
  const fields = { operation: "create", branchID: "br-main", through: "https://service/api/v2" };
  const refused = (record = recordOf({ by: "this-term", n: 4 })): RememberedWrite => ({
    ...openSince(0),
    record,
    phase: "unsent",
  });
  const restart = { operation: "restart", endpointID: "ep-one", value: "one" };
  const move = { operation: "move", endpointID: "ep-one", to: "br-other" };
  const ofOurs = (record: object) => recordOf({ by: "this-term", n: 4, ...record });
  const next = (write: RememberedWrite | undefined, of: Compute = self, wanted: object = {}) =>
    nextRecord(of, { write, term: "this-term", since: "later" }, { ...fields, ...wanted });

  test("the next record of a Compute without a record is number one", () => {
    expect(next(undefined)).toEqual({ ...fields, uid: uidOf("a"), n: 1, by: "this-term", since: "later" });
  });

  test("the next record is this term's own one that was refused, as it stands", () => {
    const write = refused();
    expect(next(write)).toBe(write.record);
  });

  test.each<[string, RememberedWrite, object]>([
    ["it is closed", { ...refused(), phase: "closed" }, {}],
    ["it is open", { ...refused(), phase: "open" }, {}],
    ["an earlier term wrote it", refused(recordOf({ n: 4 })), {}],
    ["it goes to another branch", refused(), { branchID: "br-next" }],
    ["it goes to another service", refused(), { through: "https://other/api/v2" }],
    ["it is another operation", refused(), { operation: "restart", endpointID: "ep-one", value: "two" }],
    ["it restarts another endpoint", refused(ofOurs(restart)), { ...restart, endpointID: "ep-two" }],
    ["it restarts for another value", refused(ofOurs(restart)), { ...restart, value: "two" }],
    ["it moves to another branch", refused(ofOurs(move)), { ...move, to: "br-next" }],
  ])("the next record is a new one with the next number where %s", (_, write, wanted) => {
    expect(next(write, self, wanted)).toMatchObject({ n: 5, by: "this-term", since: "later" });
  });

  test("the next record counts on from the one that the status shows, also where that is another object's", () => {
    const copied = compute({ status: { pendingWrite: recordOf({ uid: uidOf("b"), by: "this-term", n: 7 }) } });
    expect(next(undefined, copied)).toMatchObject({ uid: uidOf("a"), n: 8 });
    expect(next({ ...refused(), phase: "closed" }, copied)).toMatchObject({ n: 8 });
    const late = compute({ status: { pendingWrite: recordOf({ by: "this-term", n: 2 }) } });
    expect(next({ ...refused(), phase: "closed" }, late)).toMatchObject({ n: 5 });
  });
});

describe("what becomes of the record with a link", () => {
  const write = (phase: RememberedWrite["phase"], made?: string, fields: object = {}): RememberedWrite => ({
    ...openSince(0, fields, made),
    phase,
  });

  test.each<[string, RememberedWrite | undefined, RememberedWrite | undefined]>([
    ["made another one", write("closed", "ep-one"), write("closed", "ep-two")],
    ["may still make one", write("open", "ep-one"), write("open", "ep-one")],
    ["made none", write("closed"), write("closed")],
    ["is not there", undefined, undefined],
  ])("a link to one of ours in place of another is noted where the record %s", (_, before, expected) => {
    expect(relinked(before, "ep-two")).toEqual(expected);
  });

  test("a person's choice closes a create alone", () => {
    expect(chosen(write("open"), "ep-two")).toMatchObject({ phase: "closed", made: "ep-two" });
    const takeover = write("open", undefined, { operation: "takeover" });
    expect(chosen(takeover, "ep-two")).toBe(takeover);
    expect(chosen(undefined, "ep-two")).toBeUndefined();
  });

  test("a record that is written again knows what lists have shown, and another one does not", () => {
    const before = { ...write("open"), firstShown: new Map([["ep-one", 5]]) };
    expect(noted(before.record, before)).toEqual({ ...before, phase: "unsent", openedAt: never });
    expect(noted(recordOf({ n: 9 }), before).firstShown.size).toBe(0);
    expect(noted(before.record, undefined).firstShown.size).toBe(0);
  });
});

describe("the record that every status patch carries", () => {
  const write = (phase: RememberedWrite["phase"], made?: string, fields = {}): RememberedWrite => ({
    ...openSince(0, fields, made),
    phase,
  });

  test.each<[string, boolean, RememberedWrite | undefined, ComputeFields]>([
    ["that is open", true, write("open"), {}],
    ["of a request that was refused: the next one uses it", true, write("unsent"), {}],
    ["that is closed", false, write("closed"), {}],
    ["that is closed, while the object does not name what it made", true, write("closed", "ep-one"), {}],
    ["that is closed, while the object names another", true, write("closed", "ep-one"), { linked: "ep-two" }],
    ["that is closed, once the object names what it made", false, write("closed", "ep-one"), { linked: "ep-one" }],
    ["that is closed, where that is proved gone", false, write("closed", "ep-one"), { status: { gone: "ep-one" } }],
    ["of a move that is closed", false, write("closed", "ep-one", { operation: "move" }), {}],
  ])("a status patch carries a record %s: %s", (_, carried, known, fields) => {
    expect(carriedBy(known, compute(fields))).toBe(carried ? known?.record : undefined);
  });

  test("a status patch carries no record without a write", () => {
    expect(carriedBy(undefined, compute())).toBeUndefined();
  });
});

test("the newest of a list is its latest created_at, by the service's clock", () => {
  const of = (...times: (string | undefined)[]) => newestIn(times.map((created_at) => endpoint({ created_at })));
  expect(of("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", undefined, "2026-01-02T00:00:00Z")).toBe(
    "2026-01-03T00:00:00Z",
  );
  expect(of()).toBeUndefined();
});
