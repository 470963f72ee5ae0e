import type { Database } from "../../../src/service/store/database.ts";

/** What must never be found in the store, as a query that finds it. */
const never: ReadonlyMap<string, string> = new Map([
  [
    "a compute on its way somewhere without an operation under way",
    `SELECT id FROM endpoints e WHERE pending_state IS NOT NULL AND NOT EXISTS
     (SELECT 1 FROM operations o WHERE o.endpoint_id = e.id AND o.status IN ('running', 'scheduling'))`,
  ],
  [
    "an operation under way on a compute that is on its way nowhere",
    `SELECT o.id FROM operations o JOIN endpoints e ON e.id = o.endpoint_id
     WHERE o.status IN ('running', 'scheduling') AND e.pending_state IS NULL`,
  ],
  [
    "a chain in which not exactly one operation runs while others wait",
    `SELECT chain FROM operations WHERE status IN ('running', 'scheduling')
     GROUP BY chain HAVING sum(status = 'running') <> 1`,
  ],
  [
    "a running operation that never ends, or one that ends without running",
    "SELECT id FROM operations WHERE (status = 'running') <> (due IS NOT NULL)",
  ],
  [
    "a compute about to suspend that is not active, or changing, or serving someone",
    `SELECT id FROM endpoints e WHERE suspend_due IS NOT NULL AND (current_state <> 'active'
     OR pending_state IS NOT NULL OR EXISTS (SELECT 1 FROM connections c WHERE c.endpoint_id = e.id))`,
  ],
  [
    "an active compute at rest that will never suspend although it should",
    `SELECT id FROM endpoints e WHERE current_state = 'active' AND pending_state IS NULL AND suspend_due IS NULL
     AND suspend_timeout_seconds <> -1 AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.endpoint_id = e.id)
     AND project_id IN (SELECT id FROM projects WHERE removed = 0)`,
  ],
  [
    "a compute whose use is metered while it is not active, or not while it is",
    "SELECT id FROM endpoints WHERE (current_state = 'active') <> (metered_at IS NOT NULL)",
  ],
  [
    "a compute still in init with nothing under way",
    "SELECT id FROM endpoints WHERE current_state = 'init' AND pending_state IS NULL",
  ],
  [
    "a compute on a branch of another project",
    `SELECT e.id FROM endpoints e JOIN branches b ON b.id = e.branch_id WHERE b.project_id <> e.project_id`,
  ],
  [
    "a project without a default branch",
    `SELECT id FROM projects p WHERE removed = 0
     AND NOT EXISTS (SELECT 1 FROM branches b WHERE b.project_id = p.id AND b.is_default = 1)`,
  ],
  [
    "a branch whose parent is not there, or has an end",
    `SELECT id FROM branches b WHERE deleted_at IS NULL AND parent_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM branches p
     WHERE p.id = b.parent_id AND p.project_id = b.project_id AND p.deleted_at IS NULL AND p.expires_at IS NULL)`,
  ],
  [
    "a default branch that is deleted, or has an end",
    "SELECT id FROM branches WHERE is_default = 1 AND (deleted_at IS NOT NULL OR expires_at IS NOT NULL)",
  ],
  [
    "a valid key scoped to a project that its organization does not own",
    `SELECT id FROM api_keys k WHERE kind = 'project' AND revoked_at IS NULL AND NOT EXISTS
     (SELECT 1 FROM projects p WHERE p.id = k.project_id AND p.owner_organization_id = k.organization_id)`,
  ],
  [
    "an organization without an administrator",
    "SELECT id FROM organizations o WHERE NOT EXISTS (SELECT 1 FROM members m WHERE m.organization_id = o.id AND m.role = 'admin')",
  ],
]);

/** Every invariant that the store breaks. */
export function brokenInvariants(database: Database): string[] {
  return [...never].flatMap(([what, query]) => (database.one(query) ? [what] : []));
}
