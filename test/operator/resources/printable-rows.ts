import type { Fields } from "./manifest.ts";

/** Names and texts with control characters: the rule, what is refused, with which words, and what passes. */
export const printableRows: readonly (readonly [string, Fields, string, Fields])[] = [
  [
    "a value of postgresSettings has no line break",
    { postgresSettings: { max_wal_size: "4GB\nport = 1" } },
    "names and values must not hold control characters",
    { postgresSettings: { max_wal_size: "4GB" } },
  ],
  [
    "a name of postgresSettings has no tab",
    { postgresSettings: { "max_\twal_size": "4GB" } },
    "names and values must not hold control characters",
    { postgresSettings: { max_wal_size: "" } },
  ],
  [
    "a branch's name has no control character",
    { branchID: undefined, branchName: "main\n" },
    "must not hold control characters, such as tabs and line breaks",
    { branchID: undefined, branchName: "m\u00e4in branch" },
  ],
  [
    "a database's name has no line break",
    { connectionSecret: { name: "shop-db", database: "shop\n", role: "app" } },
    "must not hold control characters, such as tabs and line breaks",
    { connectionSecret: { name: "shop-db", database: "my shop", role: "app" } },
  ],
  [
    "a role's name has no control character",
    { connectionSecret: { name: "shop-db", database: "shop", role: "a\tpp" } },
    "must not hold control characters, such as tabs and line breaks",
    { connectionSecret: { name: "shop-db", database: "shop", role: "app" } },
  ],
];

/** The same of a Branch. */
export const printableBranchRows: typeof printableRows = [
  [
    "the name that a Branch gives its branch has no line break",
    { branchName: "pr-1\n" },
    "must not hold control characters, such as tabs and line breaks",
    { branchName: "Zweig \u00fc 1" },
  ],
  [
    "the name of a Branch's parent has no control character",
    { parent: { branchName: "ma\u0007in" } },
    "must not hold control characters, such as tabs and line breaks",
    { parent: { branchName: "main" } },
  ],
];
