import type { Logger } from "../../src/operator/runtime/log.ts";

/** Writes nothing. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
