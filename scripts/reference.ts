import { reasons } from "../src/operator/compute/words/reasons.ts";
import { customResourceDefinitions } from "../src/operator/resources/crd.ts";
import { explanations } from "./explanations.ts";
import { plainRow } from "./plain-row.ts";
import { referenceOfRun } from "./reference-of-run.ts";

/** One schema of a CRD, as far as the reference shows it. */
interface Schema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
}

/**
 * docs/reference.md: every field of every kind, what each reason means for the conditions, what `run` takes and tells.
 */
export async function referenceDocument(): Promise<string> {
  const schemas = new Map<string, Schema>();
  for (const { spec } of customResourceDefinitions()) {
    const [version] = spec.versions;
    schemas.set(spec.names.kind, JSON.parse(JSON.stringify(version?.schema.openAPIV3Schema ?? {})));
  }
  const written = new Map<string, string>();
  const kinds = [...schemas].map(([kind, schema]) =>
    [
      `## ${kind}`,
      "",
      schema.description ?? "",
      "",
      ...halves.flatMap((part) =>
        tableOf({ kind, part, shared: alike(kind, part, schemas) }, schema.properties?.[part], written),
      ),
    ].join("\n"),
  );
  return [
    "# Reference",
    "",
    "You look up a field of the five kinds, as `kubectl explain` describes it, or a reason, event, annotation, flag or metric.",
    "Written by `npm run generate` from the schemas that the CRDs are made of and from the operator itself.",
    "",
    ...kinds,
    "## Reasons of a Compute's conditions",
    "",
    "All conditions share one reason. `Ready` and `Synced` are always there; `Reconciling` and `Stalled` (a person has to act)",
    "only while they are true. The message of `Ready` and `Synced` says what happened, what comes next and what to do. A short",
    "outage changes no condition: the last list is used for three refresh intervals (90 s by default), and a key counts as",
    "refused only after two 401s at least 5 s apart.",
    "",
    "| reason | what it means | what to do |",
    "|---|---|---|",
    ...explanations.map(({ reasons: names, meaning, todo }) => {
      const named = names.map((name) => `\`${name}\``).join(", ");
      return `| ${named} | ${meaning} | ${todo} |`;
    }),
    "",
    "A deletion that waits always says what for. `deletionPolicy: Retain` ends the wait in every case: the Compute goes, and the",
    "endpoint stays. Deleting the CRDs, or the operator, deletes nothing at the service.",
    "",
    "What each reason makes of the conditions:",
    "",
    "`compared`: as the last list shows it, and Unknown where nothing was compared. `kept`: as it was before. `later`: after five minutes, in place of Reconciling. When it is reconciled again:",
    "",
    ...Object.entries(requeues).map(([name, words]) => `- \`${name}\`: ${words}`),
    "",
    "| reason | Ready | Synced | Reconciling | Stalled | again |",
    "|---|---|---|---|---|---|",
    ...Object.entries(reasons).map(([reason, row]) => {
      const present = (on: boolean) => (on ? "True" : "");
      return `| \`${reason}\` | ${row.ready === "ended" ? "absent" : row.ready} | ${row.synced} | ${present(row.reconciling)} | ${row.stalled === "later" ? "later" : present(row.stalled)} | ${row.requeue} |`;
    }),
    "",
    ...(await referenceOfRun()),
  ]
    .join("\n")
    .replaceAll(/^.*$/gm, plainRow);
}

const requeues = {
  refresh: "with each list of its project",
  progress: "after 0.5 s, then with back-off up to 10 s",
  backoff: "after 1 s, then with back-off up to a minute",
  patient: "after 5 s, then with back-off up to 5 minutes",
  slow: "after a minute, then with back-off up to an hour; at once when something changes",
} as const;

const halves = ["spec", "status"] as const;

/** The rows that stand under another kind: below `at`, those of the spec or status of `kind`. */
interface Alike {
  at: string;
  kind: string;
  rows: ReadonlySet<string>;
}

/** Fields that have the same meaning in two kinds stand under the first. */
function alike(kind: string, part: (typeof halves)[number], schemas: ReadonlyMap<string, Schema>): Alike | undefined {
  const shared = sharedWith[kind]?.[part];
  if (shared === undefined) return undefined;
  const rows = rowsOf(shared.at, schemas.get(shared.kind)?.properties?.[part] ?? {});
  return { ...shared, rows: new Set(rows) };
}

