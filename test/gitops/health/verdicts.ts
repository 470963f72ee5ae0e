import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { branchReasons } from "../../../src/operator/branch/reasons.ts";
import { reasons, rowOf } from "../../../src/operator/compute/words/reasons.ts";
import { type ConditionRow, rowIn } from "../../../src/operator/conditions/rows.ts";
import type { ConnectionReason } from "../../../src/operator/connection/status.ts";
import type { KubeObject } from "../../simulation/api-server/objects.ts";
import { runProgram } from "../../support/run-program.ts";
import { findProgram } from "../programs.ts";
import { viewOf } from "./view.ts";

/** In the words of kstatus. */
type Verdict = "Current" | "InProgress" | "Failed" | "Terminating";

/** What tools make of an object. */
export interface Verdicts {
  kstatus: string;
  argocd: string;
}

const poolReasons: Readonly<Record<string, Verdict>> = {
  Ready: "Current",
  Scaling: "InProgress",
  Expired: "Current",
  Conflict: "Failed",
  FormerMembers: "Failed",
  Rejected: "Failed",
};

const connectionReasons: Readonly<Record<ConnectionReason, Verdict>> = {
  Authenticated: "Current",
  Unauthorized: "Failed",
  Unreachable: "InProgress",
  NotAllowed: "Failed",
  SecretNotFound: "InProgress",
  InvalidSecret: "Failed",
  Deleting: "Terminating",
};

/** The reasons that there are, by kind: each must have a row. */
export const reasonsOf: Readonly<Record<string, readonly string[]>> = {
  Compute: Object.keys(reasons),
  Branch: Object.keys(branchReasons),
  ComputePool: Object.keys(poolReasons),
  ServiceConnection: Object.keys(connectionReasons),
  ClusterServiceConnection: Object.keys(connectionReasons),
};

/** What tools must make of an object, by what its reason means to the operator and not by the conditions. */
export function expectedVerdicts(object: KubeObject): Verdicts {
  const kstatus = meaningOf(object);
  const view = viewOf(object);
  const healths = { Current: "Healthy", InProgress: "Progressing", Failed: "Degraded", Terminating: "Progressing" };
  return { kstatus, argocd: view.paused && !view.deleting ? "Suspended" : healths[kstatus] };
}

function meaningOf(object: KubeObject): Verdict {
  const { kind, reason, ready, stalled, deleting, current } = viewOf(object);
  if (deleting) return "Terminating";
  if (!current) return "InProgress";
  // A pool has the one reason of its members that are not ready, where they have one.
  const isOfMembers = kind === "ComputePool" && !Object.hasOwn(poolReasons, reason);
  if (kind === "Compute" || kind === "Branch" || isOfMembers) {
    const row: ConditionRow | undefined = kind === "Branch" ? rowIn(branchReasons, reason) : rowOf(reason);
    if (row === undefined) throw new Error(`no reason of a ${kind}: ${reason}`);
    if (row.ready === "kept") return ready === "True" || ready === "" ? "Current" : "InProgress";
    if (row.stalled === true || (row.stalled === "later" && stalled === "True")) return "Failed";
    return row.ready === "True" || row.ready === "ended" ? "Current" : "InProgress";
  }
  // Only a change of the spec makes a certificate readable.
  if (reason === "Unreachable" && JSON.stringify(object["spec"]).includes('"caBundle"')) return "Failed";
  const verdict = { ...poolReasons, ...connectionReasons }[reason];
  if (verdict === undefined) throw new Error(`no reason of a ${kind}: ${reason}`);
  return verdict;
}

/** The objects of which the real tools make something else than the operator means. */
export async function disagreements(objects: readonly KubeObject[]): Promise<string[]> {
  const verdicts = await realVerdicts(objects);
  const wrong = objects.flatMap((object, index) => {
    const [expected, real] = [expectedVerdicts(object), verdicts[index]];
    const agrees = expected.kstatus === real?.kstatus && expected.argocd === real.argocd;
    return agrees ? [] : [JSON.stringify({ ...viewOf(object), expected, real })];
  });
  return [...new Set(wrong)];
}

const output = z.array(
  z.object({
    kstatus: z.string(),
    flux: z.string(),
    argocd: z.object({ status: z.string(), message: z.string() }),
  }),
);

/** What the real tools make of the objects. Flux has a copy of kstatus: where it differed, that is said. */
export async function realVerdicts(objects: readonly KubeObject[]): Promise<Verdicts[]> {
  const { data: settings }: { data: unknown } = parse(readFileSync("deploy/argocd/argocd-cm.yaml", "utf8"));
  const input = JSON.stringify({ settings, objects });
  const { status, stdout, stderr } = await runProgram(await findProgram("verdicts"), [], { input });
  if (status !== 0) throw new Error(`verdicts failed: ${stderr}`);
  return output.parse(JSON.parse(stdout)).map(({ kstatus, flux, argocd }) => ({
    kstatus: kstatus === flux ? kstatus : `${kstatus}, in Flux ${flux}`,
    argocd: argocd.status,
  }));
}
