import type { ComputeUnitRange } from "../../../api/compute-units.ts";

const gibibyte = 1024 ** 2;

/** The local disk for temporary files, in KiB: the larger of 20 GiB and 15 GiB times the maximum size. */
export function temporaryDiskKiB({ max }: ComputeUnitRange, scale: number): number {
  return Math.max(64, Math.floor(Math.max(20, 15 * max) * gibibyte * scale));
}

/** The fields of an error of Postgres that matter here. */
export interface DiskError {
  code: string | undefined;
  message: string;
}

/** Answer of the service where a session's temporary files outgrow the disk of its compute. */
const full = {
  code: "53100",
  message: 'could not write to file "base/pgsql_tmp/pgsql_tmp": No space left on device',
} as const;

/**
 * The disk is `temp_file_limit` of the server, whose own error differs from that of a full disk. Answers what the
 * client is to see; `undefined` for every other error.
 */
export function asFullDisk({ code, message }: DiskError): typeof full | undefined {
  const exceeded = code === "53400" && message.startsWith("temporary file size exceeds ");
  return exceeded ? full : undefined;
}
