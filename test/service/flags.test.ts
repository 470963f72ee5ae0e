import { expect, it } from "vitest";
import { BadFlag } from "../../src/command-line.ts";
import { parseServiceFlags } from "../../src/service/flags.ts";

const defaults = {
  port: 8090,
  host: "127.0.0.1",
  data: ":memory:",
  timeScale: 1,
  rules: "specification",
  faults: false,
  rateLimits: true,
  projectLock: true,
  branchRecovery: false,
  testControls: false,
  behindProxy: false,
  postgres: false,
  postgresPort: 5432,
  temporaryDiskScale: 1,
  apiTls: false,
  strictSpec: false,
};

it("a service without flags is on port 8090 of this machine, in memory, by the specification, and serves nothing more", () => {
  expect(parseServiceFlags([])).toEqual(defaults);
});

it.each<[args: string, differs: object]>([
  ["--port=0 --host=::1 --data=service.db", { port: 0, host: "::1", data: "service.db" }],
  ["--seed=seed.yaml --ready-file=ready", { seed: "seed.yaml", readyFile: "ready" }],
  ["--time-scale=0.5", { timeScale: 0.5 }],
  ["--rules=neon", { rules: "neon" }],
  ["--faults", { faults: true }],
  ["--no-rate-limits", { rateLimits: false }],
  ["--no-project-lock", { projectLock: false }],
  ["--branch-recovery", { branchRecovery: true }],
  ["--test-controls", { testControls: true }],
  ["--behind-proxy", { behindProxy: true }],
  ["--strict-spec", { strictSpec: true }],
  ["--domain=db.example.com --api-tls --data=s.db", { domain: "db.example.com", apiTls: true, data: "s.db" }],
  ["--domain=db.example.com --api-tls --postgres", { domain: "db.example.com", apiTls: true, postgres: true }],
  ["--postgres --postgres-port=0", { postgres: true, postgresPort: 0 }],
  ["--postgres --postgres-bin=/opt/*/bin", { postgres: true, postgresBin: "/opt/*/bin" }],
  ["--postgres --postgres-user=pg", { postgres: true, postgresUser: "pg" }],
  ["--postgres --postgres-advertise=db.test:5433", { postgres: true, postgresAdvertise: "db.test:5433" }],
  ["--postgres --temporary-disk-scale=1e-3", { postgres: true, temporaryDiskScale: 0.001 }],
])("the flags %s set what they name, and nothing else", (args, differs) => {
  expect(parseServiceFlags(args.split(" "))).toEqual({ ...defaults, ...differs });
});

it.each(["db.example.com:5432", "localhost:1", "localhost:65535", "192.0.2.7:5432", "[::1]:5432"])(
  "an address that clients are told can be %s",
  (address) => {
    expect(parseServiceFlags(["--postgres", "--postgres-advertise", address]).postgresAdvertise).toBe(address);
  },
);

it.each([
  "",
  "db.example.com",
  "db.example.com:",
  ":5432",
  "localhost:0",
  "localhost:65536",
  "localhost:054321",
  "localhost:5432/",
  "a b:5432",
  "a/b:5432",
  "a?b:5432",
  "a#b:5432",
  "user@host:5432",
  "::1:5432",
  "http://host:5432",
])("an address that clients are told cannot be %j", (address) => {
  const parse = () => parseServiceFlags(["--postgres", "--postgres-advertise", address]);
  expect(parse).toThrow(BadFlag);
  expect(parse).toThrow(
    `--postgres-advertise must be an address such as db.example.com:5432, not ${JSON.stringify(address)}`,
  );
});

/** A domain of so many letters. */
const long = (length: number) => ["a".repeat(60), "b".repeat(60), "c".repeat(length - 122)].join(".");

it.each(["a", "db.example.com", "x-1.test", long(180)])("a domain can be %s", (domain) => {
  expect(parseServiceFlags(["--domain", domain]).domain).toBe(domain);
});

it("an address to listen on cannot be empty, as of a variable that is not set: it would be every one of the machine", () => {
  for (const args of [["--host", ""], ["--host="]])
    expect(() => parseServiceFlags(args)).toThrow('--host must be an address such as 127.0.0.1, not ""');
});

it("a flag of real servers needs them, also beside a domain", () => {
  const parse = () => parseServiceFlags(["--domain=db.test", "--postgres-port=1"]);
  expect(parse).toThrow("--postgres-port needs --postgres");
});

it.each(["--test-controls", "--faults"])("%s cannot be given where no caller counts as one of this machine", (flag) => {
  expect(() => parseServiceFlags(["--behind-proxy", flag])).toThrow("--behind-proxy serves no call of this machine");
});

it.each(["", ".", "a.", ".a", "a..b", "a-.test", "A.test", "a_b.test", `${"a".repeat(64)}.test`, long(181)])(
  "a domain cannot be %j",
  (domain) => {
    expect(() => parseServiceFlags(["--domain", domain])).toThrow("--domain must be a domain in lower case");
  },
);

it.each(["0", "-1", "", " ", "x", "Infinity", "1e309", "NaN"])("a time scale cannot be %j", (value) => {
  expect(() => parseServiceFlags([`--time-scale=${value}`])).toThrow("--time-scale must be a number greater than 0");
});
