import { createHash } from "node:crypto";
import { parseArgs } from "node:util";
import { publicServicePattern } from "./connection/base-url.ts";
import { labelSelector } from "./resources/selector.ts";

export const runUsage = `Usage: compute-operator run [flags]

Keeps the computes of the service as the Compute manifests of the cluster declare them.

  --kubeconfig FILE            how to reach the cluster (default: the pod's service account, else KUBECONFIG,
                               else ~/.kube/config)
  --namespace NAME             watch this namespace only; repeatable (default: all)
  --selector SELECTOR          reconcile only Computes with these labels, e.g. team=a or team in (a,b)
  --leader-elect               run only while holding a lease (default in a cluster)
  --no-leader-elect            run without a lease
  --lease-name NAME            name of the lease (default: compute-operator, with a hash of selector and namespaces)
  --lease-namespace NAME       namespace of the lease (default: the pod's, else default)
  --http-port N                port of /healthz, /readyz and /metrics, 0 for none (default 8080)
  --workers N                  objects reconciled at the same time (default 16)
  --log-level LEVEL            debug, info, warn, error or silent (default info)
  --allowed-base-url PATTERN   base URLs that connections may name; * stands for any run of characters but /;
                               repeatable (default ${publicServicePattern})
  --create-settle DURATION     how long after a create of unknown outcome another may be sent (default 60s)
  --max-deletes-per-minute N   most deletions at the service per minute (default 60)
  --budget-share SHARE         share of each request budget for this process, above 0 to 1 (default 1)
  --help                       show this`;

/** The flags are not right; the message says which, and what is allowed. */
export class BadFlag extends Error {
  override name = "BadFlag";
}

const levels = ["debug", "info", "warn", "error", "silent"] as const;

export type RunFlags = ReturnType<typeof parseRunFlags>;

export function parseRunFlags(args: readonly string[]) {
  const values = parsed(args);
  const namespaces = [...new Set(values.namespace ?? [])].toSorted();
  for (const namespace of namespaces) named("--namespace", namespace, "a namespace");
  named("--lease-name", values["lease-name"], "a Lease");
  named("--lease-namespace", values["lease-namespace"], "a namespace");
  for (const pattern of values["allowed-base-url"] ?? []) baseURL("--allowed-base-url", pattern);
  const selector = values.selector ?? "";
  if (values["leader-elect"] === true && values["no-leader-elect"] === true) {
    throw new BadFlag("--leader-elect and --no-leader-elect exclude each other");
  }
  return {
    help: values.help === true,
    kubeconfig: values.kubeconfig,
    namespaces,
    selects: selects(selector),
    leaderElect: values["no-leader-elect"] === true ? false : values["leader-elect"],
    /** Whether a lease was asked for by name. */
    namesLease: values["lease-name"] !== undefined || values["lease-namespace"] !== undefined,
    leaseName: values["lease-name"] ?? leaseNameFor(selector, namespaces),
    leaseNamespace: values["lease-namespace"],
    httpPort: whole("--http-port", values["http-port"] ?? "8080", 0, 65_535),
    workers: whole("--workers", values.workers ?? "16", 1, 1000),
    logLevel: oneOf("--log-level", values["log-level"] ?? "info", levels),
    allowedBaseURLs: values["allowed-base-url"] ?? [publicServicePattern],
    createSettleMs: duration("--create-settle", values["create-settle"] ?? "60s"),
    maxDeletesPerMinute: whole("--max-deletes-per-minute", values["max-deletes-per-minute"] ?? "60", 1, 1_000_000),
    budgetShare: share("--budget-share", values["budget-share"] ?? "1"),
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      strict: true,
      allowPositionals: false,
      options: {
        kubeconfig: { type: "string" },
        namespace: { type: "string", multiple: true },
        selector: { type: "string" },
        "leader-elect": { type: "boolean" },
        "no-leader-elect": { type: "boolean" },
        "lease-name": { type: "string" },
        "lease-namespace": { type: "string" },
        "http-port": { type: "string" },
        workers: { type: "string" },
        "log-level": { type: "string" },
        "allowed-base-url": { type: "string", multiple: true },
        "create-settle": { type: "string" },
        "max-deletes-per-minute": { type: "string" },
        "budget-share": { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    }).values;
  } catch (error) {
    throw new BadFlag(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** One lease per shard: two that share one would leave one of them idle for ever. */
function leaseNameFor(selector: string, namespaces: readonly string[]): string {
  if (selector === "" && namespaces.length === 0) return "compute-operator";
  const hash = createHash("sha256")
    .update(JSON.stringify([selector, namespaces]))
    .digest("hex")
    .slice(0, 8);
  return `compute-operator-${hash}`;
}

function selects(selector: string): ReturnType<typeof labelSelector> {
  try {
    return labelSelector(selector);
  } catch (error) {
    throw new BadFlag(`--selector: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function named(flag: string, value: string | undefined, what: string): void {
  if (value === undefined || (value.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(value))) return;
  throw new BadFlag(`${flag} must be the name of ${what} (a-z, 0-9 and -, 63 at most), not ${JSON.stringify(value)}`);
}

function baseURL(flag: string, pattern: string): void {
  if (/^https?:\/\/[^\s/]+/.test(pattern)) return;
  throw new BadFlag(
    `${flag} must begin with https:// or http://, for example ${publicServicePattern}, not ${JSON.stringify(pattern)}`,
  );
}

function whole(flag: string, value: string, least: number, most: number): number {
  const number = Number(value);
  if (/^[0-9]{1,9}$/.test(value) && number >= least && number <= most) return number;
  throw new BadFlag(`${flag} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}`);
}

function share(flag: string, value: string): number {
  const number = Number(value);
  if (value.trim() !== "" && number > 0 && number <= 1) return number;
  throw new BadFlag(`${flag} must be a number above 0 up to 1, not ${JSON.stringify(value)}`);
}

/** Milliseconds of a duration such as `90s`, `1m30s` or `1m500ms`, from a second to a day. Throws `BadFlag`. */
export function duration(flag: string, value: string): number {
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  if (!/^([0-9]{1,9}(ms|s|m|h))+$/.test(value)) {
    throw new BadFlag(`${flag} must be a duration such as 60s or 1m30s, not ${JSON.stringify(value)}`);
  }
  const parts = [...value.matchAll(/([0-9]+)(ms|s|m|h)/g)];
  const ms = parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (units[unit] ?? 0), 0);
  // Without any wait a second endpoint would be made after each lost reply; and no timer runs for longer than 24 days.
  if (ms >= 1000 && ms <= 24 * 3_600_000) return ms;
  throw new BadFlag(`${flag} must be from 1s to 24h, not ${JSON.stringify(value)}`);
}

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined)
    throw new BadFlag(`${flag} must be one of ${allowed.join(", ")}, not ${JSON.stringify(value)}`);
  return found;
}
