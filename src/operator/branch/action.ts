import type { Branch } from "../resources/branch.ts";
import type { ComputeStep } from "./observation.ts";
import type { BranchReason } from "./reasons.ts";

/** One request that changes something at the service. */
export type BranchWrite =
  | { op: "create"; name: string; body: CreateBody; end: BranchEnd }
  | { op: "patch"; id: string; body: PatchBody; why: "expiry" | "renewal" | "protection"; end: BranchEnd | undefined }
  | { op: "reset"; id: string; sourceID: string; value: string; lastResetAt: string | undefined }
  | { op: "delete"; id: string };

export interface CreateBody {
  name: string;
  parent_id?: string | undefined;
  parent_lsn?: string | undefined;
  parent_timestamp?: string | undefined;
  init_source?: "schema-only";
  protected?: boolean | undefined;
  expires_at?: string | undefined;
}

export interface PatchBody {
  /** `null` takes the end away. */
  expires_at?: string | null;
  protected?: boolean;
}

/** `spec.expiry` in words, and the end that it comes to (RFC 3339); `undefined`: none. */
export interface BranchEnd {
  expiry: string;
  at: string | undefined;
}

/** Members of the next status that are not observed. */
export type StatusNews = Partial<Branch["status"]>;

/** The next step for a Branch. */
export type BranchAction =
  | { kind: "write"; write: BranchWrite }
  /** Brings the owned Compute to what is declared. */
  | { kind: "compute"; step: ComputeStep }
  /** Asks the service whether a branch that lists lack is gone. */
  | { kind: "probe"; id: string }
  | { kind: "show"; reason: BranchReason; message: string; afterMs?: number; news?: StatusNews; event?: PlannedEvent }
  /** Only the status changes; the next reconcile follows at once. */
  | { kind: "note"; news: StatusNews; event?: PlannedEvent }
  /** `isUninstalling`: the definition of Branches goes, so the owned Compute stays what it is. */
  | { kind: "release"; event: "Released" | "Deleted"; message: string; isUninstalling?: boolean }
  | { kind: "noop"; afterMs?: number };

export interface PlannedEvent {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** Identity of a write: one that failed is not repeated too soon. */
export function identityOf(
  write: Exclude<BranchWrite, { op: "create" }> | { op: "create"; name: string },
  generation: number,
): string {
  const target = write.op === "create" ? write.name : write.id;
  const value = write.op === "reset" ? write.value : write.op === "patch" ? write.why : "";
  return `${generation} ${write.op} ${target} ${value}`;
}
