/** One line of a plot: its name, and what it is at each size. */
export interface Series {
  name: string;
  points: readonly (readonly [size: number, value: number])[];
}

export interface Plot {
  title: string;
  series: readonly Series[];
}

const [width, height] = [340, 240];
const margin = { left: 56, right: 90, top: 30, bottom: 34 };
const colours = ["#1f6feb", "#b35900", "#2da44e", "#8250df"];

/** Plots side by side, both axes logarithmic, as one SVG. */
export function svgOf(plots: readonly Plot[]): string {
  const columns = Math.min(2, plots.length);
  const [w, h] = [columns * width, Math.ceil(plots.length / columns) * height];
  const drawn = plots.map((plot, index) => {
    const [x, y] = [(index % columns) * width, Math.floor(index / columns) * height];
    return `<g transform="translate(${x} ${y})">\n${drawnPlot(plot)}\n</g>`;
  });
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" font-family="sans-serif" font-size="11">`;
  return `${head}\n<rect width="${w}" height="${h}" fill="#fff"/>\n${drawn.join("\n")}\n</svg>\n`;
}

function drawnPlot({ title, series }: Plot): string {
  const points = series.flatMap((one) => one.points);
  const x = axis(
    points.map(([size]) => size),
    margin.left,
    width - margin.right,
  );
  const y = axis(
    points.map(([, value]) => value),
    height - margin.bottom,
    margin.top,
  );
  const grid = [
    ...x.ticks.map((tick) => vertical(x.at(tick), shown(tick))),
    ...y.ticks.map((tick) => horizontal(y.at(tick), shown(tick))),
  ];
  const lines = series.map(({ name, points: own }, index) => {
    const colour = colours[index % colours.length] ?? "#000";
    const places = own.map(([size, value]) => [x.at(size), y.at(value)] as const);
    const path = places.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ");
    const dots = places.map(
      ([px, py]) => `<circle cx="${px.toFixed(1)}" cy="${py.toFixed(1)}" r="3" fill="${colour}"/>`,
    );
    const [lastX = 0, lastY = 0] = places.at(-1) ?? [];
    const label = `<text x="${lastX + 8}" y="${lastY + 4}" fill="${colour}">${name}</text>`;
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join("")}${label}`;
  });
  return [`<text x="${margin.left}" y="16" font-weight="bold">${title}</text>`, ...grid, ...lines].join("\n");
}

/** Powers of ten around the values, spread over the pixels. */
function axis(values: readonly number[], from: number, to: number) {
  const positive = values.filter((value) => value > 0);
  const least = Math.floor(Math.log10(Math.min(...positive)));
  const most = Math.max(least + 1, Math.ceil(Math.log10(Math.max(...positive))));
  const ticks = Array.from({ length: most - least + 1 }, (_, index) => 10 ** (least + index));
  const at = (value: number) =>
    from + ((Math.log10(Math.max(value, 10 ** least)) - least) / (most - least)) * (to - from);
  return { ticks, at };
}

function vertical(at: number, label: string): string {
  const bottom = height - margin.bottom;
  return `<line x1="${at}" y1="${margin.top}" x2="${at}" y2="${bottom}" stroke="#ddd"/><text x="${at}" y="${bottom + 16}" text-anchor="middle">${label}</text>`;
}

function horizontal(at: number, label: string): string {
  const right = width - margin.right;
  return `<line x1="${margin.left}" y1="${at}" x2="${right}" y2="${at}" stroke="#ddd"/><text x="${margin.left - 6}" y="${at + 4}" text-anchor="end">${label}</text>`;
}

function shown(value: number): string {
  return value >= 1 ? value.toLocaleString("en-US") : String(Number(value.toPrecision(1)));
}
