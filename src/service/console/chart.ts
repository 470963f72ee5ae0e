import { type Html, html } from "./html.ts";
import { hundredths } from "./labels.ts";

/** One bar of a chart. */
export interface Bar {
  /** The bar's subject, such as `14:00 UTC`. */
  label: string;
  value: number;
  /** The value in words. */
  words: string;
  /** True for a dot above the bar. */
  marked?: boolean;
}

export interface Chart {
  title: string;
  /** The chart in one sentence, for readers who cannot see it. */
  summary: string;
  bars: readonly Bar[];
  /** True if values are counts: the scale then has whole numbers only. */
  counts: boolean;
}

const [width, height] = [600, 150];
const [left, top, bottom] = [44, 8, 22];

/** A chart of bars with its scale. It needs no script: each bar says its value when it is pointed at. */
export function barChart({ title, summary, bars, counts }: Chart): Html {
  const ticks = scaleFor(Math.max(0, ...bars.map(({ value }) => value)), counts);
  const most = ticks.at(-1) ?? 1;
  const step = (width - left) / bars.length;
  const y = (value: number) => hundredths(top + (height - top - bottom) * (1 - value / most));
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${summary}">
${ticks.map(
  (tick) => html`<line x1="${left}" x2="${width}" y1="${y(tick)}" y2="${y(tick)}"></line>
<text x="${left - 6}" y="${y(tick)}" dy="4" text-anchor="end">${tick}</text>`,
)}
${bars.map(({ label, value, words, marked }, index) => {
  const x = hundredths(left + index * step);
  return html`<g><title>${label}: ${words}</title><rect class="back" x="${x}" y="${top}" width="${hundredths(step)}" height="${y(0) - top}"></rect>
<rect class="bar" x="${hundredths(x + step * 0.15)}" y="${y(value)}" width="${hundredths(step * 0.7)}" height="${hundredths(y(0) - y(value))}"></rect></g>
${marked && html`<circle cx="${hundredths(x + step / 2)}" cy="${top}" r="3"></circle>`}
${(bars.length - 1 - index) % Math.ceil(bars.length / 4) === 0 && html`<text x="${hundredths(x + step / 2)}" y="${height - 6}" text-anchor="${index === bars.length - 1 ? "end" : "middle"}">${label}</text>`}`;
})}</svg></figure>`;
}

/** The marks of a scale from zero to at least `most`: 1, 2 or 5 times a power of ten apart, and whole for counts. */
export function scaleFor(most: number, counts: boolean): number[] {
  const rough = (most > 0 ? most : 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fine = [1, 2, 5].map((times) => times * power).find((step) => step >= rough) ?? 10 * power;
  const step = counts ? Math.max(1, fine) : fine;
  const marks = Math.max(1, Math.ceil(most / step));
  // Multiples of a decimal fraction are not exact.
  return Array.from({ length: marks + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}
