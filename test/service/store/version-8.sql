-- A data file of schema 8, as this program wrote it before its first release: a branch of its own, computes, operations.
BEGIN TRANSACTION;
CREATE TABLE accounts (
    id TEXT PRIMARY KEY,
    uuid TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
INSERT INTO "accounts" VALUES('acc-ana','b0e06ba2-b93a-8a8a-8add-a168eeda5c3c','ana@example.com','ana@example.com','scale',1767225600000);
INSERT INTO "accounts" VALUES('acc-bob','555118e2-0543-8e58-8e7b-e5419f0b17ce','bob@example.com','bob@example.com','free',1767225600000);
INSERT INTO "accounts" VALUES('acc-eve','94425509-8eaa-83b4-813e-f0f12df9904a','eve@example.com','eve@example.com','scale',1767225600000);
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
INSERT INTO "api_keys" VALUES(1,'personal','laptop','acc-ana',NULL,NULL,'d9b755f8ed95','d9b755f8ed95d97fd35a7d1202cd359f942d142b344db00eb19e3c6e26be9ac9','acc-ana',1767225600000,1767225600000,'127.0.0.1',NULL);
INSERT INTO "api_keys" VALUES(2,'personal','laptop','acc-bob',NULL,NULL,'9b94dc1a51a3','9b94dc1a51a38769f135edf04033ad7f2f487b6c25929be7a861cfc1ab10cf98','acc-bob',1767225600000,NULL,NULL,NULL);
INSERT INTO "api_keys" VALUES(3,'personal','laptop','acc-eve',NULL,NULL,'063f9aac4168','063f9aac4168c3cc72bc2f81d8e55314ef8052df55829d2e13be2d1f3302a2df','acc-eve',1767225600000,NULL,NULL,NULL);
INSERT INTO "api_keys" VALUES(4,'organization','ci',NULL,'org-shop',NULL,'74dac1c3dcf5','74dac1c3dcf5c5314c5e9a1ae367e0d67ab7a75f065fdc44afc042552b6c120d','acc-ana',1767225600000,NULL,NULL,NULL);
INSERT INTO "api_keys" VALUES(5,'project','one-project',NULL,'org-shop','shiny-wind-028834','5cebef33ff96','5cebef33ff96c82119865fdc964ee6aa7b3df8d7c22936614b210fb454ea2188','acc-ana',1767225600000,NULL,NULL,NULL);
INSERT INTO "api_keys" VALUES(6,'organization','ci',NULL,'org-other',NULL,'580843d03d22','580843d03d2216ff1a275d0991bad66e4d1af871171d929e9de604b7959f9bca','acc-eve',1767225600000,NULL,NULL,NULL);
CREATE TABLE branch_data (
    branch_id TEXT PRIMARY KEY REFERENCES branches (id) ON DELETE CASCADE,
    generation TEXT NOT NULL,
    catalog TEXT NOT NULL,
    max_connections INTEGER NOT NULL,
    max_worker_processes INTEGER NOT NULL
  , max_locks INTEGER NOT NULL DEFAULT 64) STRICT, WITHOUT ROWID;
CREATE TABLE branch_sources (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    branch_id TEXT NOT NULL UNIQUE REFERENCES branches (id) ON DELETE CASCADE,
    source_id TEXT NOT NULL
  , point TEXT) STRICT;
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
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  , details TEXT NOT NULL DEFAULT '{}', active_ms INTEGER NOT NULL DEFAULT 0, compute_ms INTEGER NOT NULL DEFAULT 0, expires_at INTEGER, deleted_at INTEGER, recoverable_until INTEGER, deletion_method TEXT) STRICT, WITHOUT ROWID;
INSERT INTO "branches" VALUES('br-aged-salad-637688',1,'shiny-wind-028834',NULL,'main',1,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-ana',5,'ana-own',NULL,'main',1,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-bob',6,'bob-own',NULL,'main',1,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-eve',7,'eve-own',NULL,'main',1,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-keen-reef-312684e4',8,'shiny-wind-028834','br-aged-salad-637688','feature',0,0,'ready',1767225606245,1767225606000,1767225606245,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-preview-1',2,'shiny-wind-028834','br-aged-salad-637688','preview',0,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-staging-1',3,'shiny-wind-028834','br-aged-salad-637688','staging',0,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
INSERT INTO "branches" VALUES('br-two',4,'shop-two',NULL,'main',1,0,'ready',1767225600000,1767225600000,1767225600000,'{}',0,0,NULL,NULL,NULL,NULL);
CREATE TABLE connections (
    id INTEGER PRIMARY KEY,
    endpoint_id TEXT NOT NULL REFERENCES endpoints (id) ON DELETE CASCADE,
    pooled INTEGER NOT NULL,
    closes_at INTEGER NOT NULL
  ) STRICT;
CREATE TABLE databases (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    branch_id TEXT NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    owner_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (branch_id, name)
  ) STRICT;
INSERT INTO "databases" VALUES(1,'br-aged-salad-637688','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(2,'br-preview-1','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(3,'br-staging-1','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(4,'br-two','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(5,'br-ana','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(6,'br-bob','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(7,'br-eve','neondb','neondb_owner',1767225600000,1767225600000);
INSERT INTO "databases" VALUES(8,'br-keen-reef-312684e4','neondb','neondb_owner',1767225606000,1767225606000);
CREATE TABLE deleted_endpoints(
  id TEXT,
  seq INT,
  project_id TEXT,
  branch_id TEXT,
  type TEXT,
  name TEXT,
  min_cu REAL,
  max_cu REAL,
  suspend_timeout_seconds INT,
  settings TEXT,
  pooler_enabled INT,
  pooler_mode TEXT,
  disabled INT,
  passwordless_access INT,
  provisioner TEXT,
  current_state TEXT,
  pending_state TEXT,
  last_active INT,
  started_at INT,
  suspended_at INT,
  suspend_due INT,
  metered_at INT,
  created_at INT,
  updated_at INT
);
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
INSERT INTO "endpoints" VALUES('ep-brisk-field-c3b7cf3c',4,'bob-own','br-bob','read_write',NULL,1.0,1.0,0,'{"pg_settings":{}}',0,'transaction',0,1,'k8s-neonvm','idle',NULL,NULL,NULL,NULL,NULL,NULL,1767225600000,1767225600000);
INSERT INTO "endpoints" VALUES('ep-early-pond-77263271',2,'shop-two','br-two','read_write',NULL,1.0,1.0,0,'{"pg_settings":{}}',0,'transaction',0,1,'k8s-neonvm','idle',NULL,NULL,NULL,NULL,NULL,NULL,1767225600000,1767225600000);
INSERT INTO "endpoints" VALUES('ep-hollow-isle-43069c43',3,'ana-own','br-ana','read_write',NULL,1.0,1.0,0,'{"pg_settings":{}}',0,'transaction',0,1,'k8s-neonvm','idle',NULL,NULL,NULL,NULL,NULL,NULL,1767225600000,1767225600000);
INSERT INTO "endpoints" VALUES('ep-hollow-reef-632b9240',5,'eve-own','br-eve','read_write',NULL,1.0,1.0,0,'{"pg_settings":{}}',0,'transaction',0,1,'k8s-neonvm','idle',NULL,NULL,NULL,NULL,NULL,NULL,1767225600000,1767225600000);
INSERT INTO "endpoints" VALUES('ep-keen-field-881cd424',6,'shiny-wind-028834','br-preview-1','read_write','kept',1.0,1.0,0,'{"pg_settings":{"work_mem":"64MB"}}',0,'transaction',0,1,'k8s-neonvm','active',NULL,1767225603436,1767225603436,NULL,1767225903436,1767225603436,1767225603000,1767225603436);
INSERT INTO "endpoints" VALUES('ep-shop-primary',1,'shiny-wind-028834','br-aged-salad-637688','read_write',NULL,1.0,1.0,0,'{"pg_settings":{}}',0,'transaction',0,1,'k8s-neonvm','active',NULL,1767225600248,1767225600248,NULL,1767225900248,1767225600248,1767225600000,1767225600248);
CREATE TABLE members (
    organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('admin', 'member', 'editor', 'viewer', 'collaborator')),
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, account_id)
  ) STRICT, WITHOUT ROWID;
INSERT INTO "members" VALUES('org-other','acc-eve','admin',1767225600000);
INSERT INTO "members" VALUES('org-shop','acc-ana','admin',1767225600000);
INSERT INTO "members" VALUES('org-shop','acc-bob','member',1767225600000);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "meta" VALUES('password-secret','a056da5590e89a11d2b4a48e112a086c41ff0d16986b24f9802932a90106aaca');
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
INSERT INTO "operations" VALUES(1,'fb64afeb-ede1-40d4-8e8e-b2af2f26165a','shiny-wind-028834','br-aged-salad-637688','ep-shop-primary',1,'start_compute','start','finished',0,NULL,248,NULL,1767225600000,1767225600248);
INSERT INTO "operations" VALUES(2,'a851214a-a188-43c4-8ffd-020f5bd14dcc','shiny-wind-028834','br-preview-1','ep-keen-field-881cd424',2,'start_compute','start','finished',0,NULL,436,NULL,1767225603000,1767225603436);
INSERT INTO "operations" VALUES(3,'a36434ef-2510-4c63-82d4-e86a538cc03a','shiny-wind-028834','br-keen-reef-312684e4',NULL,3,'create_branch','branch-ready','finished',0,NULL,245,NULL,1767225606000,1767225606245);
CREATE TABLE operator_changes (
    endpoint_id TEXT PRIMARY KEY REFERENCES endpoints (id) ON DELETE CASCADE,
    changed_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
CREATE TABLE organizations (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    plan TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
INSERT INTO "organizations" VALUES('org-other','org-other','scale',1767225600000);
INSERT INTO "organizations" VALUES('org-shop','Shop','scale',1767225600000);
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
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, details TEXT NOT NULL DEFAULT '{}',
    CHECK ((owner_account_id IS NULL) <> (owner_organization_id IS NULL))
  ) STRICT, WITHOUT ROWID;
INSERT INTO "projects" VALUES('ana-own',3,'ana-own','acc-ana',NULL,'aws-us-east-2',17,0,0,1767225600000,1767225600000,'{}');
INSERT INTO "projects" VALUES('bob-own',4,'bob-own','acc-bob',NULL,'aws-us-east-2',17,0,0,1767225600000,1767225600000,'{}');
INSERT INTO "projects" VALUES('eve-own',5,'eve-own','acc-eve',NULL,'aws-us-east-2',17,0,0,1767225600000,1767225600000,'{}');
INSERT INTO "projects" VALUES('shiny-wind-028834',1,'shop',NULL,'org-shop','aws-us-east-2',17,0,0,1767225600000,1767225600000,'{}');
INSERT INTO "projects" VALUES('shop-two',2,'shop-two',NULL,'org-shop','aws-us-east-2',17,0,0,1767225600000,1767225600000,'{}');
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
INSERT INTO "roles" VALUES('br-aged-salad-637688',1,'neondb_owner',1,'br-aged-salad-637688/neondb_owner',1767225600000,1767225600000);
INSERT INTO "roles" VALUES('br-ana',1,'neondb_owner',1,'br-ana/neondb_owner',1767225600000,1767225600000);
INSERT INTO "roles" VALUES('br-bob',1,'neondb_owner',1,'br-bob/neondb_owner',1767225600000,1767225600000);
INSERT INTO "roles" VALUES('br-eve',1,'neondb_owner',1,'br-eve/neondb_owner',1767225600000,1767225600000);
INSERT INTO "roles" VALUES('br-keen-reef-312684e4',1,'neondb_owner',1,'br-keen-reef-312684e4/neondb_owner',1767225606000,1767225606000);
INSERT INTO "roles" VALUES('br-preview-1',1,'neondb_owner',1,'br-preview-1/neondb_owner',1767225600000,1767225600000);
INSERT INTO "roles" VALUES('br-staging-1',1,'neondb_owner',1,'br-staging-1/neondb_owner',1767225600000,1767225600000);
INSERT INTO "roles" VALUES('br-two',1,'neondb_owner',1,'br-two/neondb_owner',1767225600000,1767225600000);
CREATE TABLE usage_hours (
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    hour INTEGER NOT NULL,
    active_ms INTEGER NOT NULL,
    compute_ms INTEGER NOT NULL,
    peak INTEGER NOT NULL,
    PRIMARY KEY (project_id, hour)
  ) STRICT, WITHOUT ROWID;
CREATE INDEX projects_by_account ON projects (owner_account_id);
CREATE INDEX projects_by_organization ON projects (owner_organization_id);
CREATE INDEX api_keys_by_prefix ON api_keys (hash_prefix) WHERE revoked_at IS NULL;
CREATE INDEX branches_by_project ON branches (project_id, seq);
CREATE UNIQUE INDEX one_default_branch ON branches (project_id) WHERE is_default = 1;
CREATE INDEX endpoints_by_project ON endpoints (project_id, seq);
CREATE INDEX endpoints_by_branch ON endpoints (branch_id, seq);
CREATE INDEX endpoints_by_suspend_due ON endpoints (suspend_due) WHERE suspend_due IS NOT NULL;
CREATE INDEX endpoints_metered ON endpoints (project_id) WHERE metered_at IS NOT NULL;
CREATE UNIQUE INDEX one_primary_per_branch ON endpoints (branch_id) WHERE type = 'read_write';
CREATE INDEX operations_by_project ON operations (project_id, seq);
CREATE INDEX operations_by_due ON operations (due) WHERE due IS NOT NULL;
CREATE INDEX operations_unfinished ON operations (project_id, endpoint_id, seq) WHERE status IN ('running', 'scheduling');
CREATE INDEX operations_by_chain ON operations (chain, seq);
CREATE INDEX connections_by_endpoint ON connections (endpoint_id, pooled);
CREATE INDEX connections_by_close ON connections (closes_at);
CREATE INDEX branches_by_expiry ON branches (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX branches_recoverable ON branches (recoverable_until) WHERE recoverable_until IS NOT NULL;
CREATE TRIGGER forget_endpoints AFTER DELETE ON branches
    BEGIN DELETE FROM deleted_endpoints WHERE branch_id = old.id; END;
CREATE INDEX members_by_account ON members (account_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('api_keys',6);
INSERT INTO "sqlite_sequence" VALUES('operations',3);
INSERT INTO "sqlite_sequence" VALUES('databases',8);
COMMIT;
PRAGMA user_version = 8;
