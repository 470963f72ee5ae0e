/** The size of a segment of the log, in bytes: `initdb --wal-segsize=1`. */
export const segmentBytes = 1024 ** 2;

const segmentsPerName = 0x1_0000_0000 / segmentBytes;

export function isSegment(name: string): boolean {
  return /^[0-9A-F]{24}$/.test(name);
}

export function isTimelineHistory(name: string): boolean {
  return /^[0-9A-F]{8}\.history$/.test(name);
}

/** The place of a segment in the log, whatever its timeline: names of one place differ in their first eight digits. */
export function placeOf(name: string): string {
  return name.slice(8);
}

/** The number of the segment at a place, counted from the begin of the log. */
export function numberOf(place: string): bigint {
  return BigInt(`0x${place.slice(0, 8)}`) * BigInt(segmentsPerName) + BigInt(`0x${place.slice(8)}`);
}

/** The place of the segment that holds a position of the log. */
export function placeAt(position: bigint): string {
  const number = Number(position / BigInt(segmentBytes));
  const hex = (value: number) => value.toString(16).toUpperCase().padStart(8, "0");
  return `${hex(Math.floor(number / segmentsPerName))}${hex(number % segmentsPerName)}`;
}
