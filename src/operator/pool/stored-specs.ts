import { sameJSON } from "../objects/record.ts";
import type { Compute, ComputeSpec } from "../resources/compute.ts";

/**
 * The specs of members that the API server stored in place of those that the pool sent, as a mutating admission policy
 * has it do. Known from the answers to this process's own writes: an edit of a member is never taken for one.
 */
export class StoredSpecs {
  readonly #byMember = new Map<string, { sent: ComputeSpec; stored: ComputeSpec }>();

  /** The API server answered with this member to a write with that spec. */
  answered(sent: ComputeSpec, { metadata, spec: stored }: Compute): void {
    if (sameJSON(sent, stored)) this.#byMember.delete(metadata.uid);
    else this.#byMember.set(metadata.uid, { sent, stored });
  }

  forget({ metadata }: Compute): void {
    this.#byMember.delete(metadata.uid);
  }

  /** True if the member has the spec that it should, or the one that the API server stores in its place. */
  isKept(wanted: ComputeSpec, { metadata, spec }: Compute): boolean {
    if (sameJSON(wanted, spec)) return true;
    const known = this.#byMember.get(metadata.uid);
    return known !== undefined && sameJSON(known.sent, wanted) && sameJSON(known.stored, spec);
  }
}

/** The fields of the spec that differ, sorted. */
export function fieldsChanged(wanted: ComputeSpec, stored: ComputeSpec): string[] {
  const [before, after]: Record<string, unknown>[] = [{ ...wanted }, { ...stored }];
  const names = new Set([...Object.keys(wanted), ...Object.keys(stored)]);
  return [...names].filter((name) => !sameJSON(before?.[name], after?.[name])).toSorted();
}
