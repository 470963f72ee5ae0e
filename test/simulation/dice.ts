import type { Random } from "../../src/operator/runtime/clock.ts";

/** What chance decides, out of one source of it. */
export class Dice {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  /** A whole number from `low` to below `high`. */
  between(low: number, high: number): number {
    return Math.floor(low + (high - low) * this.random());
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    return items.flatMap(() => rest.splice(this.between(0, rest.length), 1));
  }

  weighted<T>(choices: readonly (readonly [number, () => T])[]): T {
    let point = this.random() * choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, make] of choices) {
      if (point < weight) return make();
      point -= weight;
    }
    throw new Error("nothing to choose from");
  }
}
