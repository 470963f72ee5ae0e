// Names the lines of the source in a stack of the bundle, from its standard input, a log included. Node would keep the
// whole map in memory to do so itself: node scripts/stack.ts [dist/compute-operator.js.map] < log
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { text } from "node:stream/consumers";

const [file = "dist/compute-operator.js.map"] = process.argv.slice(2);
const map = new SourceMap(JSON.parse(readFileSync(file, "utf8")));

const position = /(?:file:\/\/)?[^\s()"]*compute-operator\.js:(\d+):(\d+)/g;

process.stdout.write(
  (await text(process.stdin)).replace(position, (found, line: string, column: string) => {
    const origin = map.findOrigin(Number(line), Number(column));
    if (!("fileName" in origin)) return found;
    return `${origin.fileName.replace(/^(\.\.\/)+/, "")}:${origin.lineNumber}:${origin.columnNumber}`;
  }),
);
