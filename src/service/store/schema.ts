import { firstSchema } from "./first-schema.ts";

/**
 * The store's schema, one step per version: `PRAGMA user_version` counts them. The first step makes the schema of
 * `firstVersion`: nothing was released before. A released step never changes; new steps are added at the end. Times are
 * milliseconds since the epoch.
 */
export const firstVersion = 8;

export const steps: readonly string[] = [
  firstSchema,
  `
  CREATE INDEX api_keys_by_account ON api_keys (account_id, id) WHERE revoked_at IS NULL;
  CREATE INDEX api_keys_by_organization ON api_keys (organization_id, id) WHERE revoked_at IS NULL;
  `,
  `
  CREATE INDEX roles_in_order ON roles (branch_id, seq);
  `,
  `
  CREATE TABLE endpoint_quarters (
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
    quarter INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    compute_ms INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    wakes INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, quarter)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE INDEX operations_failed ON operations (updated_at) WHERE status = 'failed';
  `,
  `
  CREATE TABLE endpoint_days (
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
    day INTEGER NOT NULL,
    compute_ms INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, day)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  -- Of the keys from before, any may be a seed's.
  ALTER TABLE api_keys ADD COLUMN planted INTEGER NOT NULL DEFAULT 1;
  `,
  `
  -- Each in the whole order in which rows are asked for: thousands may be due at one time.
  DROP INDEX branches_by_expiry;
  CREATE INDEX branches_by_expiry ON branches (expires_at, seq) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
  DROP INDEX branches_recoverable;
  CREATE INDEX branches_recoverable ON branches (recoverable_until, seq) WHERE recoverable_until IS NOT NULL;
  CREATE INDEX branches_deleted ON branches (project_id, deleted_at, seq) WHERE deleted_at IS NOT NULL;
  DROP INDEX endpoints_by_suspend_due;
  CREATE INDEX endpoints_by_suspend_due ON endpoints (suspend_due, seq) WHERE suspend_due IS NOT NULL;
  CREATE INDEX operations_open_ended ON operations (seq) WHERE status = 'running' AND due IS NULL;
  CREATE INDEX endpoints_active ON endpoints (seq) WHERE current_state = 'active';
  CREATE INDEX deleted_endpoints_by_branch ON deleted_endpoints (branch_id);
  `,
  `
  CREATE INDEX branch_sources_by_source ON branch_sources (source_id);
  `,
  `
  CREATE INDEX deleted_endpoints_by_project ON deleted_endpoints (project_id);
  `,
  `
  ALTER TABLE branch_sources ADD COLUMN schema_only INTEGER NOT NULL DEFAULT 0;
  UPDATE branch_sources SET schema_only = 1 WHERE branch_id NOT IN (SELECT branch_id FROM branch_data)
    AND branch_id IN (SELECT id FROM branches WHERE json_extract(details, '$.init_source') <> 'parent-data');
  `,
  `
  CREATE INDEX api_keys_by_project ON api_keys (project_id) WHERE project_id IS NOT NULL AND revoked_at IS NULL;
  -- All that lists are searched and sorted by: the rows are long.
  CREATE INDEX branches_listed ON branches (project_id, name, deleted_at, seq, created_at, updated_at);
  CREATE INDEX branches_ending ON branches (project_id, expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
  CREATE INDEX operations_by_endpoint ON operations (endpoint_id, seq);
  CREATE INDEX operations_by_branch ON operations (branch_id, seq);
  DROP INDEX endpoints_metered;
  CREATE INDEX endpoints_metered ON endpoints (project_id, branch_id) WHERE metered_at IS NOT NULL;
  DROP INDEX operations_failed;
  CREATE INDEX operations_failed_in ON operations (project_id, updated_at, seq) WHERE status = 'failed';
  CREATE INDEX branches_by_parent ON branches (parent_id) WHERE parent_id IS NOT NULL;
  -- Looked for after every change where servers run.
  ALTER TABLE branches ADD COLUMN lacks_data INTEGER NOT NULL DEFAULT 1;
  UPDATE branches SET lacks_data = 0 WHERE id IN (SELECT branch_id FROM branch_data);
  CREATE TRIGGER branch_has_data AFTER INSERT ON branch_data
    BEGIN UPDATE branches SET lacks_data = 0 WHERE id = new.branch_id; END;
  CREATE INDEX branches_without_data ON branches (seq) WHERE current_state = 'ready' AND lacks_data = 1;
  `,
  `
  -- A deleted project stays until all that belongs to it is cleared, a deleted compute's id until its usage is.
  ALTER TABLE projects ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX projects_removed ON projects (seq) WHERE removed = 1;
  CREATE TABLE removed_endpoints (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TRIGGER remove_endpoint AFTER DELETE ON endpoints
    BEGIN INSERT INTO removed_endpoints VALUES (old.id); END;
  CREATE TRIGGER recover_endpoint AFTER INSERT ON endpoints
    BEGIN DELETE FROM removed_endpoints WHERE id = new.id; END;
  CREATE TABLE kept_quarters (
    endpoint_id TEXT NOT NULL,
    quarter INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    compute_ms INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    wakes INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, quarter)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO kept_quarters SELECT * FROM endpoint_quarters;
  DROP TABLE endpoint_quarters;
  ALTER TABLE kept_quarters RENAME TO endpoint_quarters;
  CREATE TABLE kept_days (
    endpoint_id TEXT NOT NULL,
    day INTEGER NOT NULL,
    compute_ms INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, day)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO kept_days SELECT * FROM endpoint_days;
  DROP TABLE endpoint_days;
  ALTER TABLE kept_days RENAME TO endpoint_days;
  `,
  `
  ALTER TABLE branch_sources ADD COLUMN replaced TEXT;
  `,
  `
  -- All that computes are found, sorted and added up by, and projects by their owner: the rows are long.
  DROP INDEX endpoints_by_project;
  CREATE INDEX endpoints_by_project ON endpoints (project_id, seq, branch_id, type, name, current_state, pending_state,
    disabled, last_active, metered_at, min_cu, max_cu, suspend_timeout_seconds);
  DROP INDEX endpoints_metered;
  CREATE INDEX endpoints_metered ON endpoints (project_id, branch_id, metered_at, min_cu, max_cu)
    WHERE metered_at IS NOT NULL;
  DROP INDEX branches_ending;
  CREATE INDEX branches_ending ON branches (project_id, expires_at, seq, deleted_at)
    WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
  DROP INDEX operations_failed_in;
  CREATE INDEX operations_failed_in ON operations (project_id, updated_at, seq, status) WHERE status = 'failed';
  DROP INDEX projects_by_account;
  CREATE INDEX projects_by_account ON projects (owner_account_id, removed);
  DROP INDEX projects_by_organization;
  CREATE INDEX projects_by_organization ON projects (owner_organization_id, removed);
  -- The hash begins with the prefix, and has an index.
  DROP INDEX api_keys_by_prefix;
  `,
  `
  -- The usage of a compute stays as long as its branch can be recovered.
  CREATE INDEX deleted_endpoints_by_id ON deleted_endpoints (id);
  DROP TRIGGER remove_endpoint;
  CREATE TRIGGER remove_endpoint AFTER DELETE ON endpoints
    WHEN NOT EXISTS (SELECT 1 FROM deleted_endpoints WHERE id = old.id)
    BEGIN INSERT INTO removed_endpoints VALUES (old.id); END;
  DROP TRIGGER forget_endpoints;
  CREATE TRIGGER forget_endpoints AFTER DELETE ON branches
    BEGIN
      INSERT OR IGNORE INTO removed_endpoints SELECT id FROM deleted_endpoints WHERE branch_id = old.id;
      DELETE FROM deleted_endpoints WHERE branch_id = old.id;
    END;
  `,
];

export const latestVersion = firstVersion + steps.length - 1;
