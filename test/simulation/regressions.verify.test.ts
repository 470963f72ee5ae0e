import { describe, expect, it } from "vitest";
import type { JsonObject } from "./api-server/objects.ts";
import type { Action, Timed } from "./world/actions.ts";
import { noFaults } from "./world/fault-plan.ts";
import type { Violation } from "./world/records.ts";
import { play, type RunOptions } from "./world/run.ts";
import { type Script } from "./world/run-script.ts";
import { branchlessScriptOf, evenScriptOf, plainScriptOf } from "./world/script.ts";

// What the simulation once found, as the shortest histories that showed it.

const project = "shiny-wind-000001";
const primary = (more: JsonObject = {}): JsonObject => ({
  projectID: project,
  branchID: "br-one-1",
  type: "read_write",
  ...more,
});
const replica = (more: JsonObject = {}): JsonObject => ({ ...primary(more), type: "read_only" });
const apply = (name: string, spec: JsonObject): Action => ({ do: "apply", name, spec });

describe("once broken", () => {
  it("a Compute waits for nobody who names in vain what it wants", async () => {
    expect(
      await broken([
        [1, apply("c2", primary({ branchID: "br-two-1", adopt: { endpointID: "ep-seed-1" } }))],
        [5, apply("c3", primary({ branchID: "br-main-1" }))],
      ]),
    ).toEqual([]);
  });

  it("a loss and a conflict are not reported in turns forever", async () => {
    expect(
      await broken([
        [1, apply("c0", primary())],
        [5, apply("c1", primary({ branchID: "br-main-1", adopt: { branchPrimary: true } }))],
        [20, apply("c0", primary({ branchID: "br-main-1" }))],
        [30, { do: "delete endpoint", nth: 0 }],
      ]),
    ).toEqual([]);
  });

  it("a change by others right after our own PATCH is put right", async () => {
    expect(
      await broken([
        [1, apply("c0", replica({ scaleToZero: { enabled: false } }))],
        [20, apply("c0", replica({ scaleToZero: { enabled: false }, computeUnits: { min: 0.25, max: 0.25 } }))],
        [24, { do: "change endpoint", nth: 1, body: { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 } }],
      ]),
    ).toEqual([]);
  });

  it("the first Compute of all is made at once, though it had to wait for the guard of its key", async () => {
    const actions: Timed[] = [{ atMs: 4000, action: apply("c0", replica()) }];
    const made: string[] = [];
    await play(
      { seed: 150, operators: 1, rates: noFaults, actions, calmAtMs: 6000 },
      {
        onCalm: () => made.push("calm"),
        crashPoint: ({ what }) => (what.startsWith("POST /projects") ? (made.push(what), "pass") : "pass"),
      },
    );
    expect(made).toEqual([`POST /projects/${project}/endpoints`, "calm"]);
  });

  it("a Compute is not let go because a stranger's key does not show its project", async () => {
    expect(
      await broken([
        [1, apply("c0", primary())],
        [10, { do: "give a stranger's key", mendAfterMs: 30_000 }],
        [20, { do: "delete", name: "c0" }],
      ]),
    ).toEqual([]);
  });

  it("all CRDs are deleted although the operator restarts meanwhile", async () => {
    expect(
      await broken([
        [1, apply("c0", primary({ branchID: "br-main-1", adopt: { branchPrimary: true } }))],
        [15, { do: "kill", downMs: 12_000 }],
        [20, { do: "delete CRDs", all: true }],
      ]),
    ).toEqual([]);
  });

  it("a restart's record ends though kubectl replace dropped the annotation that asked for it", async () => {
    expect(
      await broken(
        [
          [1, apply("c0", primary({ scaleToZero: { enabled: false } }))],
          [30, { do: "annotate", name: "c0", key: "restartedAt", value: "restart-0" }],
          [40, { do: "replace", name: "c0" }],
        ],
        {},
        { crashPoint: ({ what }) => (what.endsWith("/restart") ? "late effect" : "pass") },
      ),
    ).toEqual([]);
  });

  it("two shards do not answer each other's word on their connection for ever", async () => {
    const down: Action = { do: "service down", ms: 5000 };
    const kill: Action = { do: "kill", downMs: 500 };
    expect(
      await broken(
        [
          [1, apply("c0", primary())],
          [20, down],
          [21, kill],
          [40, down],
          [41, kill],
        ],
        { shards: true, rates: { ...noFaults, service: { ...noFaults.service, refused: 0.3 } } },
      ),
    ).toEqual([]);
  });

  it.each([
    [10, "a create that is pending outlives the key that it was sent with"],
    [84, "a connection whose probe takes longer than its interval keeps no worker busy"],
    [410, "a pending create whose mark kubectl replace drops is not sent again"],
    [1749, "a primary stays where it is while another of its creates may yet land there"],
    [1226, "a primary that was sent twice loses its mark as soon as nothing can arrive any more"],
    [1902, "a pause that the service asked for is kept also by a leader that lost the lease and won it again"],
    [700_100, "a create that is pending outlives its key also where kubectl replace drops its mark meanwhile"],
    [545, "a primary that was sent twice leaves no second one behind when it is deleted"],
  ])("seed %i: %s", { timeout: 20_000 }, async (seed) => {
    expect((await play(plainScriptOf(seed))).violations).toEqual([]);
  });

  it.each([
    [3261, "a shard that has not heard of it yet does not take the guard off a Secret that another has just set"],
    [12_085, "what a Compute retained is not mistaken for another's create that could not be observed meanwhile"],
    [
      14_417,
      "a Secret keeps its finalizer while Computes use a connection created again that the cache does not show yet",
    ],
    [
      14_730,
      "where no names are shown, a connection led back to its service finds by their note what Computes made there",
    ],
    [17_575, "a primary that stood before is not taken for what a create made at another service"],
    [
      18_190,
      "a primary that was sent twice keeps its mark while another may land, also where kubectl replace drops it",
    ],
    [18_266, "a branch is not waited for that its holder stays on, reported as drift"],
    [20_267, "a restart is not sent before it is known what operations there were"],
    [
      21_133,
      "a leader that has only heard of a mark, and seen no list yet, puts it back where kubectl replace drops it",
    ],
    [24_136, "a shard remembers a mark from the moment a Compute enters it, before it may write"],
    [26_773, "a copy sends nothing to an endpoint that was deleted for its original since the last list"],
    [49_091, "where no names are shown a person may name an endpoint that stood before the create"],
    [
      1368,
      "the guard of a Secret whose connection went with its CRD is found also where the cache does not show it yet",
    ],
    [57_139, "two shards do not fight over the guard that one of them keeps for what it has still to delete"],
    [67_172, "a replica that came and went unseen, with its CRD, is created again"],
    [117_989, "where no names are shown a primary that another has just made is adopted by nobody"],
    [118_595, "where no names are shown a copy adopts nothing that its original made and still has to delete"],
    [151_954, "where no names are shown what another had meanwhile is known to the next leader too"],
    [174_663, "a status of a connection whose reply was lost is written again, though the same was written before"],
    [3564, "an edit of the maximum is sent with the minimum, which had drifted beyond it"],
  ])("seed %i: %s", { timeout: 20_000 }, async (seed) => {
    expect((await play(evenScriptOf(seed))).violations).toEqual([]);
  });

  it.each([
    [209_444, "a lost endpoint that is not made again keeps nobody from a branch that has another name by now"],
    [303_985, "where no names are shown a create is not settled by what another was just answered with"],
    [845_099, "a missing endpoint is not looked for in a loop while the end of its operation cannot be seen"],
    [848_429, "what late creates leave is deleted in its time, one a minute"],
    [872_640, "a status that counts a disable without an answer is written once more when it cannot arrive any more"],
    [885_180, "with Report a late create goes to the branch whose name was followed before it came"],
    [894_063, "a copy sends nothing to an endpoint while a write for its original is under way"],
    [894_386, "an endpoint is taken over that a request of a lost cluster moved a moment before"],
    [903_721, "an endpoint is deleted for a Compute that went unheard, though a copy names it too"],
    [880, "a user's deletion goes on while the CRDs go, though a copy goes with them"],
    [950_432, "where no names are shown, what an answer proves stays the maker's, though another took it for its own"],
    [954_591, "link and finalizer that kubectl replace drops are put back also while the endpoint is not listed"],
    [964_849, "a late create for a Compute that went with its CRD comes beside what another has by then"],
    [965_291, "a primary is adopted where another's create is settled by an endpoint that was lost since"],
    [965_612, "a Compute that was ever linked takes nothing of its former one's over"],
    [970_256, "the restart of a Compute is not counted for one that is gone and had its endpoint"],
    [972_260, "what another process said of a namespace without access tells nothing of the next"],
    [1_007_676, "a create that was sent twice is known as such, whatever became of a patch after its refusal"],
    [1_101_968, "a create whose mark was dropped together with an edit settles nothing on the branch of the edit"],
    [1_211_997, "a create of an earlier term, whose mark kubectl replace dropped, is known to nobody"],
    [1_215_456, "a mark that was on its way when the first name was shown does not say so"],
    [
      1_225_105,
      "a create that was sent twice is known to nobody when kubectl replace drops its mark and the term ends",
    ],
    [1_230_830, "what a rounding error leaves of a wait is waited for as Node does, a millisecond"],
    [1_239_006, "of two copies that are linked to one endpoint, either may have moved it"],
    [1_247_278, "a leader that was stopped sends for a version from before it was"],
    [1_305_107, "a process that hears nothing of a new key goes by the old one for as long"],
    [1_327_719, "a mark put back after an edit names no branch, whatever generation the status is about"],
    [1_400_669, "a restart is marked again where a patch without a reply took the mark away"],
    [1_419_287, "a replica whose create went to a branch that is not known may be on any"],
    [1_424_952, "a dropped mark is known by the status, whatever the connection comes to before it is put back"],
    [1_619_744, "a create that is sent right after a person took the status was noted before"],
    [1_621_615, "a finalizer's removal arrives half a minute after the list that proved it unneeded"],
    [1_631_868, "what was just disabled is enabled again though lists that lag show it enabled"],
    [1_811_816, "a signature that may arrive is waited for by the next process too, whatever kubectl replace drops"],
    [1_933_358, "what a patch did not find has nothing sent for it, however late the watch brings word"],
    [
      2_006_429,
      "a late create that disables is known as ours, although an enabled endpoint came before it and is lost",
    ],
    [2_016_582, "a disable without an answer may take effect also where somebody else disabled the compute meanwhile"],
    [5109, "two shards do not take the type of a key from each other that /auth showed only one of them"],
    [202_506, "an endpoint that a person adopts after a create came to nothing may bear a former Compute's signature"],
    [203_109, "a branch's primary that is adopted decides nothing of a create that went to another branch"],
    [203_799, "a move that was sent for a former Compute looks like a person's to the next, and stays"],
    [206_585, "a copy that adopts what another Compute moved since leaves it where it is"],
    [213_592, "a Compute is let go whose record a person took after the branch was edited, while it was paused"],
    [207_817, "a person answers for a Compute whose endpoint a copy names too, where no names are shown"],
    [204_969, "a create without a name, whose record a person took after the branch was edited, is known to nobody"],
    [200_515, "a move that was held up longer than the settle time looks like a person's, and stays"],
    [213_582, "a note goes in its time, though the Compute is blocked by then and nothing happens at the service"],
    [218_493, "the record of a move settles in its time, though the endpoint is gone and nothing is made in its place"],
    [217_079, "a person answers for a Compute that goes, of which a name of its branch has moved since"],
    [217_291, "a person confirms no loss while the connection leads elsewhere for a time"],
    [1_932_201, "Computes that wait for their project do not call each other for ever"],
  ])("seed %i, with aimed delays: %s", { timeout: 20_000 }, async (seed) => {
    expect((await play(branchlessScriptOf(seed))).violations).toEqual([]);
  });

  it("seed 1512567: a connection is held again where the removal of its finalizer got no reply", async () => {
    const script = branchlessScriptOf(1_512_567);
    // The namespace may go in the moments in which users are back and the connection is not held again yet.
    const actions = script.actions.filter(({ action }) => action.do !== "delete namespace");
    expect((await play({ ...script, actions })).violations).toEqual([]);
  });

  it("a copy whose typed link is to an endpoint on another branch leaves it there, whatever else it changes", async () => {
    const spec = primary({ deletionPolicy: "Retain", computeUnits: { min: 2, max: 2 } });
    const patches: string[] = [];
    const promises = await broken(
      [
        [1, apply("c0", spec)],
        [70, { do: "copy", from: "c0", to: "copy" }],
        [72, apply("c0", { ...spec, branchID: "br-two-1", computeUnits: { min: 1, max: 1 } })],
        [155, { do: "delete", name: "c0" }],
      ],
      {},
      { crashPoint: ({ what }) => (what.startsWith("PATCH /projects") ? (patches.push(what), "pass") : "pass") },
    );
    expect(promises).toEqual([]);
    // The edit's own, and the size that the copy declares.
    expect(patches).toHaveLength(2);
  });

  it("a Compute without names, replaced and its status wiped while no process runs, is made as a new one is", async () => {
    const history: [number, Action][] = [
      [1, apply("c0", replica())],
      [20, { do: "kill", downMs: 5000 }],
      [21, { do: "wipe status", name: "c0" }],
      [22, { do: "replace", name: "c0" }],
    ];
    expect(await broken(history, { strictSpec: true })).toEqual([]);
  });

  it("a mark that kubectl replace drops is put back while the create may yet land", async () => {
    const promises = await broken(
      [
        [1, apply("c1", replica())],
        [20, { do: "replace", name: "c1" }],
      ],
      { seed: 4, rates: { ...noFaults, service: { ...noFaults.service, late: 0.6 } } },
    );
    expect(promises).toEqual([]);
  });
});

/** The promises that a history breaks. */
async function broken(
  timed: readonly [seconds: number, action: Action][],
  more: Partial<Script> = {},
  options: RunOptions = {},
): Promise<readonly Violation[]> {
  const actions = timed.map(([seconds, action]) => ({ atMs: seconds * 1000, action }));
  const calmAtMs = (actions.at(-1)?.atMs ?? 0) + 60_000;
  const script: Script = { seed: 1, operators: 1, rates: noFaults, actions, calmAtMs, ...more };
  return (await play(script, options)).violations;
}
