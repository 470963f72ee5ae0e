import { describe, expect, test } from "vitest";
import { BadFlag } from "../../src/command-line.ts";
import { parseRunFlags, runSyntax } from "../../src/operator/flags.ts";

function problem(...args: string[]): string {
  try {
    parseRunFlags(args);
  } catch (error) {
    if (error instanceof BadFlag) return error.message;
    throw error;
  }
  throw new Error("the flags were taken");
}

test("without flags all has its documented default", () => {
  const { selects, ...flags } = parseRunFlags([]);
  expect(selects({})).toBe(true);
  expect(flags).toEqual({
    kubeconfig: undefined,
    namespaces: [],
    leaderElect: undefined,
    namesLease: false,
    leaseName: "compute-operator",
    leaseNamespace: undefined,
    httpPort: 8080,
    workers: 16,
    logLevel: "info",
    allowedBaseURLs: ["https://console.neon.tech/api/v2"],
    createSettleMs: 60_000,
    maxDeletesPerMinute: 60,
    maxBranchDeletesPerMinute: 5,
    metricsNamespaces: 20,
    budgetShare: 1,
  });
});

test("every flag is in the usage, and is taken", () => {
  const line =
    "--kubeconfig file --namespace b --namespace=a --namespace b --selector team=a --leader-elect --lease-name l " +
    "--lease-namespace n --http-port 0 --workers 1 --log-level silent --allowed-base-url https://a/api/v2 " +
    "--allowed-base-url https://b/api/v2 --create-settle 1m30s --max-deletes-per-minute 1 --budget-share 0.25 " +
    "--metrics-namespaces shop,stock,shop --max-branch-deletes-per-minute 1";
  const flags = parseRunFlags(line.split(" "));
  const { selects, ...rest } = flags;
  expect([selects({ team: "a" }), selects({ team: "b" })]).toEqual([true, false]);
  expect(rest).toEqual({
    kubeconfig: "file",
    namespaces: ["a", "b"],
    leaderElect: true,
    namesLease: true,
    leaseName: "l",
    leaseNamespace: "n",
    httpPort: 0,
    workers: 1,
    logLevel: "silent",
    allowedBaseURLs: ["https://a/api/v2", "https://b/api/v2"],
    createSettleMs: 90_000,
    maxDeletesPerMinute: 1,
    maxBranchDeletesPerMinute: 1,
    metricsNamespaces: ["shop", "stock"],
    budgetShare: 0.25,
  });
  const named = [
    "kubeconfig",
    "namespace",
    "selector",
    "leader-elect",
    "no-leader-elect",
    "lease-name",
    "lease-namespace",
  ];
  named.push(
    "http-port",
    "workers",
    "log-level",
    "allowed-base-url",
    "create-settle",
    "max-deletes-per-minute",
    "max-branch-deletes-per-minute",
    "budget-share",
    "metrics-namespaces",
  );
  for (const name of named) expect(runSyntax.helpInformation()).toContain(`--${name} `);
  expect(parseRunFlags(["--no-leader-elect"]).leaderElect).toBe(false);
});

test("metrics name at most 500 namespaces, with or without spaces between", () => {
  const named = (count: number) =>
    parseRunFlags(["--metrics-namespaces", Array.from({ length: count }, (_, n) => `team-${n}`).join(", ")])
      .metricsNamespaces;
  expect(named(500)).toHaveLength(500);
  expect(named(2)).toEqual(["team-0", "team-1"]);
  expect(() => named(501)).toThrow("--metrics-namespaces takes at most 500 names, not 501");
});

