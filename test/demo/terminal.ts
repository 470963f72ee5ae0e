/** The steps of the demo that the picture shows. */
const steps = ["Create", "Resize", "Delete"];
const rowHeight = 17;
const charWidth = 7.2;
const columns = 112;

/**
 * The picture of a terminal with some steps of a run of the demo. What differs from run to run (ids, durations, the
 * number of reads) is left out or put in one form, so that runs of one version draw one picture.
 */
export function terminalPicture(lines: readonly string[]): string {
  const shown = ["$ npm run demo", ...shownOf(lines)];
  const height = 44 + (shown.length + 1) * rowHeight;
  const width = Math.round(columns * charWidth) + 32;
  const rows = shown.map((line, row) => {
    const y = 52 + row * rowHeight;
    return `    <text x="16" y="${y}" fill="${colourOf(line)}">${escaped(line)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
  <title id="title">Three steps of npm run demo: create, resize and delete a Compute, each with one write at the service</title>
  <rect width="${width}" height="${height}" rx="8" fill="#0f172a"/>
  <circle cx="20" cy="18" r="6" fill="#f87171"/><circle cx="40" cy="18" r="6" fill="#fbbf24"/><circle cx="60" cy="18" r="6" fill="#4ade80"/>
  <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12">
${rows.join("\n")}
  </g>
</svg>
`;
}

function shownOf(lines: readonly string[]): string[] {
  const shown: string[] = [];
  let isShown = false;
  let isWait = false;
  for (const line of lines) {
    const title = /^\d+\. (.*)$/.exec(line)?.[1];
    if (title !== undefined) {
      isShown = steps.includes(title);
      if (isShown) shown.push("", title);
      continue;
    }
    const command = /^ {3}\$ (.*)$/.exec(line)?.[1];
    if (command !== undefined)
      isWait = command.startsWith("kubectl wait") || command.startsWith("kubectl get computes ");
    const isCost = line.startsWith("   This cost the service");
    if (isShown && (isCost || !isWait) && line.trim() !== "") shown.push(steady(line));
    if (isCost) isShown = false;
  }
  return shown;
}

/** A line in the form that each run has: a table without its last two columns, one id, no number of reads. */
function steady(line: string): string {
  return line
    .replace(/^ {3}/, "")
    .replace(/ep-[a-z]+-[a-z]+-[0-9a-f]{8}/g, "ep-late-reef-04982728")
    .replace(/ +LAST-ACTIVE +AGE$/, "")
    .replace(/^( *shop-\S+ +r[wo] .*? (?:True|False) +\S+) .*$/, "$1")
    .replace(/, (\d+|no) reads?\.$/, ".")
    .trimEnd();
}

function colourOf(line: string): string {
  if (steps.includes(line)) return "#f8fafc";
  if (/^ *\$ /.test(line)) return "#7dd3fc";
  return line.startsWith("This cost the service") ? "#86efac" : "#cbd5e1";
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(" ", "\u00a0");
}
