import type { LogDestination } from "./log.ts";

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
  const tail = Object.entries(rest).map(([name, value]) => `${name}=${brief(value)}`);
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
function brief(value: unknown): string {
  if (typeof value === "string") return /[\s"=]/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === "object" && value !== null && "message" in value && "name" in value) {
    return JSON.stringify(`${String(value.name)}: ${String(value.message)}`);
  }
  return JSON.stringify(value);
}
