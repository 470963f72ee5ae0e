import type { BranchesAnswer, ListedBranch } from "../../api/branch.ts";
import { asRecord } from "../objects/record.ts";
import type { Answer } from "./answer.ts";
import { mostBytes } from "./transport.ts";

/** The most pages of branches that are read: of a service that pages without end nothing is concluded. */
const mostPages = 50;

/**
 * All branches of a project, page by page in an order that renaming does not change. The last page has no cursor, or no
 * branches. A page with neither news nor an end shows that the service does not page, so branches may be missing.
 */
export async function allBranches(
  read: (query: Record<string, string>) => Promise<Answer<BranchesAnswer>>,
): Promise<Answer<ListedBranch[]> | { kind: "incomplete"; problem: string }> {
  const branches = new Map<string, ListedBranch>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < mostPages; page += 1) {
    const query = { sort_by: "created_at", sort_order: "asc", ...(cursor === undefined ? {} : { cursor }) };
    // Each page needs the cursor of the previous one.
    const answer = await read(query);
    if (answer.kind !== "ok") return answer;
    const { branches: shown, annotations = {}, pagination: { next } = {} } = answer.value;
    const before = branches.size;
    for (const branch of shown) {
      const note = noteOf(annotations[branch.id]);
      branches.set(branch.id, note === undefined ? branch : { ...branch, note });
    }
    const isLast = shown.length === 0 || next === undefined || next === "";
    if (isLast) return { ...answer, value: [...branches.values()] };
    if (next === cursor || branches.size === before) {
      return { kind: "incomplete", problem: ": a page that repeats the one before" };
    }
    bytes += answer.bytes ?? 0;
    if (bytes > mostBytes.endpoints) return { kind: "incomplete", problem: ": pages that are too large together" };
    cursor = next;
  }
  return { kind: "incomplete", problem: ": more pages than any project has" };
}

/** The note of an annotation; one without any text is none. */
export function noteOf(annotation: { value?: object | undefined } | undefined): ListedBranch["note"] {
  const value = asRecord(annotation?.value);
  return Object.keys(value).length > 0 ? value : undefined;
}
