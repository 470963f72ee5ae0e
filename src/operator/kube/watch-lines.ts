import type { WatchLine } from "./transport.ts";

/** The lines of a watch's body. Throws if the body ends within a line, or if a line is too long or not an event. */
export async function* watchLines(body: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<WatchLine> {
  const decoder = new TextDecoder();
  /** The pieces of a line that is not complete yet. */
  let pieces: string[] = [];
  let size = 0;
  for await (const chunk of body) {
    const lines = decoder.decode(chunk, { stream: true }).split("\n");
    const last = lines.pop() ?? "";
    for (const line of lines) {
      const whole = pieces.join("") + line;
      pieces = [];
      size = 0;
      if (whole.trim() !== "") yield lineOf(whole);
    }
    pieces.push(last);
    size += last.length;
    if (size > maxLineBytes) throw new Error(`a line of more than ${maxLineBytes} bytes`);
  }
  if (pieces.join("").trim() !== "") throw new Error("cut off in the middle of a line");
}

function lineOf(text: string): WatchLine {
  const line: unknown = JSON.parse(text);
  if (
    typeof line === "object" &&
    line !== null &&
    "type" in line &&
    typeof line.type === "string" &&
    "object" in line
  ) {
    return { type: line.type, object: line.object };
  }
  throw new Error("a line that is not an event");
}
