import type { Fields } from "./manifest.ts";

/** Rules about `managementPolicy`, for `rule-cases.ts`. */
export const observeRows: readonly [string, Fields, string | RegExp, Fields][] = [
  [
    "managementPolicy is one of two",
    { managementPolicy: "Ignore" },
    /"Manage"(, |\|)"Observe"/,
    { managementPolicy: "Observe" },
  ],
  [
    "an observed Compute writes its Secret in its own namespace",
    { managementPolicy: "Observe", connectionSecret: { name: "shop-db", namespace: "web" } },
    "connectionSecret.namespace needs managementPolicy: Manage",
    { managementPolicy: "Observe", connectionSecret: { name: "shop-db" } },
  ],
];

export const observeBranchRows: readonly [string, Fields, string | RegExp, Fields][] = [
  [
    "an observed Branch is named by adopt",
    { managementPolicy: "Observe" },
    "managementPolicy: Observe needs adopt, which names the branch to show",
    { managementPolicy: "Observe", adopt: { byName: true }, expiry: { never: true } },
  ],
];
