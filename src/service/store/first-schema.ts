/** The schema that the first release made. It never changes. */
export const firstSchema = `
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
`;
