import { readFileSync } from "node:fs";

/** The fenced blocks of a Markdown file that are of this language. */
export function blocksOf(file: string, language: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, found, body = ""]) =>
    found === language ? [body] : [],
  );
}

/** The commands of a file's `sh` blocks, one a line, without comments. */
export function commandsOf(file: string): string[] {
  return blocksOf(file, "sh")
    .flatMap((block) => block.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
}

/** The words of a command line that quotes with '…' at most. */
export function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:[^\s']+|'[^']*')+/g)].map(([word]) => word.replaceAll("'", ""));
}
