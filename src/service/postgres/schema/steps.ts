/** The number of steps in a turn of the loop. */
const inOneTurn = 1000;

/** Steps of a long work, which lets others have their turns of the loop: all of a large schema take half a second. */
export class Steps {
  #count = 0;

  next(): Promise<void> | undefined {
    this.#count += 1;
    return this.#count % inOneTurn === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined;
  }
}

/** Acts on each of many, step by step. */
export async function each<One>(all: Iterable<One>, act: (one: One) => void): Promise<void> {
  const steps = new Steps();
  for (const one of all) {
    act(one);
    await steps.next();
  }
}