describe("a lease is one shard's", () => {
  const nameOf = (...args: string[]) => parseRunFlags(args).leaseName;

  test("by selector and namespaces, whose order does not matter", () => {
    const names = [
      nameOf(),
      nameOf("--selector", "a=b"),
      nameOf("--selector", "a=c"),
      nameOf("--namespace", "x"),
      nameOf("--namespace", "y"),
      nameOf("--namespace", "x", "--selector", "a=b"),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(names[1]).toMatch(/^compute-operator-[0-9a-f]{8}$/);
    expect(nameOf("--namespace", "x", "--namespace", "y")).toBe(nameOf("--namespace", "y", "--namespace", "x"));
  });
});

describe("a bad flag is reported with what is allowed:", () => {
  test.each<[string, string[], RegExp]>([
    ["unknown", ["--frobnicate"], /--frobnicate/],
    ["no flag at all", ["something"], /something/],
    ["without its value", ["--kubeconfig"], /--kubeconfig/],
    ["both ways", ["--leader-elect", "--no-leader-elect"], /exclude each other/],
    ["port", ["--http-port", "http"], /--http-port must be a whole number from 0 to 65535, not "http"/],
    ["port too large", ["--http-port", "65536"], /0 to 65535/],
    ["no workers", ["--workers", "0"], /--workers must be a whole number from 1 to 1000, not "0"/],
    ["half a worker", ["--workers", "1.5"], /1 to 1000/],
    ["workers in hex", ["--workers", "0x10"], /1 to 1000/],
    ["level", ["--log-level", "loud"], /--log-level must be one of debug, info, warn, error, silent, not "loud"/],
    [
      "duration without a unit",
      ["--create-settle", "60"],
      /--create-settle must be between 1s and 24h, in the units s, m, h and d, for example 1h30m or 1d, not "60"/,
    ],
    ["duration that is none", ["--create-settle", "0s"], /--create-settle must be between 1s and 24h, .*, not "0s"/],
    ["duration beyond any timer", ["--create-settle", "600h"], /must be between 1s and 24h/],
    ["duration below zero", ["--create-settle=-5s"], /between 1s and 24h/],
    ["duration in milliseconds, which no manifest takes", ["--create-settle", "60s500ms"], /between 1s and 24h/],
    ["duration in fractions", ["--create-settle", "1.5m"], /between 1s and 24h/],
    ["too many namespaces", ["--metrics-namespaces", "501"], /from 0 to 500/],
    ["a namespace that is none", ["--metrics-namespaces", "shop,Stock"], /the name of a namespace/],
    ["no deletes", ["--max-deletes-per-minute", "0"], /from 1 to 1000000/],
    ["share of nothing", ["--budget-share", "0"], /--budget-share must be a number above 0 up to 1, not "0"/],
    ["share of more than all", ["--budget-share", "1.01"], /above 0 up to 1/],
    ["share in words", ["--budget-share", "half"], /above 0 up to 1/],
    ["empty share", ["--budget-share", " "], /above 0 up to 1/],
    ["selector", ["--selector", "team in"], /--selector: "team in" is no label selector: write a=b/],
    ["namespace", ["--namespace", "Team_A"], /--namespace must be the name of a namespace .*"Team_A"/],
    ["empty namespace", ["--namespace", ""], /--namespace must be/],
    ["lease", ["--lease-name", "My Lease"], /--lease-name must be/],
    ["lease namespace", ["--lease-namespace", "-"], /--lease-namespace must be/],
    [
      "base URL",
      ["--allowed-base-url", "console.example.com"],
      /--allowed-base-url must begin with https:\/\/ or http:\/\/ and end in \/api\/v2, .*"console.example.com"/,
    ],
    ...[
      "http://127.0.0.1:*",
      "https://*",
      "https://a/",
      "https://a/api",
      "https://a/api/v1",
      "https://a/*",
      "https://a/api/v2/b",
    ].map((pattern): [string, string[], RegExp] => [
      `pattern that no base URL matches: ${pattern}`,
      ["--allowed-base-url", pattern],
      /--allowed-base-url must begin with https:\/\/ or http:\/\/ and end in \/api\/v2/,
    ]),
  ])("%s", (_, args, message) => {
    expect(problem(...args)).toMatch(message);
  });
});

test.each(["http://127.0.0.1:*/api/v2", "https://*.example.com/neon/api/v2/", "https://a/*/v2", "https://a/b/*/v*"])(
  "the pattern %s of base URLs is taken",
  (pattern) => {
    expect(parseRunFlags(["--allowed-base-url", pattern]).allowedBaseURLs).toEqual([pattern]);
  },
);
