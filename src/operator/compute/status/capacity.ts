import {
  type ComputeUnitRange,
  localFileCacheGB,
  maxConnections,
  maxPooledConnections,
  memoryGB,
  temporaryDiskGiB,
  vCPU,
} from "../../../api/compute-units.ts";
import type { Capacity } from "../../resources/compute.ts";

export function sizeInWords({ min, max }: ComputeUnitRange): string {
  return min === max ? `${max} CU` : `${min}–${max} CU`;
}

export function capacityOf(range: ComputeUnitRange): Capacity {
  const figure = (of: (cu: number) => number) =>
    range.min === range.max ? of(range.max) : { min: of(range.min), max: of(range.max) };
  return {
    vCPU: figure(vCPU),
    memoryGB: figure(memoryGB),
    localFileCacheGB: figure(localFileCacheGB),
    maxConnections: maxConnections(range),
    pooledConnections: maxPooledConnections,
    temporaryDiskGiB: temporaryDiskGiB(range),
  };
}
