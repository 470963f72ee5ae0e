import type { Fields } from "./manifest.ts";

const inTurns = { name: "shop-db", database: "shop", roles: ["app_a", "app_b"] };

/** Rules about roles and rotation of a connection Secret: what is refused, the message, and what passes. */
export const rotationRows: readonly (readonly [string, Fields, string, Fields])[] = [
  [
    "connectionSecret takes role or roles",
    { connectionSecret: { ...inTurns, role: "app_a" } },
    "connectionSecret takes role or roles, not both",
    { connectionSecret: inTurns },
  ],
  [
    "roles stand in place of role, with a database",
    { connectionSecret: { name: "shop-db", roles: ["app_a", "app_b"] } },
    "connectionSecret takes database and role together, or neither",
    { connectionSecret: inTurns },
  ],
  [
    "roles are two different ones",
    { connectionSecret: { ...inTurns, roles: ["app_a", "app_a"] } },
    "connectionSecret.roles takes two different roles",
    { connectionSecret: inTurns },
  ],
  [
    "rotation needs a role",
    { connectionSecret: { name: "shop-db", rotation: { every: "720h" } } },
    "connectionSecret.rotation needs connectionSecret.database and a role",
    { connectionSecret: { name: "shop-db", database: "shop", role: "app", rotation: { every: "720h" } } },
  ],
  [
    "rotation is at least hourly",
    { connectionSecret: { ...inTurns, rotation: { every: "59m" } } },
    "connectionSecret.rotation.every must be between 1h and 365d",
    { connectionSecret: { ...inTurns, rotation: { every: "1h" } } },
  ],
  [
    "rotation is at most yearly",
    { connectionSecret: { ...inTurns, rotation: { every: "8761h" } } },
    "connectionSecret.rotation.every must be between 1h and 365d",
    { connectionSecret: { ...inTurns, rotation: { every: "8760h" } } },
  ],
  [
    "roles are of a primary",
    { type: "read_only", connectionSecret: inTurns },
    "connectionSecret.roles and connectionSecret.rotation need type: read_write",
    { type: "read_write", connectionSecret: inTurns },
  ],
  [
    "rotation is of a primary",
    {
      type: "read_only",
      connectionSecret: { name: "shop-db", database: "shop", role: "app", rotation: { every: "720h" } },
    },
    "connectionSecret.roles and connectionSecret.rotation need type: read_write",
    { type: "read_only", connectionSecret: { name: "shop-db", database: "shop", role: "app" } },
  ],
];
