import { type DestinationStream, type Logger as PinoLogger, pino } from "pino";
import type { Clock, Random } from "./clock.ts";
import { scrub } from "./scrub.ts";

/** The fields of a log line besides its message. May hold errors; headers and keys are removed. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** A logger that adds these fields to each of its lines. */
  child(fields: LogFields): Logger;
}

/** Ports of the process for everything that lives for long. */
export interface RuntimePorts {
  clock: Clock;
  random: Random;
  log: Logger;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** The destination of lines: anything with `write`, such as standard error. */
export type LogDestination = DestinationStream;

/** A logger that writes one JSON object per line. For a terminal, wrap the destination in `readableLines`. */
export function createLogger(options: { level: LogLevel; destination: LogDestination; clock: Clock }): Logger {
  const { level, destination, clock } = options;
  const base = pino(
    {
      level,
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return wrap(base);
}

function wrap(sink: PinoLogger): Logger {
  const at = (level: Exclude<LogLevel, "silent">) => (fields: LogFields, message: string) => {
    if (sink.isLevelEnabled(level)) sink[level](scrub(fields), message);
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => wrap(sink.child(scrub(fields))),
  };
}

/** Rewrites each JSON line for a terminal: `12:34:56.789 INFO  Compute created  compute=shop/primary`. */
export function readableLines(destination: LogDestination): LogDestination {
  return {
    write(line: string) {
      destination.write(readable(line));
    },
  };
}

function readable(line: string): string {
  const parsed = parse(line);
  if (parsed === undefined) return line;
  const { time, level, message, ...rest } = parsed;
  const head = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)} ${String(message)}`;
  const tail = Object.entries(rest).map(([name, value]) => `${name}=${asLineValue(value)}`);
  return `${[head, ...tail].join("  ")}\n`;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** One line, without the stack of an error: the JSON format has it. */
function asLineValue(value: unknown): string {
  if (typeof value === "string") return /[\s"=]/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === "object" && value !== null && "message" in value && "name" in value) {
    return JSON.stringify(`${String(value.name)}: ${String(value.message)}`);
  }
  return JSON.stringify(value);
}
