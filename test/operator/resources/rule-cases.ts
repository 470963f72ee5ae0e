import { after, type Fields, type Kind, template, units } from "./manifest.ts";
import { observeBranchRows, observeRows } from "./observe-rows.ts";
import { printableBranchRows, printableRows } from "./printable-rows.ts";
import { rotationRows } from "./rotation-rows.ts";
import type { RuleCase } from "./rule-case.ts";
import { scheduleCelCases, spanCases } from "./schedule-rows.ts";
import { secretRows } from "./secret-rows.ts";

const sizes = /supported values: "0.25", "0.5", "1", .*"16", "18", .*"56"/;

function templated(value: unknown): Fields {
  return { connectionSecret: { name: "shop-db", template: { data: { key: value } } } };
}

function numbered(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, "{host}"]));
}

function cases(kind: Kind, rows: readonly (readonly [string, Fields, string | RegExp, Fields])[]): RuleCase[] {
  return rows.map(([rule, refused, message, passes]) => ({ kind, rule, refused, message, passes }));
}

/** Rules about one field, in the words of OpenAPI. */
export const fieldCases: readonly RuleCase[] = [
  ...cases("Compute", [
    ["projectID is required", { projectID: undefined }, "spec.projectID: Required value", {}],
    [
      "projectID is an id",
      { projectID: "Shiny_Wind" },
      "should match '^[a-z0-9-]{1,60}$'",
      { projectID: "a".repeat(60) },
    ],
    [
      "branchID is an id",
      { branchID: "br-".padEnd(61, "a") },
      "may not be more than 60",
      { branchID: "br-".padEnd(60, "a") },
    ],
    ["17 CU is no size", units(17, 17), sizes, units(16, 16)],
    ["57 CU is no size", units(57, 57), sizes, units(56, 56)],
    ["0.75 CU is no size", units(0.75, 1), sizes, units(0.5, 1)],
    ["19 CU is no size", units(19, 19), sizes, units(18, 18)],
    ["a size is a number", units("2", 2), "must be of type number", units(2, 2)],
    ["a size has both ends", { computeUnits: { min: 1 } }, "spec.computeUnits.max: Required value", units(1, 1)],
    ["after is no number", after(300), "must be of type string", after("300s")],
    ["type is one of two", { type: "primary" }, 'supported values: "read_write", "read_only"', { type: "read_only" }],
    [
      "branchPrimary is true or absent",
      { adopt: { branchPrimary: false } },
      'supported values: "true"',
      { adopt: { branchPrimary: true } },
    ],
    [
      "an endpoint id starts with ep-",
      { adopt: { endpointID: "br-a" } },
      "should match '^ep-",
      { adopt: { endpointID: "ep-cool-term-123456" } },
    ],
    [
      "deletionPolicy is one of two",
      { deletionPolicy: "Keep" },
      'supported values: "Delete", "Retain"',
      { deletionPolicy: "Retain" },
    ],
    [
      "driftPolicy is one of two",
      { driftPolicy: "Ignore" },
      'supported values: "Correct", "Report"',
      { driftPolicy: "Report" },
    ],
    [
      "Postgres settings are strings",
      { postgresSettings: { max_wal_size: 4 } },
      "must be of type string",
      { postgresSettings: { max_wal_size: "4GB" } },
    ],
    [
      "a connection Secret has a name that a Secret can have",
      { connectionSecret: { name: "Shop DB" } },
      "should match",
      { connectionSecret: { name: "shop-db" } },
    ],
    [
      "a connection Secret's namespace has a name that a namespace can have",
      { connectionSecret: { name: "shop-db", namespace: "apps.example" } },
      "should match",
      { connectionSecret: { name: "shop-db", namespace: "apps" } },
    ],
    ["a template knows no other placeholder", templated("{user}"), "should match", templated("{host}")],
    ["a template has no other brace", templated("{{host}}"), "should match", templated("[{host}]")],
    ["a placeholder is closed", templated("{host"), "should match", templated("{pooled-host}")],
    ["a placeholder is opened", templated("host}"), "should match", templated("{port}")],
    ["a template has no format of its own", templated("{host:upper}"), "should match", templated("")],
    ["a template's value is a string", templated(5432), "must be of type string", templated("5432")],
    [
      "a template's value has at most 1,024 characters",
      templated("a".repeat(1025)),
      "1024",
      templated("a".repeat(1024)),
    ],
    [
      "a template has at most 20 keys",
      { connectionSecret: { name: "shop-db", template: { data: numbered(21) } } },
      "must have at most 20",
      { connectionSecret: { name: "shop-db", template: { data: numbered(20) } } },
    ],
    [
      "a label's value is one",
      { connectionSecret: { name: "shop-db", template: { labels: { team: "the shop" } } } },
      "should match",
      { connectionSecret: { name: "shop-db", template: { labels: { team: "the-shop" } } } },
    ],
  ]),
  ...spanCases,
  ...cases("ServiceConnection", [
    [
      "the Secret of the key is named",
      { apiKeySecretRef: undefined },
      "spec.apiKeySecretRef: Required value",
      { apiKeySecretRef: { name: "service", key: "token" } },
    ],
    [
      "a budget is at least one request",
      { requestBudget: { perMinute: 0 } },
      "should be greater than or equal to 1",
      { requestBudget: { perMinute: 1 } },
    ],
    [
      "allowed projects are ids",
      { allowedProjects: ["*"] },
      "should match '^[a-z0-9-]{1,60}$'",
      { allowedProjects: ["shiny-wind-028834"] },
    ],
  ]),
  ...cases("ComputePool", [
    ["replicas are counted from zero", { replicas: -1 }, "should be greater than or equal to 0", { replicas: 0 }],
    ["replicas have a bound", { replicas: 1001 }, "should be less than or equal to 1000", { replicas: 1000 }],
  ]),
];

