import type { Fields } from "./manifest.ts";

/** Rules about the login and the place of a connection Secret, for `rule-cases.ts`. */
export const secretRows: readonly [string, Fields, string, Fields][] = [
  [
    "a connection Secret names database and role, or neither",
    { connectionSecret: { name: "shop-db", database: "shop" } },
    "connectionSecret takes database and role together, or neither",
    { connectionSecret: { name: "shop-db", database: "shop", role: "app" } },
  ],
  [
    "a template has no annotations for another namespace",
    {
      connectionSecret: {
        name: "shop-db",
        namespace: "apps",
        template: { annotations: { "example.com/team": "x" } },
      },
    },
    "connectionSecret.namespace excludes template.labels and template.annotations",
    { connectionSecret: { name: "shop-db", namespace: "apps", template: { data: { HOST: "{host}" } } } },
  ],
  [
    "a template has no labels for another namespace",
    { connectionSecret: { name: "shop-db", namespace: "apps", template: { labels: { team: "x" } } } },
    "connectionSecret.namespace excludes template.labels and template.annotations",
    { connectionSecret: { name: "shop-db", template: { labels: { team: "x" } } } },
  ],
  [
    "a template's key is one of a Secret",
    { connectionSecret: { name: "shop-db", template: { data: { "DATABASE URL": "{host}" } } } },
    "each key of template.data has 1 to 253 of a-z, A-Z, 0-9, -, _ and .",
    { connectionSecret: { name: "shop-db", template: { data: { "DATABASE_URL.a-b": "{host}" } } } },
  ],
];
