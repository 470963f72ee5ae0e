/** Says now and then that a long piece of work is still going on. */
export async function reporting<T>(
  label: string,
  progress: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const began = performance.now();
  progress(`${label} …`);
  const timer = setInterval(() => progress(`${label} … ${secondsSince(began)}`), 20_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** For a person, e.g. `12 s`; `began` by performance.now(). */
export function secondsSince(began: number): string {
  return `${Math.round((performance.now() - began) / 1000)} s`;
}
