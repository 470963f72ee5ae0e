import type { Readable } from "node:stream";

/** The first line that a person types; empty if standard input ends or the command is aborted. */
export async function readLine(stdin: Readable, signal: AbortSignal): Promise<string> {
  const onAbort = () => stdin.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  let text = "";
  try {
    for await (const part of stdin) {
      text += Buffer.from(part).toString("utf8");
      if (text.includes("\n")) break;
    }
  } catch {
    return "";
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  return (text.split("\n")[0] ?? "").trim();
}
