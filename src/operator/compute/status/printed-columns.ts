import type { Compute, ComputeStatus } from "../../resources/compute.ts";
import type { Seen } from "./seen.ts";

/** Members that only columns of `kubectl get` show: a column can print a member, and not put it in other words. */
export function printedColumns(
  { spec, status: before }: Compute,
  after: ComputeStatus,
  { referredName }: Pick<Seen, "referredName">,
): Pick<ComputeStatus, "access" | "branch"> {
  const { branchID, resolvedBranch } = after;
  const isNamed = branchID === undefined || branchID === resolvedBranch?.id;
  const kept = before.branchID === branchID ? before.branch : undefined;
  const name = spec.branchName ?? (spec.branchRef && (referredName ?? kept ?? spec.branchRef.name));
  const branch = isNamed && name !== undefined ? name : (branchID ?? spec.branchID);
  return { access: spec.type === "read_only" ? "ro" : "rw", branch };
}
