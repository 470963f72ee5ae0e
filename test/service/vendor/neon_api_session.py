"""A session of Python's neon-api against the service: every method of it that the service serves.

Two methods of it send what the public API does not have, and are left out: role_password_reveal (POST for GET) and
branch_set_as_primary.

Called with the base URL, the API key and the project. Prints one line for each call; fails at the first that fails.
"""

import sys
import time

from neon_api import NeonAPI

base_url, api_key, project = sys.argv[1:4]
neon = NeonAPI(api_key, base_url=base_url + "/")


def settled():
    """Waits for the operations of the project, as scripts have to."""
    while any(o.status.value in ("running", "scheduling") for o in neon.operations(project).operations):
        time.sleep(0.01)


def call(name, check, *args, **fields):
    settled()
    answer = getattr(neon, name)(*args, **fields)
    if not check(answer):
        sys.exit(f"{name}: unexpected answer {answer!r}")
    print(f"ok {name}")
    return answer


call("me", lambda a: a.email == "ana@example.com" and a.billing_account.state.value == "active")
key = call("api_key_create", lambda a: a.key, key_name="python")
call("api_keys", lambda a: any(k.name == "python" for k in a))
call("api_key_revoke", lambda a: a.revoked, str(key.id))

call("projects", lambda a: len(a.projects) == 3)
call("projects", lambda a: a.projects == [], shared=True)
call("project", lambda a: a.project.id == project, project)
made = call(
    "project_create",
    lambda a: a.project.name == "python",
    project={"name": "python", "store_passwords": True, "default_endpoint_settings": {"autoscaling_limit_max_cu": 2}},
)
call("project_update", lambda a: a.project.name == "renamed", made.project.id, project={"name": "renamed"})
call("project_permissions", lambda a: a.project_permissions == [], project)

branch = call("branch_create", lambda a: a.branch.name == "python", project, branch={"name": "python"}).branch.id
call("branches", lambda a: len(a.branches) == 4, project)
call("branch", lambda a: a.branch.id == branch, project, branch)
call("branch_update", lambda a: a.branch.name == "snake", project, branch, branch={"name": "snake"})

call("role_create", lambda a: a.role.password, project, branch, "app")
call("roles", lambda a: len(a.roles) == 2, project, branch)
call("role", lambda a: a.role.name == "app", project, branch, "app")
call("role_password_reset", lambda a: a.role.password.startswith("npg_"), project, branch, "app")

stock = {"name": "stock", "owner_name": "app"}
call("database_create", lambda a: a.database.name == "stock", project, branch, database=stock)
call("databases", lambda a: len(a.databases) == 2, project, branch)
call("database", lambda a: a.database.owner_name == "app", project, branch, "stock")
call("database_update", lambda a: a.database.name == "store", project, branch, "stock", database={"name": "store"})
call("database_delete", lambda a: a.database.name == "store", project, branch, "store")
call("role_delete", lambda a: a.role.name == "app", project, branch, "app")

wanted = {"branch_id": branch, "type": "read_write"}
endpoint = call("endpoint_create", lambda a: a.endpoint.branch_id == branch, project, endpoint=wanted).endpoint.id
call("endpoints", lambda a: len(a.endpoints) == 2, project)
call("endpoint", lambda a: a.endpoint.id == endpoint, project, endpoint)
call(
    "endpoint_update",
    lambda a: a.endpoint.autoscaling_limit_max_cu == 4,
    project,
    endpoint,
    endpoint={"autoscaling_limit_max_cu": 4},
)
call("endpoint_suspend", lambda a: a.operations, project, endpoint)
call("endpoint_start", lambda a: a.operations, project, endpoint)
for pooled in (False, True):
    call(
        "connection_uri",
        lambda a, pooled=pooled: ("-pooler" in a.uri) == pooled,
        project,
        database_name="neondb",
        role_name="neondb_owner",
        pooled=pooled,
    )
call("endpoint_delete", lambda a: a.endpoint.id == endpoint, project, endpoint)
call("branch_delete", lambda a: a.branch.id == branch, project, branch)
last = call("operations", lambda a: a.operations, project).operations[0].id
call("operation", lambda a: a.operation.id == last, project, last)
time.sleep(0.2)
call("project_delete", lambda a: a.project.id == made.project.id, made.project.id)
