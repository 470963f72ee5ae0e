import type { Panel } from "./dashboard.ts";
import type { Series } from "./prometheus.ts";

/** A line of a panel, under the name that its legend gives it. */
export interface Line {
  name: string;
  points: Series["points"];
}

export interface Drawing {
  panels: readonly Panel[];
  /** By the id of the panel. */
  lines: ReadonlyMap<number, readonly Line[]>;
  /** Seconds since the epoch. */
  start: number;
  end: number;
}

/** Pixels of one cell of the dashboard's grid. */
const cell = { width: 58, height: 34 };
const gap = 8;
const colours = [
  "#2f6fb3",
  "#d9822b",
  "#2e8b57",
  "#b3372f",
  "#7a5cb8",
  "#8a6d3b",
  "#c44f8e",
  "#5f6b73",
  "#a5a52a",
  "#2aa5a5",
];
const megabyte = 1024 * 1024;
/** More than these would fill a small panel with its legend. */
const mostNames = 8;

/** The name of a series as Grafana makes it from `legendFormat`. */
export function nameOf(legendFormat: string, labels: Readonly<Record<string, string>>): string {
  return legendFormat.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, label: string) => labels[label] ?? "");
}

/** The dashboard as a page: each panel in its place, drawn from its own lines. */
export function drawn({ panels, lines, start, end }: Drawing): string {
  const bottom = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h));
  const boxes = panels.map((panel) => {
    const { x, y, w, h } = panel.gridPos;
    const [width, height] = [w * cell.width - gap, h * cell.height - gap];
    const place = `left:${x * cell.width + gap}px;top:${y * cell.height + gap}px;width:${width}px;height:${height}px`;
    return `<section class="${panel.type}" style="${place}">${inside(panel, lines.get(panel.id) ?? [], { width, height, start, end })}</section>`;
  });
  const size = `width:${24 * cell.width + gap}px;height:${bottom * cell.height + gap}px`;
  return `<!doctype html><meta charset="utf-8"><style>${style}</style><main style="${size}">${boxes.join("")}</main>`;
}

interface Frame {
  width: number;
  height: number;
  start: number;
  end: number;
}

function inside(panel: Panel, lines: readonly Line[], frame: Frame): string {
  const title = `<h2>${escaped(panel.title)}</h2>`;
  const unit = panel.fieldConfig?.defaults.unit ?? "none";
  switch (panel.type) {
    case "row":
      return title;
    case "stat": {
      const [line] = lines;
      const last = line?.points.at(-1)?.[1];
      return `${title}<p>${last === undefined ? "no data" : inUnit(last, unit)}</p>`;
    }
    case "timeseries": {
      const stacked = panel.fieldConfig?.defaults.custom?.stacking?.mode === "normal";
      return `${title}${graph(stacked ? stack(lines) : lines, unit, stacked, frame)}${legend(lines)}`;
    }
  }
}

/** Each line upon those before it. */
function stack(lines: readonly Line[]): Line[] {
  const below = new Map<number, number>();
  return lines.map(({ name, points }) => ({
    name,
    points: points.map(([at, value]) => {
      const sum = (below.get(at) ?? 0) + value;
      below.set(at, sum);
      return [at, sum] as const;
    }),
  }));
}

