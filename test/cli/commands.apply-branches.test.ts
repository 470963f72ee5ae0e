import { expect, test } from "vitest";
import { z } from "zod";
import { branchRound } from "../../src/cli/commands/apply-branches.ts";
import type { Round } from "../../src/cli/commands/round.ts";
import { derivedBranchUID } from "../../src/cli/manifests/derived-uid.ts";
import { trackPrunedBranches, undeclaredBranches } from "../../src/cli/plan/branch/prune.ts";
import { annotations, noteKeys } from "../../src/operator/resources/names.ts";
import { main, project } from "../service/support/shop.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const branch = (name: string, spec = "", metadata = "") => `apiVersion: compute-operator.dev/v1alpha1
kind: Branch
metadata: {name: ${name}, namespace: shop${metadata}}
spec: {projectID: ${project}, branchName: ${name}, ${spec.includes("expiry") ? "" : "expiry: {never: true}, "}${spec}}
`;

const uid = derivedBranchUID("prod", "shop", "pr-1");
const created = `POST /projects/${project}/branches`;

type Arrange = (stage: Stage) => unknown;

/** The branch that apply made for Branch pr-1. */
const standing: Arrange = (stage) => makeBranch(stage);
const endingTomorrow: Arrange = (stage) =>
  makeBranch(stage, { expires_at: new Date(stage.time.now() + 86_400_000).toISOString() });

function makeBranch(stage: Stage, fields: Record<string, unknown> = {}): string {
  const note = { [noteKeys.uid]: uid, [noteKeys.fleet]: "prod", [noteKeys.object]: "shop/pr-1" };
  const answer = stage.shop.ana(created, { branch: { name: "pr-1", ...fields }, annotation_value: note });
  stage.shop.finishOperations();
  return z.object({ branch: z.object({ id: z.string() }) }).parse(answer.body).branch.id;
}

const withChild: Arrange = (stage) => {
  stage.shop.ana(created, { branch: { name: "child", parent_id: makeBranch(stage) } });
  stage.shop.finishOperations();
};

/** Answers writes with a refusal. */
const refusing =
  (status: number): Arrange =>
  (stage) => {
    const body = { code: "", message: "no more of them", request_id: "" };
    stage.rewrite = ({ method }, response) => (method === "GET" ? response : { status, body, json: true });
  };

const losing: Arrange = (stage) => {
  standing(stage);
  stage.fate = ({ method }) => (method === "GET" ? "answered" : "lost before");
};

/** As apply sees it: a write or a wait, the end if it is one, and the line; the id of a branch is shown as BRANCH. */
function inWords({ wrote, end, said = end?.said ?? "nothing is said" }: Round): string {
  const result = end === undefined ? "" : end.ok ? " and is done" : " and has failed";
  return `${wrote ? "writes" : "waits"}${result}: ${said.replaceAll(/\bbr-[a-z]+-[a-z0-9-]+/g, "BRANCH")}`;
}

/** Rounds of the first Branch of a text, with so many milliseconds before each. Without a text it is pruned. */
async function rounds(stage: Stage, text: string, pauses: readonly number[], mayWrite = true): Promise<string[]> {
  const prune = text === "";
  const given = documents(connection, prune ? compute("reader", "type: read_only", main) : text);
  const { inventory } = await stage.prepare(given, { fleet: "prod", namespace: "shop", prune });
  if (prune) {
    await inventory.refresh();
    trackPrunedBranches(undeclaredBranches(inventory, "shop"), inventory);
  }
  const [one] = inventory.tracked.Branch;
  if (one === undefined) throw new Error("no Branch in the text");
  const lines: string[] = [];
  for (const pause of pauses) {
    stage.time.pass(pause);
    // Each round needs what the one before left.
    await inventory.refresh();
    const open = { computes: new Set(inventory.computes), branches: new Set(inventory.tracked.Branch) };
    lines.push(inWords(await branchRound(one, { inventory, mayWrite, open })));
  }
  return lines;
}

const child = (parent: string) => branch("pr-1", `parent: {${parent}}`);
const unnamed = branch("other").replace("branchName: other, ", "");
const reset = `${branch("pr-1", "", `, uid: ${uid}, annotations: {${annotations.resetAt}: "2"}`)}status: {observedGeneration: 1}\n`;
const leaving = branch("pr-1", "", `, uid: ${uid}, deletionTimestamp: "2026-01-01T00:00:00Z"`);
const user = compute("user", "type: read_only").replace(/branchID: [^,}]+/, "branchRef: {name: pr-1}");
const available = "waits and is done: Available: Branch pr-1 (BRANCH) is ready.";
const noParent = (named: string) => `BranchNotFound: Project ${project} has no branch ${named}, `;
const hour = 3_600_000;

test.each<[string, string, Arrange, Record<number, string>]>([
  ["is created, and done", branch("pr-1"), () => {}, { 0: "writes: created BRANCH", 3000: available }],
  [
    "is given its protection",
    branch("pr-1", "protected: true"),
    standing,
    { 0: "writes: changed the protection of BRANCH", 3000: available },
  ],
  [
    "is given its end",
    branch("pr-1", "expiry: {after: 72h}"),
    endingTomorrow,
    { 0: "writes: changed the end of BRANCH", 3000: available },
  ],
  ["is reset", reset, standing, { 0: "writes: reset BRANCH", 3000: available }],
  [
    "is deleted where no manifest declares it, and done once it is proved that it is gone",
    "",
    standing,
    {
      0: "writes: deleted BRANCH",
      3000: "waits: Deleting: Branch BRANCH is dele",
      30_000: "waits: nothing is said",
      30_001: "waits and is done: Deleted branch BRANCH and its computes.",
    },
  ],
  [
    "is done where it is paused",
    branch("pr-1", "", `, annotations: {${annotations.paused}: "true"}`),
    standing,
    { 0: "waits and is done: Paused: " },
  ],
  [
    "is done where its end is over before it is created",
    branch("pr-1", "expiry: {at: '2020-01-01T00:00:00Z'}"),
    () => {},
    { 0: "waits and is done: Expired: " },
  ],
  [
    "has failed where nothing has the name of its parent",
    child("branchName: other"),
    () => {},
    {
      0: `waits and has failed: ${noParent('"other"')}`,
    },
  ],
  [
    "waits for a parent that is a Branch of its project",
    documents(child("branchName: other"), branch("other")),
    () => {},
    {
      0: `waits: ${noParent('"other"')}`,
    },
  ],
  [
    "waits for a parent that is a Branch whose name is that of its object",
    documents(child("branchName: shop/other"), unnamed),
    () => {},
    {
      0: `waits: ${noParent('"shop/other"')}`,
    },
  ],
  [
    "has failed where it is its own parent",
    child("branchName: pr-1"),
    () => {},
    { 0: `waits and has failed: ${noParent('"pr-1"')}` },
  ],
  [
    "has failed where its parent waits for it in turn",
    documents(child("branchName: other"), branch("other", "parent: {branchName: pr-1}")),
    () => {},
    { 0: `waits and has failed: ${noParent('"other"')}` },
  ],
  [
    "waits for a parent that waits for another Branch",
    documents(child("branchName: other"), branch("other", "parent: {branchName: third}"), branch("third")),
    () => {},
    { 0: `waits: ${noParent('"other"')}` },
  ],
  [
    "has failed where a Branch of another project alone has the name of its parent",
    documents(child("branchName: other"), branch("other").replace(project, "shop-two")),
    () => {},
    { 0: `waits and has failed: ${noParent('"other"')}` },
  ],
  [
    "has failed where its parent's id is not known, whatever other Branches have no name",
    documents(child("branchID: br-preview-9"), unnamed),
    () => {},
    { 0: `waits and has failed: ${noParent("BRANCH")}` },
  ],
  [
    "cannot be deleted while a Compute uses it",
    documents(leaving, user),
    standing,
    {
      0: "waits and has failed: InUse: ",
    },
  ],
  ["cannot be deleted while it has children", "", withChild, { 0: "waits and has failed: HasChildren: " }],
  [
    "has failed if its create is refused for good",
    branch("pr-1"),
    refusing(422),
    {
      0: "writes and has failed: Rejected: ",
    },
  ],
  [
    "has failed if the key may not create it",
    branch("pr-1"),
    refusing(403),
    {
      0: "writes and has failed: Forbidden: ",
    },
  ],
  [
    "is looked for if its create is refused because the name is taken",
    branch("pr-1"),
    refusing(409),
    { 0: "writes: Creating: The service says that branch ", 1: "waits: Creating: ", 3000: available },
  ],
  [
    "has failed if no list shows which branch has the name",
    branch("pr-1"),
    (stage) => {
      stage.fate = ({ method }) => (method === "GET" ? "answered" : 409);
    },
    {
      0: "writes: Creating: The service says that branch ",
      [hour]: "writes and has failed: BranchExists: The service refuses the name ",
    },
  ],
  [
    "reports the taken name, and no longer what an earlier create failed for",
    branch("pr-1"),
    (stage) => {
      const fates = [503, 409] as const;
      let sent = 0;
      stage.fate = ({ method }) => (method === "GET" ? "answered" : (fates[sent++] ?? "answered"));
    },
    {
      0: "writes: ServiceUnavailable: ",
      [hour]: "writes: Creating: The service says that branch ",
      [2 * hour]: "writes: created BRANCH",
    },
  ],
  [
    "has failed with the eighth write in a row that is lost, and sends none before its back-off is over",
    branch("pr-1", "protected: true"),
    losing,
    {
      0: "writes: ServiceUnavailable: ",
      1: "waits: ServiceUnavailable: ",
      ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((nth) => [hour + nth, "writes: ServiceUnavailable: "])),
      [2 * hour]: "writes and has failed: ServiceUnavailable: ",
    },
  ],
])("a Branch %s", async (_, text, arrange, expected) => {
  using stage = new Stage();
  arrange(stage);
  const lines = await rounds(stage, text, Object.keys(expected).map(Number));
  const wanted = Object.values(expected);
  expect(lines.map((line, nth) => line.slice(0, wanted[nth]?.length))).toEqual(wanted);
});

test("a Branch sends nothing in a round in which its project has had a write", async () => {
  using stage = new Stage();
  expect(await rounds(stage, branch("pr-1"), [0], false)).toEqual(["waits: nothing is said"]);
  expect(stage.writes).toEqual([]);
});

test("a Branch whose name stays taken is reported once, and nothing says that it was created", async () => {
  using stage = new Stage();
  stage.fate = ({ method }) => (method === "GET" ? "answered" : 409);
  const run = await stage.run("apply", ["-f", stage.file("a.yaml", documents(connection, branch("pr-1"))), "--yes"]);
  const said = run.out.split("\n").filter((line) => /^[ !] /.test(line));
  expect(said.map((line) => line.slice(0, 60))).toEqual([
    '  Branch shop/pr-1: Creating: The service says that branch "',
    "! Branch shop/pr-1: BranchExists: The service refuses the na",
  ]);
  expect(run.status).toBe(1);
});
