// Names the lines of the source in a stack of the bundles, from its standard input, a log included. Node would keep the
// whole maps in memory to do so itself: node scripts/stack.ts [DIRECTORY-OF-MAPS] < log
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const [directory = "dist"] = process.argv.slice(2);
const maps = new Map<string, SourceMap>();

function mapOf(bundle: string): SourceMap {
  const known = maps.get(bundle);
  if (known) return known;
  const map = new SourceMap(JSON.parse(readFileSync(join(directory, `${bundle}.map`), "utf8")));
  maps.set(bundle, map);
  return map;
}

const position = /(?:file:\/\/)?[^\s()"]*\b((?:compute-operator|tracing|service|comparing)\.js):(\d+):(\d+)/g;

process.stdout.write(
  (await text(process.stdin)).replace(position, (found, bundle: string, line: string, column: string) => {
    const origin = mapOf(bundle).findOrigin(Number(line), Number(column));
    if (!("fileName" in origin)) return found;
    return `${origin.fileName.replace(/^(\.\.\/)+/, "")}:${origin.lineNumber}:${origin.columnNumber}`;
  }),
);