function graph(lines: readonly Line[], unit: string, filled: boolean, { width, height, start, end }: Frame): string {
  const rows = Math.ceil(Math.min(lines.length, mostNames + 1) / (width > 900 ? 6 : width > 500 ? 3 : 2));
  const box = { left: 58, right: width - 12, top: 8, bottom: height - 62 - rows * 14 };
  const most = Math.max(0, ...lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const top = unit === "bytes" ? niceTop(most / megabyte) * megabyte : niceTop(most);
  const x = (at: number) => box.left + ((at - start) / (end - start)) * (box.right - box.left);
  const y = (value: number) => box.bottom - (value / top) * (box.bottom - box.top);
  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = y(share * top).toFixed(1);
    return `<line class="grid" x1="${box.left}" x2="${box.right}" y1="${at}" y2="${at}"/><text x="${box.left - 6}" y="${Number(at) + 3.5}" text-anchor="end">${inUnit(share * top, unit)}</text>`;
  });
  const minutes = Array.from({ length: 5 }, (_, index) => start + (index * (end - start)) / 4);
  const times = minutes.map(
    (at, index) =>
      `<text x="${x(at).toFixed(1)}" y="${box.bottom + 16}" text-anchor="${index === 4 ? "end" : "middle"}">${new Date(at * 1000).toISOString().slice(11, 16)}</text>`,
  );
  const step = Math.min(
    ...lines.flatMap(({ points }) => points.slice(1).map(([at], index) => at - (points[index]?.[0] ?? 0))),
  );
  const curves = lines.map(({ points }, index) => {
    const colour = colours[index % colours.length] ?? "";
    return runsOf(points, step * 1.5)
      .map((run) => {
        const path = run.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
        const area = `${x(run[0]?.[0] ?? 0).toFixed(1)},${box.bottom} ${path} ${x(run.at(-1)?.[0] ?? 0).toFixed(1)},${box.bottom}`;
        const fill = filled ? `<polygon points="${area}" fill="${colour}" fill-opacity="0.15"/>` : "";
        return `${fill}<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.6"/>`;
      })
      .join("");
  });
  const none = lines.length === 0 ? `<text x="${width / 2}" y="${height / 3}" text-anchor="middle">no data</text>` : "";
  return `<svg width="${width}" height="${box.bottom + 22}">${levels.join("")}${times.join("")}${curves.toReversed().join("")}${none}</svg>`;
}

/** The pieces of a line between which nothing is known. */
function runsOf(points: Line["points"], longest: number): Line["points"][] {
  const runs: (readonly [number, number])[][] = [];
  let before = Number.NEGATIVE_INFINITY;
  for (const point of points) {
    if (point[0] - before > longest) runs.push([]);
    runs.at(-1)?.push(point);
    before = point[0];
  }
  return runs;
}

function legend(lines: readonly Line[]): string {
  const names = lines.slice(0, lines.length > mostNames + 1 ? mostNames : lines.length).map(({ name }, index) => {
    return `<li><i style="background:${colours[index % colours.length]}"></i>${escaped(name)}</li>`;
  });
  const more = lines.length - names.length;
  return `<ul>${names.join("")}${more > 0 ? `<li>and ${more} more</li>` : ""}</ul>`;
}

/** The least round number that is not below, a quarter of which is round too. */
function niceTop(most: number): number {
  if (most <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 3, 4, 6, 8, 10].find((factor) => factor * power >= most) ?? 10) * power;
}

/** A value as Grafana writes it in this unit. */
export function inUnit(value: number, unit: string): string {
  switch (unit) {
    case "s":
      if (value !== 0 && Math.abs(value) < 1) return `${short(value * 1000)} ms`;
      return `${short(value)} s`;
    case "bytes":
      return `${short(value / megabyte)} MiB`;
    case "percentunit":
      return `${short(value * 100)}%`;
    case "ops":
    case "reqps":
      return `${short(value)}/s`;
    default:
      return short(value);
  }
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

const style = `
  body { margin: 0; background: #f3f4f6; font: 12px "DejaVu Sans", sans-serif; color: #24292f; }
  main { position: relative; }
  section { position: absolute; box-sizing: border-box; background: #fff; border: 1px solid #d5d9de; border-radius: 3px; padding: 8px; overflow: hidden; }
  section.row { background: none; border: none; padding: 4px 0; }
  section.row h2 { font-size: 15px; }
  h2 { margin: 0 0 4px; font-size: 12.5px; font-weight: bold; }
  p { margin: 16px 0 0; font-size: 34px; text-align: center; color: #2f6fb3; }
  svg { display: block; margin-left: -8px; }
  svg text { font-size: 10px; fill: #6a737d; }
  .grid { stroke: #e8eaed; }
  ul { margin: 2px 0 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 2px 12px; font-size: 10px; line-height: 12px; }
  i { display: inline-block; width: 10px; height: 3px; margin-right: 4px; vertical-align: middle; }
`;
