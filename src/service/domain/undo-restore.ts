import { z } from "zod";
import type { ServiceContext } from "../context.ts";
import type { CopyWanted } from "../store/branch-data.ts";
import { BranchDetails } from "../store/details.ts";
import type { Store } from "../store/store.ts";

const made = { branchId: z.string(), name: z.string(), createdAt: z.number(), updatedAt: z.number() };

/** The rows and fields of a branch that a restore replaces beside its data. */
const Replaced = z.object({
  parentId: z.string().optional(),
  /** The branch that keeps what it was. */
  keptId: z.string().optional(),
  beginning: BranchDetails.pick({ parent_lsn: true, parent_timestamp: true, last_reset_at: true }),
  roles: z.array(z.object({ ...made, login: z.boolean(), passwordSource: z.string() })),
  databases: z.array(z.object({ ...made, id: z.number(), ownerName: z.string() })),
});

/**
 * The text of this that `undoRestore` takes; `undefined` of a branch that lacks the copy it began as, and can only get
 * one. Where an earlier restore was not made, its rows are not those of the data: what that one replaced is.
 */
export function replacedOf(store: Store, branchId: string, keptId?: string): string | undefined {
  const { branches, branchData, catalogs } = store;
  const unmade = branchData.sourceOf(branchId);
  if (unmade) return unmade.replaced;
  const branch = branches.byId(branchId);
  if (!branch) return undefined;
  const [roles, databases] = [catalogs.roles(branchId), catalogs.databases(branchId)];
  const replaced = { parentId: branch.parentId, keptId, beginning: branch.details, roles, databases };
  return JSON.stringify(Replaced.parse(replaced));
}

/**
 * Leaves a branch as it was, whose restore has failed: its data was not touched. A later end stays, and so does the
 * branch that keeps what it was, which may be used by now: as its child, beside those that it had. Its parent may be
 * gone or have an end by now, as it had no child: then it has none.
 */
export function undoRestore({ store }: ServiceContext, { branchId, seq, replaced }: CopyWanted, at: number): void {
  const { branches, branchData, catalogs } = store;
  const branch = branches.byId(branchId);
  if (replaced === undefined || !branch || branchData.sourceOf(branchId)?.seq !== seq) return;
  const { parentId: earlierId, keptId, beginning, ...rows } = Replaced.parse(JSON.parse(replaced));
  const parent = branches.get(branch.projectId, earlierId ?? "");
  const above: (string | undefined)[] = [];
  for (let one = parent; one; one = branches.get(branch.projectId, one.parentId ?? "")) above.push(one.id);
  const kept = branches.get(branch.projectId, keptId ?? "");
  if (kept && branch.expiresAt === undefined && !above.includes(keptId)) {
    branches.giveChildren(kept, branchId, at);
    const details = { ...kept.details, parent_lsn: undefined, parent_timestamp: undefined };
    branches.update({ ...kept, parentId: branchId, details }, at);
  }
  const parentId = parent?.expiresAt === undefined ? parent?.id : undefined;
  const { parent_lsn: _, parent_timestamp: __, last_reset_at: ___, ...others } = branch.details;
  branches.update({ ...branch, parentId, details: { ...others, ...beginning } }, at);
  catalogs.replace(branchId, rows);
  branchData.clearSource(branchId);
}
