/** The range of sizes of a compute, in compute units; `min` equals `max` where its size is fixed. */
export interface ComputeUnitRange {
  min: number;
  max: number;
}

/** Every size that a compute can have, in compute units (CU), smallest first. */
export const computeUnitSizes: readonly number[] = [
  0.25,
  0.5,
  ...Array.from({ length: 16 }, (_, index) => index + 1),
  ...Array.from({ length: 20 }, (_, index) => 18 + 2 * index),
];

/** The largest size that autoscaling reaches, in CU; what is larger has a fixed size. */
export const largestAutoscalingSize = 16;

/** Concurrent user connections through the pooler, whatever the size. */
export const maxPooledConnections = 10_000;

/** The sizes in words, for messages that name what is allowed. */
export const computeUnitSizesInWords = "0.25, 0.5, 1 to 16, and the even numbers from 18 to 56";

const sizes = new Set(computeUnitSizes);

export function isComputeUnitSize(cu: number): boolean {
  return sizes.has(cu);
}

/** A clause for a message: the reason why no plan offers `range` as a size; `undefined` where one does. */
export function computeUnitRangeProblem({ min, max }: ComputeUnitRange): string | undefined {
  for (const size of [min, max]) {
    if (!isComputeUnitSize(size)) return `${size} CU is not a compute size: allowed are ${computeUnitSizesInWords}`;
  }
  if (min > max) return `the minimum of ${min} CU is larger than the maximum of ${max} CU`;
  if (max > largestAutoscalingSize && min !== max) {
    return `autoscaling ends at ${largestAutoscalingSize} CU: a compute of ${max} CU must have a fixed size (minimum equal to maximum)`;
  }
  return undefined;
}

/** Virtual CPUs of a size: one for each compute unit. */
export function vCPU(cu: number): number {
  return cu;
}

/** Memory of a size in GB: four for each compute unit. */
export function memoryGB(cu: number): number {
  return 4 * cu;
}

/** The Local File Cache of a size in GB: 80 % of its memory. */
export function localFileCacheGB(cu: number): number {
  return Math.round(cu * 32) / 10;
}

/** Local disk for temporary files in GiB, by the largest size of the compute. */
export function temporaryDiskGiB({ max }: ComputeUnitRange): number {
  return Math.max(20, 15 * max);
}

/**
 * Direct connections that Postgres accepts. Both ends of a range count: it is configured for the largest size, but
 * for no more than eight times the smallest. One connection for each 9,531,392 bytes of memory, which is some 450.6
 * for each CU; the vendor's rounded "450.5" would miss the specification's rows of 5 and 7 CU by one.
 */
export function maxConnections({ min, max }: ComputeUnitRange): number {
  const size = Math.min(max, 8 * min);
  return Math.floor(Math.max(100, Math.min(4000, (size * bytesPerComputeUnit) / bytesPerConnection)));
}

const bytesPerComputeUnit = 4 * 1024 ** 3;
const bytesPerConnection = 9_531_392;
