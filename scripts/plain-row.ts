/** A row of a table without the bars around it and the blanks beside those within: pages of rows hold little else. */
export function plainRow(line: string): string {
  const row = /^\| (.*) \|$/.exec(line)?.[1];
  return row === undefined ? line : row.replaceAll(/ +(?<!\\)\| +/g, "|").trimEnd();
}
