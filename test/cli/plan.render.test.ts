import { expect, test } from "vitest";
import type { BranchEntry, ComputeEntry, Plan } from "../../src/cli/plan/entries.ts";
import { renderPlan } from "../../src/cli/plan/render.ts";
import { countsOf, inWordsOf } from "../../src/cli/plan/undeclared.ts";

const computed = (fields: Partial<ComputeEntry> & Pick<ComputeEntry, "step">): ComputeEntry => ({
  compute: "shop/a",
  project: "PROJECT",
  branch: "br-main",
  type: "read_only",
  fields: [],
  ...fields,
});
const branched = (fields: Partial<BranchEntry> & Pick<BranchEntry, "step">): BranchEntry => ({
  object: "shop/pr",
  project: "PROJECT",
  name: "NAME",
  fields: [],
  ...fields,
});
const changed = [
  { field: "size", theirs: "1", ours: "2" },
  { field: "type", ours: "x" },
];
const because = { reason: "REASON", message: "Message." };

/** The lines of a plan without its last, which sums up. */
const linesOf = (plan: Partial<Plan>) =>
  renderPlan({ entries: [], ...plan }, "text", false)
    .split("\n")
    .slice(0, -2);

test.each<[ComputeEntry, string]>([
  [
    computed({ step: "create", fields: changed.slice(1), message: "Later." }),
    "+ shop/a  create   read_only on branch br-main of project PROJECT: type x. Later.",
  ],
  [computed({ step: "create" }), "+ shop/a  create   read_only on branch br-main of project PROJECT"],
  [computed({ step: "patch", endpoint: "ep-1", fields: changed }), "~ shop/a  patch    ep-1: size 1 → 2, type x"],
  [
    computed({
      step: "patch",
      endpoint: "ep-1",
      adopts: true,
      fields: changed,
      interrupts: "cuts its connections",
      keptBy: "X",
    }),
    "~ shop/a  patch    adopts ep-1: size 1 → 2, type x; cuts its connections (kept by X)",
  ],
  [computed({ step: "restart", endpoint: "ep-1" }), "~ shop/a  restart  ep-1"],
  [computed({ step: "delete", endpoint: "ep-1", message: "Message." }), "- shop/a  delete   ep-1: Message."],
  [computed({ step: "release", message: "Message." }), "- shop/a  release  Message."],
  [computed({ step: "none", endpoint: "ep-1", adopts: true }), "= shop/a  as is    adopts ep-1"],
  [computed({ step: "wait", ...because, fields: changed }), "… shop/a  wait     REASON: Message. size 1 → 2, type x"],
  [computed({ step: "refuse", ...because }), "! shop/a  refuse   REASON: Message."],
  [computed({ step: "error", reason: "REASON" }), "! shop/a  error    REASON"],
])("the line of a Compute says what is done to what, row %#", (entry, line) => {
  expect(linesOf({ entries: [entry] })).toEqual([line]);
});

test.each<[BranchEntry, string]>([
  [
    branched({ step: "create", fields: changed.slice(1) }),
    "+ Branch shop/pr  create   branch NAME of project PROJECT: type x",
  ],
  [
    branched({ step: "patch", id: "br-1", adopts: true, fields: changed }),
    "~ Branch shop/pr  patch    adopts br-1: size 1 → 2, type x",
  ],
  [
    branched({ step: "reset", id: "br-1", ...because, keptBy: "X" }),
    "- Branch shop/pr  reset    br-1: Message. (kept by X)",
  ],
  [
    branched({ step: "delete", id: "br-1", fields: changed.slice(1), ...because }),
    "- Branch shop/pr  delete   br-1: type x. Message.",
  ],
  [branched({ step: "wait", id: "br-1", ...because }), "… Branch shop/pr  wait     REASON: Message."],
  [
    branched({ step: "wait", id: "br-1", ...because, keptBy: "X" }),
    "… Branch shop/pr  wait     REASON: Message. (kept by X)",
  ],
  [branched({ step: "refuse", id: "br-1", ...because }), "! Branch shop/pr  refuse   REASON: Message."],
])("the line of a Branch says what is done to what, row %#", (entry, line) => {
  expect(linesOf({ branches: [entry] })).toEqual([line]);
});

const orphan = { endpoint: "ep-9", project: "PROJECT", branch: "br-main", type: "read_only", fleet: "0123abcd" };
const whole: Plan = {
  entries: [
    computed({ step: "none", endpoint: "ep-1" }),
    computed({
      step: "delete",
      compute: "shop/longer",
      endpoint: "ep-`2`",
      message: "a|b\nc <d> <e>",
      missingDatabase: "It goes.",
    }),
  ],
  branches: [branched({ step: "none", id: "br-1" }), branched({ step: "create", name: "`x" })],
  orphans: [
    { ...orphan, madeBy: "apply" },
    { ...orphan, endpoint: "ep-8", madeBy: "operator" },
  ],
  undeclared: [{ kind: "Branch", namespace: "shop", names: ["x", "y"] }],
  pruned: [
    { kind: "ComputePool", name: "shop/old", step: "delete", message: "Message." },
    { kind: "ServiceConnection", name: "shop/kept", step: "none", message: "It stays." },
  ],
};

