import { z } from "zod";
import { BadFlag, flag, newCommand, type Parse, parsed, repeatable, whole } from "../command-line.ts";
import { publicServicePattern } from "./connection/read-account.ts";
import { allowedDuration, secondsOf } from "./resources/duration.ts";
import { INSTALL_NAMESPACE } from "./resources/names.ts";
import { labelSelector } from "./resources/selector.ts";
import { digest } from "./resources/signature.ts";
import { messageOf } from "./runtime/operational-error.ts";

const levels = ["debug", "info", "warn", "error", "silent"] as const;

export const defaultCreateSettleMs = 60_000;

export const createSettle = flag(
  "--create-settle <DURATION>",
  "how long after a create of unknown outcome another may be sent",
  duration(),
).default(defaultCreateSettleMs, "60s");

/**
 * Milliseconds of a duration as manifests write it. Without any wait, each lost reply would lead to a second endpoint;
 * and no timer runs for longer than 24 days.
 */
export function duration(mostDays = 1): Parse<number> {
  return (value, flagName) => {
    const [seconds, most] = [secondsOf(value) ?? 0, mostDays * 86_400];
    if (seconds >= 1 && seconds <= most) return seconds * 1000;
    throw new BadFlag(`${allowedDuration(flagName, 1, most)}, not ${JSON.stringify(value)}`);
  };
}

export const fleetName = matching(/^\S{1,253}$/, "be 1 to 253 characters without spaces");

/** Patterns that the base URL of a connection, which ends in /api/v2, can match. */
const baseURLs = /^https?:\/\/[^\s/]+(?:\/\S*)?\/(?:api|[^\s/]*\*[^\s/]*)\/(?:v2|[^\s/]*\*[^\s/]*)\/?$/;

export const crdsSyntax = newCommand("crds", "Prints the CRDs as YAML.");

/** `compute-operator run`. */
export const runSyntax = newCommand(
  "run",
  "Keeps the computes of the service as the Compute manifests of the cluster declare them.",
)
  .option(
    "--kubeconfig <FILE>",
    "how to reach the cluster (default: the pod's service account, else KUBECONFIG, else ~/.kube/config)",
  )
  .addOption(repeatable("--namespace <NAME>", "watch this namespace only", name("a namespace")).default([], "all"))
  .addOption(
    flag("--selector <SELECTOR>", "reconcile only Computes with these labels, e.g. team=a or team in (a,b)", selector),
  )
  .option("--leader-elect", "run only while holding a lease (default in a cluster)")
  .option("--no-leader-elect", "run without a lease")
  .addOption(
    flag(
      "--lease-name <NAME>",
      "name of the lease (default: compute-operator, with a hash of selector and namespaces)",
      name("a Lease"),
    ),
  )
  .addOption(
    flag("--lease-namespace <NAME>", "namespace of the lease (default: the pod's, else default)", name("a namespace")),
  )
  .addOption(
    flag(
      "--cluster-resource-namespace <NAME>",
      `namespace of the Secrets of ClusterServiceConnections (default: the pod's, else ${INSTALL_NAMESPACE})`,
      name("a namespace"),
    ),
  )
  .addOption(
    flag("--http-port <N>", "port of /healthz, /readyz and /metrics, 0 for none", whole(0, 65_535)).default(8080),
  )
  .addOption(flag("--workers <N>", "objects reconciled at the same time", whole(1, 1000)).default(16))
  .addOption(
    flag(
      "--log-level <LEVEL>",
      "debug, info, warn, error or silent",
      matching(new RegExp(`^(${levels.join("|")})$`), `be one of ${levels.join(", ")}`),
    ).default("info"),
  )
  .addOption(
    repeatable(
      "--allowed-base-url <PATTERN>",
      "base URLs that connections may name; * stands for any run of characters but /",
      matching(baseURLs, `begin with https:// or http:// and end in /api/v2, for example ${publicServicePattern}`),
    ).default([publicServicePattern]),
  )
  .addOption(createSettle)
  .addOption(
    flag(
      "--fleet <NAME>",
      "signs endpoints for this fleet, so that a rebuilt cluster finds them with spec.adopt.former (default: none)",
      fleetName,
    ),
  )
  .addOption(
    flag("--max-deletes-per-minute <N>", "most deletions at the service per minute", whole(1, 1_000_000)).default(60),
  )
  .addOption(
    flag(
      "--max-branch-deletes-per-minute <N>",
      "most deletions of branches at the service per minute",
      whole(1, 1_000_000),
    ).default(5),
  )
  .addOption(
    flag(
      "--metrics-namespaces <N|NAMES>",
      "namespaces that metrics name, the others being other: N with the most Computes, or names with commas",
      metricsNamespaces,
    ).default(20),
  )
  .addOption(
    flag("--budget-share <SHARE>", "share of each request budget for this process, above 0 to 1", share).default(1),
  );

