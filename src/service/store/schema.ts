/**
 * The store's schema, one step per version: `PRAGMA user_version` counts them. The first step makes the schema of
 * `firstVersion`: nothing was released before. A released step never changes; new steps are added at the end. Times are
 * milliseconds since the epoch.
 */
export const firstVersion = 8;

export const steps: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE organizations (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE members (
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'editor', 'viewer', 'collaborator')),
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, account_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX members_by_account ON members (account_id);

  CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL UNIQUE,
    name TEXT NOT NULL,
    owner_account_id TEXT REFERENCES accounts (id),
    owner_organization_id TEXT REFERENCES organizations (id),
    region_id TEXT NOT NULL,
    pg_version INTEGER NOT NULL,
    active_ms INTEGER NOT NULL DEFAULT 0,
    compute_ms INTEGER NOT NULL DEFAULT 0,
    details TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    CHECK ((owner_account_id IS NULL) <> (owner_organization_id IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX projects_by_account ON projects (owner_account_id);
  CREATE INDEX projects_by_organization ON projects (owner_organization_id);

  CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('personal', 'organization', 'project')),
    name TEXT NOT NULL,
    account_id TEXT REFERENCES accounts (id),
    organization_id TEXT REFERENCES organizations (id),
    project_id TEXT,
    hash_prefix TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created_by TEXT NOT NULL REFERENCES accounts (id),
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    last_used_from TEXT,
    revoked_at INTEGER
  ) STRICT;
  CREATE INDEX api_keys_by_prefix ON api_keys (hash_prefix) WHERE revoked_at IS NULL;

  CREATE TABLE branches (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    parent_id TEXT,
    name TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    is_protected INTEGER NOT NULL,
    current_state TEXT NOT NULL,
    state_changed_at INTEGER NOT NULL,
    active_ms INTEGER NOT NULL DEFAULT 0,
    compute_ms INTEGER NOT NULL DEFAULT 0,
    details TEXT NOT NULL,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    recoverable_until INTEGER,
    deletion_method TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX branches_by_project ON branches (project_id, seq);
  CREATE INDEX branches_by_expiry ON branches (expires_at) WHERE expires_at IS NOT NULL;
  CREATE INDEX branches_recoverable ON branches (recoverable_until) WHERE recoverable_until IS NOT NULL;
  CREATE UNIQUE INDEX one_default_branch ON branches (project_id) WHERE is_default = 1;

  CREATE TABLE endpoints (
    id TEXT PRIMARY KEY,
    seq INTEGER NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    branch_id TEXT NOT NULL REFERENCES branches (id),
    type TEXT NOT NULL CHECK (type IN ('read_write', 'read_only')),
    name TEXT,
    min_cu REAL NOT NULL,
    max_cu REAL NOT NULL,
    suspend_timeout_seconds INTEGER NOT NULL,
    settings TEXT NOT NULL,
    pooler_enabled INTEGER NOT NULL,
    pooler_mode TEXT NOT NULL,
    disabled INTEGER NOT NULL,
    passwordless_access INTEGER NOT NULL,
    provisioner TEXT NOT NULL,
    current_state TEXT NOT NULL,
    pending_state TEXT,
    last_active INTEGER,
    started_at INTEGER,
    suspended_at INTEGER,
    suspend_due INTEGER,
    metered_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX endpoints_by_project ON endpoints (project_id, seq);
  CREATE INDEX endpoints_by_branch ON endpoints (branch_id, seq);
  CREATE INDEX endpoints_by_suspend_due ON endpoints (suspend_due) WHERE suspend_due IS NOT NULL;
  CREATE INDEX endpoints_metered ON endpoints (project_id) WHERE metered_at IS NOT NULL;
  CREATE UNIQUE INDEX one_primary_per_branch ON endpoints (branch_id) WHERE type = 'read_write';

  CREATE TABLE operations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    branch_id TEXT,
    endpoint_id TEXT,
    chain INTEGER NOT NULL,
    action TEXT NOT NULL,
    effect TEXT NOT NULL,
    status TEXT NOT NULL,
    failures_count INTEGER NOT NULL,
    error TEXT,
    duration_ms INTEGER NOT NULL,
    due INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX operations_by_project ON operations (project_id, seq);
  CREATE INDEX operations_by_due ON operations (due) WHERE due IS NOT NULL;
  CREATE INDEX operations_unfinished ON operations (project_id, endpoint_id, seq) WHERE status IN ('running', 'scheduling');
  CREATE INDEX operations_by_chain ON operations (chain, seq);

  CREATE TABLE connections (
    id INTEGER PRIMARY KEY,
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
    pooled INTEGER NOT NULL,
    closes_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX connections_by_endpoint ON connections (endpoint_id, pooled);
  CREATE INDEX connections_by_close ON connections (closes_at);

  CREATE TABLE roles (
    branch_id TEXT NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    login INTEGER NOT NULL,
    password_source TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (branch_id, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE databases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    branch_id TEXT NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    owner_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (branch_id, name)
  ) STRICT;

  CREATE TABLE branch_data (
    branch_id TEXT PRIMARY KEY REFERENCES branches (id) ON DELETE CASCADE,
    generation TEXT NOT NULL,
    catalog TEXT NOT NULL,
    max_connections INTEGER NOT NULL,
    max_worker_processes INTEGER NOT NULL,
    max_locks INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE branch_sources (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    branch_id TEXT NOT NULL UNIQUE REFERENCES branches (id) ON DELETE CASCADE,
    source_id TEXT NOT NULL,
    point TEXT
  ) STRICT;

  -- Rows of endpoints are copied as they are: a column of endpoints is one here too.
  CREATE TABLE deleted_endpoints AS SELECT * FROM endpoints WHERE false;
  CREATE TRIGGER forget_endpoints AFTER DELETE ON branches
    BEGIN DELETE FROM deleted_endpoints WHERE branch_id = old.id; END;

  CREATE TABLE operator_changes (
    endpoint_id TEXT PRIMARY KEY REFERENCES endpoints (id) ON DELETE CASCADE,
    changed_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE usage_hours (
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    hour INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    compute_ms INTEGER NOT NULL,
    peak INTEGER NOT NULL,
    PRIMARY KEY (project_id, hour)
  ) STRICT, WITHOUT ROWID;
  `,
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
];

export const latestVersion = firstVersion + steps.length - 1;
