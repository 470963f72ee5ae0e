import type { Reply } from "../rig.ts";

/** A branch of its own, on which one holder meets one operation. */
export interface Stage {
  branch: string;
  endpoint: string;
  replica: string | undefined;
  begun: string;
}

export interface Operation {
  act: (stage: Stage, send: Send) => Promise<unknown>;
  /** True if the branch is gone or another afterwards. */
  ends?: boolean;
  replica?: boolean;
}

export type Send = (method: string, path: string, body?: unknown) => Promise<Reply>;

const branchesPath = "/projects/held/branches";
const endpointsPath = "/projects/held/endpoints";
const branchPath = ({ branch }: Stage) => `${branchesPath}/${branch}`;
const endpointPath = ({ endpoint }: Stage) => `${endpointsPath}/${endpoint}`;

export const operations: Readonly<Record<string, Operation>> = {
  "reset password": { act: (s, send) => send("POST", `${branchPath(s)}/roles/thief/reset_password`) },
  "reset password of another": { act: (s, send) => send("POST", `${branchPath(s)}/roles/victim/reset_password`) },
  "create role": { act: (s, send) => send("POST", `${branchPath(s)}/roles`, { role: { name: "wanted" } }) },
  "delete role": { act: (s, send) => send("DELETE", `${branchPath(s)}/roles/victim`) },
  "delete role of the holder": { act: (s, send) => send("DELETE", `${branchPath(s)}/roles/thief`) },
  "create database": {
    act: (s, send) => send("POST", `${branchPath(s)}/databases`, { database: { name: "wanted", owner_name: "app" } }),
  },
  "rename database": {
    act: (s, send) => send("PATCH", `${branchPath(s)}/databases/doomed`, { database: { name: "other" } }),
  },
  "change owner": {
    act: (s, send) => send("PATCH", `${branchPath(s)}/databases/doomed`, { database: { owner_name: "honest" } }),
  },
  "delete database": { act: (s, send) => send("DELETE", `${branchPath(s)}/databases/doomed`) },
  settings: {
    act: (s, send) =>
      send("PATCH", endpointPath(s), {
        endpoint: { settings: { pg_settings: { work_mem: "9MB", max_prepared_transactions: "10" } } },
      }),
  },
  size: {
    act: (s, send) =>
      send("PATCH", endpointPath(s), { endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 } }),
  },
  suspend: { act: (s, send) => send("POST", `${endpointPath(s)}/suspend`) },
  restart: { act: (s, send) => send("POST", `${endpointPath(s)}/restart`) },
  "delete compute": { act: (s, send) => send("DELETE", endpointPath(s)), ends: true },
  "create replica": {
    act: (s, send) => send("POST", endpointsPath, { endpoint: { branch_id: s.branch, type: "read_only" } }),
  },
  "delete replica": {
    act: (s, send) => send("DELETE", `${endpointsPath}/${s.replica}`),
    replica: true,
  },
  "create branch": {
    act: (s, send) =>
      send("POST", branchesPath, {
        branch: { parent_id: s.branch },
        endpoints: [{ type: "read_write" }],
      }),
  },
  "schema-only branch": {
    act: (s, send) =>
      send("POST", branchesPath, {
        branch: { parent_id: s.branch, init_source: "schema-only" },
        endpoints: [{ type: "read_write" }],
      }),
  },
  "reset branch": {
    act: (s, send) => send("POST", `${branchPath(s)}/restore`, { source_branch_id: "br-held" }),
    ends: true,
  },
  "restore to before": {
    act: (s, send) =>
      send("POST", `${branchPath(s)}/restore`, {
        source_branch_id: s.branch,
        source_timestamp: s.begun,
        preserve_under_name: `before ${s.branch}`,
      }),
    ends: true,
  },
  "delete branch": { act: (s, send) => send("DELETE", branchPath(s)), ends: true },
  "recover branch": {
    act: async (s, send) => {
      await send("DELETE", branchPath(s));
      return send("POST", `${branchPath(s)}/recover`);
    },
  },
  schema: { act: (s, send) => send("GET", `${branchPath(s)}/schema?db_name=doomed`) },
  compare_schema: { act: (s, send) => send("GET", `${branchPath(s)}/compare_schema?db_name=stock`) },
};