const ofCompute = (at: string) => ({ at, kind: "Compute" });
const ofConnection = { at: "", kind: "ServiceConnection" };
const sharedWith: Readonly<Record<string, Partial<Record<(typeof halves)[number], { at: string; kind: string }>>>> = {
  ClusterServiceConnection: { spec: ofConnection, status: ofConnection },
  ComputePool: { spec: ofCompute("template") },
  Branch: { spec: ofCompute("compute") },
};

function tableOf(
  { kind, part, shared }: { kind: string; part: string; shared: Alike | undefined },
  schema: Schema | undefined,
  written: Map<string, string>,
): string[] {
  if (schema === undefined) return [];
  const rows = rowsOf("", schema);
  const different = rows.filter((row) => shared?.rows.has(row) !== true);
  const own = withoutRepeats(different, `${part} of a ${kind}`, written);
  const link = shared && `[${part} of a ${shared.kind}](#${shared.kind.toLowerCase()})`;
  const place = shared?.at === "" ? "Besides these fields it has" : `Below \`${shared?.at}\` it has`;
  const others = different.length === rows.length ? [] : [`${place} those of the ${link} with the same meaning.`, ""];
  const table = own.length === 0 ? [] : ["| field | type | meaning |", "|---|---|---|", ...own, ""];
  return [`### ${part}`, "", ...others, ...table];
}

/** Members that stand under an earlier field word for word are not written again: the row says where they are. */
function withoutRepeats(rows: readonly string[], place: string, written: Map<string, string>): string[] {
  const kept: string[] = [];
  let below: string | undefined;
  for (const [index, row] of rows.entries()) {
    const at = pathOf(row);
    if (below !== undefined && isBelow(at, below)) continue;
    below = undefined;
    const members = rows.slice(index + 1).filter((other) => isBelow(pathOf(other), at));
    const text = members.map((member) => member.replace(`\`${at}`, "`").replace("`[]", "`")).join("\n");
    const first = written.get(text);
    if (members.length < 2) kept.push(row);
    else if (first === undefined) {
      written.set(text, `\`${at}\` (${place})`);
      kept.push(row);
    } else {
      below = at;
      kept.push(row.replace(/ \|$/, ` Members: as of ${first.replace(` (${place})`, "")}. |`));
    }
  }
  return kept;
}

const pathOf = (row: string): string => /^\| `([^`]+)`/.exec(row)?.[1] ?? "";
const isBelow = (path: string, at: string): boolean => path.startsWith(`${at}.`) || path.startsWith(`${at}[]`);

/** Members of a status that only the operator reads; `kubectl explain` describes what they hold. */
const notes = new Set(["proof", "pendingWrite", "gone", "resolvedBranch"]);

function rowsOf(path: string, schema: Schema): string[] {
  const fields = Object.entries(schema.properties ?? {});
  return fields.flatMap(([name, field]) => {
    const at = path === "" ? name : `${path}.${name}`;
    if (notes.has(at) && field.properties !== undefined)
      return [`| \`${at}\` | ${typeOf(field)} | ${meaningOf(field)} Its members are for the operator. |`];
    const required = schema.required?.includes(name) === true && field.default === undefined ? "**required** " : "";
    const row = `| \`${at}\` | ${required}${typeOf(field)} | ${meaningOf(field)} |`;
    return [row, ...rowsOf(at, field), ...(field.items === undefined ? [] : rowsOf(`${at}[]`, field.items))];
  });
}

function typeOf({ type, items, additionalProperties }: Schema): string {
  if (items !== undefined) return `list of ${items.type ?? "values"}`;
  if (typeof additionalProperties === "object") return `map of ${additionalProperties.type ?? "values"}`;
  return type ?? "number or range";
}

const mostListed = 10;

function meaningOf(schema: Schema): string {
  const parts = [schema.description ?? ""];
  // What a description sums up, such as the sizes in CU, is not listed besides.
  if (schema.enum !== undefined && schema.enum.length <= mostListed)
    parts.push(`Allowed: ${schema.enum.map(String).join(", ")}.`);
  if (schema.minimum !== undefined) parts.push(`At least ${schema.minimum}.`);
  if (schema.default !== undefined) parts.push(`Default: \`${JSON.stringify(schema.default)}\`.`);
  return parts
    .filter((part) => part !== "")
    .join(" ")
    .replaceAll("|", String.raw`\|`)
    .replaceAll("\n", " ");
}
