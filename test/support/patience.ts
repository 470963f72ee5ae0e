/** The time that one look adds, in milliseconds. */
const tickMs = 100;

/**
 * A time that runs while this process does: a machine that stands still for a minute, or gives the process no turn,
 * costs one tick of it. Calls `onOver` once; `stop` ends it.
 */
export function patience(ms: number, onOver: () => void = () => {}): { isOver: () => boolean; stop: () => void } {
  let leftMs = ms;
  const timer = setInterval(() => {
    leftMs -= tickMs;
    if (leftMs > 0) return;
    clearInterval(timer);
    onOver();
  }, tickMs);
  return { isOver: () => leftMs <= 0, stop: () => clearInterval(timer) };
}