const sizesInWords = "0.25, 0.5, 1 to 16, and the even numbers from 18 to 56";
const inPEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const fixedAbove16 = "autoscaling ends at 16 CU: above it computeUnits.min must equal computeUnits.max (a fixed size)";
const aURL =
  "baseURL must be an https or http URL without user, query and fragment, for example https://console.example.com/api/v2";
const oneBranch = "set exactly one of branchID, branchName and branchRef";
const byName = { branchID: undefined, branchName: "main" };
const adoptsOne = "adopt takes exactly one of endpointID, branchPrimary and former";

/** Rules across fields, in CEL; commands that have no API server answer with the very same message. */
export const celCases: readonly RuleCase[] = [
  ...cases("Compute", [
    ["3.5 CU is no size", units(3.5, 4), `computeUnits.min must be one of ${sizesInWords}`, units(3, 4)],
    ["15.999 CU is no size", units(2, 15.999), `computeUnits.max must be one of ${sizesInWords}`, units(2, 16)],
    ["min ≤ max", units(4, 2), "computeUnits.min must not be greater than computeUnits.max", units(2, 4)],
    ["no autoscaling up to 18 CU", units(16, 18), fixedAbove16, units(0.25, 16)],
    ["no autoscaling up to 56 CU", units(0.25, 56), fixedAbove16, units(56, 56)],
    ...["5x", "", "5", "-5m", "1.5h", "5m ", "five", `${"9".repeat(15)}s`].map(
      (text): [string, Fields, RegExp, Fields] => [
        `after is no ${JSON.stringify(text)}`,
        after(text),
        /^[^\n]*scaleToZero.after must be between 1m and 7d, in the units s, m, h and d, for example 1h30m or 1d$/,
        after("1h30m"),
      ],
    ),
    ["after may be given in days, also with hours", after("6d24h1s"), "must be between 1m and 7d", after("6d24h")],
    ["after is at least a minute", after("59s"), "scaleToZero.after must be between 1m and 7d", after("60s")],
    ["after is at most seven days", after("168h1s"), "scaleToZero.after must be between 1m and 7d", after("168h")],
    [
      "after needs scale to zero",
      after("5m", false),
      "scaleToZero.after needs scaleToZero.enabled: true",
      { scaleToZero: { enabled: false } },
    ],
    ["a branch is given once, not by id and name", { branchName: "main" }, oneBranch, byName],
    ["a branch is given", { branchID: undefined }, oneBranch, byName],
    [
      "adopt names one thing, not two",
      { adopt: { endpointID: "ep-a", branchPrimary: true } },
      adoptsOne,
      { adopt: { endpointID: "ep-a" } },
    ],
    [
      "adopt names one thing, not a former Compute's and a primary",
      { adopt: { former: true, branchPrimary: true } },
      adoptsOne,
      { adopt: { former: true } },
    ],
    [
      "a branch's id begins with br-",
      { branchID: "main" },
      "an id begins with br-; for a name use branchName",
      { branchID: "br-main" },
    ],
    ...printableRows,
    [
      "a template has no variable of a shell",
      templated("${host}"),
      "a placeholder of template.data is written {uri}, not ${uri}: remove the $",
      templated("$ {host}$"),
    ],
    ["adopt names one thing, not none", { adopt: {} }, adoptsOne, { adopt: { branchPrimary: true } }],
    [
      "a read replica takes over no primary",
      { type: "read_only", adopt: { branchPrimary: true } },
      "adopt.branchPrimary needs type: read_write: a read_only compute is never a branch's primary",
      { type: "read_only", adopt: { endpointID: "ep-a" } },
    ],
    ...observeRows,
    ...secretRows,
    ...rotationRows,
    [
      "a template's {uri} needs database and role",
      templated("{uri}"),
      "{uri} and {pooled-uri} in template.data need connectionSecret.database and connectionSecret.role",
      { connectionSecret: { name: "shop-db", database: "shop", role: "app", template: { data: { key: "{uri}" } } } },
    ],
    [
      "a template replaces none of the operator's keys",
      { connectionSecret: { name: "shop-db", template: { data: { host: "{pooled-host}" } } } },
      "template.data adds keys to those that the operator writes: choose others than type, host, ",
      { connectionSecret: { name: "shop-db", template: { data: { HOST: "{pooled-host}" } } } },
    ],
    [
      "a label has a name that Kubernetes takes",
      { connectionSecret: { name: "shop-db", template: { labels: { "a team": "shop" } } } },
      "each key of template.labels is a name as Kubernetes takes it, for example team or example.com/team",
      { connectionSecret: { name: "shop-db", template: { labels: { "example.com/team": "shop" } } } },
    ],
    [
      "a label is none of the operator's",
      { connectionSecret: { name: "shop-db", template: { labels: { "compute-operator.dev/compute": "x" } } } },
      "template.labels must not name compute-operator.dev/… or app.kubernetes.io/managed-by, which the operator sets",
      { connectionSecret: { name: "shop-db", template: { labels: { "app.kubernetes.io/part-of": "x" } } } },
    ],
    [
      "an annotation is none of the operator's",
      { connectionSecret: { name: "shop-db", template: { annotations: { "compute-operator.dev/built-from": "x" } } } },
      "template.annotations must not name compute-operator.dev/…",
      { connectionSecret: { name: "shop-db", template: { annotations: { "example.com/reload": "the shop" } } } },
    ],
  ]),
  ...cases("ServiceConnection", [
    ["a base URL has a scheme", { baseURL: "console.example.com" }, aURL, { baseURL: "http://[::1]:8090/api/v2" }],
    [
      "a base URL carries no credentials",
      { baseURL: "https://user:word@example.com/api/v2" },
      aURL,
      { baseURL: "https://example.com/api/v2" },
    ],
    [
      "a base URL names the version of the API",
      { baseURL: "https://console.example.com" },
      "baseURL must end in /api/v2, for example https://console.example.com/api/v2",
      { baseURL: "https://console.example.com/api/v2/" },
    ],
    [
      "a base URL ends with the version of the API",
      { baseURL: "https://console.example.com/api/v2/projects" },
      "baseURL must end in /api/v2, for example https://console.example.com/api/v2",
      { baseURL: "https://console.example.com/gateway/api/v2" },
    ],
    [
      "a CA bundle is in PEM",
      { caBundle: "AAAA" },
      "caBundle must hold certificates in PEM form (-----BEGIN CERTIFICATE-----)",
      { caBundle: inPEM },
    ],
    [
      "a refresh takes at least five seconds",
      { refreshInterval: "4s" },
      "refreshInterval must be between 5s and 24h",
      { refreshInterval: "5s" },
    ],
  ]),
  ...cases("ComputePool", [
    ["a branch is given once in a template", template({ branchName: "main" }), oneBranch, template({})],
    ["a template gives a branch", template({ branchID: undefined }), oneBranch, template(byName)],
    [
      "a template obeys the rules of a Compute",
      template(units(4, 2)),
      "computeUnits.min must not be greater than computeUnits.max",
      template(units(2, 4)),
    ],
  ]),
  ...cases("Branch", [...printableBranchRows, ...observeBranchRows]),
  ...scheduleCelCases,
];
