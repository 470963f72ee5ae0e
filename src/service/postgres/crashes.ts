/** Time for which the end of a server counts, in milliseconds. */
const countedMs = 60_000;

/** The ends of servers that nobody stopped, within the last minute. */
export class Crashes {
  #latest: { endpointId: string; at: number }[] = [];

  /** The number of ends that are remembered, of all computes. */
  get size(): number {
    return this.#latest.length;
  }

  /** Notes one; answers the number of those of the compute before it. The same one may be noted again. */
  note(endpointId: string, at: number): number {
    const before = this.#latest.filter((one) => one.at > at - countedMs);
    const others = before.filter((one) => one.endpointId !== endpointId || one.at !== at);
    this.#latest = [...others, { endpointId, at }];
    return others.filter((one) => one.endpointId === endpointId).length;
  }
}
