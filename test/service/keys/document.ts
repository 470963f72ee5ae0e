import { markdownTable } from "../support/markdown.ts";
import { Shop } from "../support/shop.ts";
import { type Cell, table } from "./cells.ts";
import { callerNames } from "./rights.ts";

/** The table of keys and routes, a section of docs/service-api.md. */
export function keysDocument(): string {
  const rows = new Map<string, Cell[]>();
  for (const cell of table(new Shop().core.routes)) {
    const name = `\`${cell.route.method} ${cell.route.path}\`\n${cell.target}`;
    rows.set(name, [...(rows.get(name) ?? []), cell]);
  }
  const lines = [...rows]
    .map(([name, cells]) => [...name.split("\n"), ...cells.map((cell) => String(cell.expected))])
    // What every key is told of what is not its own needs no row.
    .filter(([, about, ...answers]) => about === "own" || answers.some((answer) => answer !== "404"));
  return `## Which key may call what

The status that each key gets on each route below \`/api/v2\`. The object of the request is within the key's reach (own), another
account's (other), or missing (none); where there is no row, other and none get 404. A missing, malformed, unknown or revoked key gets
401 everywhere. Written by \`npm run generate\` from \`test/service/keys/rights.ts\`, which is written by hand; every cell is
tried in \`test/service/accounts.rights.test.ts\`.

${markdownTable(["route", "about", ...callerNames], lines)}
`;
}