test("a plan as text has Branches, Computes, what leaves, warnings, orphans and what is left, in columns", () => {
  expect(renderPlan(whole, "text", false).split("\n")).toEqual([
    "= Branch shop/pr               as is    br-1",
    "+ Branch shop/pr               create   branch `x of project PROJECT",
    "= shop/a                       as is    ep-1",
    "- shop/longer                  delete   ep-`2`: a|b c <d> <e>",
    "- ComputePool shop/old         delete   Message.",
    "= ServiceConnection shop/kept  as is    It stays.",
    "? shop/longer  warning  It goes.",
    "? ep-9  orphan  read_only on branch br-main of project PROJECT: made by apply of fleet #0123abcd, and no Compute has it",
    "? ep-8  orphan  read_only on branch br-main of project PROJECT: made by the operator of fleet #0123abcd, and no Compute has it",
    "? 2 Branches of namespace shop are not in these manifests: x, y (--prune shows what deleting does)",
    "",
    "Plan: 1 to create, 2 to delete, 3 unchanged, 2 orphans, 2 not in these manifests.",
  ]);
});

test("a plan as Markdown has a row for each change, with code that holds whatever it names", () => {
  expect(renderPlan(whole, "markdown", true).split("\n")).toEqual([
    "### Compute plan: 1 to create, 2 to delete, 3 unchanged, 2 orphans, 2 not in these manifests",
    "",
    "| Compute | Step | What |",
    "| --- | --- | --- |",
    "| Branch `shop/pr` | create | branch `` `x `` of project `PROJECT` |",
    String.raw`| ${"`shop/longer`"} | delete | ${"`` ep-`2` ``"}: a\|b c &lt;d> &lt;e> |`,
    "| ComputePool `shop/old` | delete | Message. |",
    "| `shop/longer` | warning | It goes. |",
    "| `ep-9` | orphan | read_only on branch `br-main` of project `PROJECT`: made by apply of fleet #0123abcd, and no Compute has it |",
    "| `ep-8` | orphan | read_only on branch `br-main` of project `PROJECT`: made by the operator of fleet #0123abcd, and no Compute has it |",
    "",
    "- 2 Branches of namespace shop are not in these manifests: `x`, `y`",
  ]);
});

test("a plan without changes has no table, and an empty one says nothing", () => {
  const still = { entries: [computed({ step: "none" })], undeclared: whole.undeclared ?? [] };
  expect(renderPlan(still, "markdown", false).split("\n")).toEqual([
    "### Compute plan: 1 unchanged, 2 not in these manifests",
    "",
    "- 2 Branches of namespace shop are not in these manifests: `x`, `y`",
  ]);
  expect(renderPlan({ entries: [] }, "markdown", false)).toBe("### Compute plan: nothing");
  expect(renderPlan({ entries: [] }, "text", false)).toBe("\nPlan: nothing.");
});

test.each<[ComputeEntry["step"], string]>([
  ["create", "32"],
  ["patch", "33"],
  ["restart", "33"],
  ["reset", "31"],
  ["delete", "31"],
  ["release", "31"],
  ["none", "2"],
  ["wait", "2"],
  ["refuse", "31"],
  ["error", "31"],
])("the line of a %s has its colour at a terminal", (step, colour) => {
  const [line = ""] = renderPlan({ entries: [computed({ step })] }, "text", true).split("\n");
  expect(line.startsWith(`\u001B[${colour}m`)).toBe(true);
  expect(line.endsWith("\u001B[0m")).toBe(true);
});

test("a plan as JSON has its parts and their sum", () => {
  const shown = JSON.parse(renderPlan(whole, "json", true));
  const { summary, computes, ...parts } = shown;
  const { entries, ...others } = whole;
  expect(parts).toEqual(others);
  expect(computes).toEqual(entries);
  expect(summary).toMatchObject({ create: 1, delete: 2, none: 3, patch: 0, changes: true, problems: false });
});

test("what is not in the manifests is counted by kind and namespace, and six names are five and one more", () => {
  const of = (kind: "Compute" | "ClusterServiceConnection", name: string, namespace?: string) => ({
    kind,
    object: { metadata: { name, uid: name, resourceVersion: "1", ...(namespace === undefined ? {} : { namespace }) } },
  });
  const shop = ["f", "b", "a", "e", "d", "c"].map((name) => of("Compute", name, "shop"));
  const counts = countsOf([...shop, of("Compute", "x", "eu"), of("ClusterServiceConnection", "y")]);
  expect(counts.map((count) => inWordsOf(count))).toEqual([
    "6 Computes of namespace shop are not in these manifests: a, b, c, d, e and 1 more",
    "1 Compute of namespace eu is not in these manifests: x",
    "1 ClusterServiceConnection of the cluster is not in these manifests: y",
  ]);
  const [first] = countsOf(shop.slice(1));
  expect(first && inWordsOf(first)).toBe("5 Computes of namespace shop are not in these manifests: a, b, c, d, e");
});

test("a name or message of others cannot make a line of the plan, nor tell the terminal anything", () => {
  const message = "\u001b[2J\nPlan: nothing to do.\u009b1A";
  const shown = linesOf({
    branches: [branched({ step: "error", reason: "REASON", message })],
    entries: [computed({ step: "error", reason: "REASON", message, missingDatabase: message })],
  });
  expect(shown).toHaveLength(3);
  expect(shown.join("")).not.toMatch(/\p{Cc}/u);
});