const values = {
  kubeconfig: z.string().optional(),
  namespace: z.array(z.string()),
  selector: z.string().optional(),
  leaderElect: z.boolean().optional(),
  leaseName: z.string().optional(),
  leaseNamespace: z.string().optional(),
  clusterResourceNamespace: z.string().optional(),
  httpPort: z.number(),
  workers: z.number(),
  logLevel: z.enum(levels),
  allowedBaseUrl: z.array(z.string()),
  createSettle: z.number(),
  fleet: z.string().optional(),
  maxDeletesPerMinute: z.number(),
  maxBranchDeletesPerMinute: z.number(),
  metricsNamespaces: z.union([z.number(), z.array(z.string())]),
  budgetShare: z.number(),
};

export type RunFlags = ReturnType<typeof parseRunFlags>;

/** Throws `BadFlag`. */
export function parseRunFlags(args: readonly string[]) {
  const {
    namespace,
    selector: labels = "",
    allowedBaseUrl,
    createSettle: settle,
    ...rest
  } = parsed(runSyntax, args, values);
  if (args.includes("--leader-elect") && args.includes("--no-leader-elect")) {
    throw new BadFlag("--leader-elect and --no-leader-elect exclude each other");
  }
  const namespaces = [...new Set(namespace)].toSorted();
  return {
    ...rest,
    namespaces,
    selects: labelSelector(labels),
    /** True if a lease was asked for by name. */
    namesLease: rest.leaseName !== undefined || rest.leaseNamespace !== undefined,
    leaseName: rest.leaseName ?? leaseNameFor(labels, namespaces),
    allowedBaseURLs: allowedBaseUrl,
    createSettleMs: settle,
  };
}

/** One lease per shard: two that share one would leave one of them idle for ever. */
function leaseNameFor(labels: string, namespaces: readonly string[]): string {
  if (labels === "" && namespaces.length === 0) return "compute-operator";
  return `compute-operator-${digest(JSON.stringify([labels, namespaces]), 8)}`;
}

function selector(value: string, flagName: string): string {
  try {
    labelSelector(value);
    return value;
  } catch (error) {
    throw new BadFlag(`${flagName}: ${messageOf(error)}`, { cause: error });
  }
}

/** A value of this form; `rule` completes "--flag must …". */
function matching(form: RegExp, rule: string): Parse<string> {
  return (value, flagName) => {
    if (form.test(value)) return value;
    throw new BadFlag(`${flagName} must ${rule}, not ${JSON.stringify(value)}`);
  };
}

export function name(what: string): Parse<string> {
  return matching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, `be the name of ${what} (a-z, 0-9 and -, 63 at most)`);
}

/** More would flood the monitoring. */
const mostMetricsNamespaces = 500;

function metricsNamespaces(value: string, flagName: string): number | string[] {
  if (/^\d+$/.test(value)) return whole(0, mostMetricsNamespaces)(value, flagName);
  const names = value.split(",").map((one) => name("a namespace")(one.trim(), flagName));
  if (names.length <= mostMetricsNamespaces) return [...new Set(names)];
  throw new BadFlag(`${flagName} takes at most ${mostMetricsNamespaces} names, not ${names.length}`);
}

function share(value: string, flagName: string): number {
  const number = Number(value);
  if (value.trim() !== "" && number > 0 && number <= 1) return number;
  throw new BadFlag(`${flagName} must be a number above 0 up to 1, not ${JSON.stringify(value)}`);
}
