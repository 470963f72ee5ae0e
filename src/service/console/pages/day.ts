import { lastDayOf, quarterMs } from "../../computes/meter.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { Period } from "../../store/periods.ts";
import { barChart } from "../chart.ts";
import { type Html, html } from "../html.ts";
import { counted, hundredths, timeOfDay } from "../labels.ts";
import type { Visit } from "../visit.ts";

/** The last day of a compute: its size in use, its connections, and when it was active. */
export function dayCharts({ context, at }: Visit, compute: StoredEndpoint): Html {
  const day = lastDayOf(context, compute, at);
  const sizeOf = ({ computeMs }: Period) => hundredths(computeMs / context.options.timeScale / quarterMs);
  const shareOf = ({ activeMs }: Period) => Math.min(100, Math.round((100 * activeMs) / quarterMs));
  const largest = Math.max(...day.map(sizeOf));
  const most = Math.max(...day.map(({ peak }) => peak));
  const wakes = day.reduce((sum, one) => sum + one.wakes, 0);
  const hours = hundredths(day.reduce((sum, { activeMs }) => sum + activeMs, 0) / (4 * quarterMs));
  const bars = (
    valueOf: (one: Period) => number,
    wordsOf: (one: Period) => string,
    isMarked?: (one: Period) => boolean,
  ) =>
    day.map((one) => ({
      label: timeOfDay(one.index * quarterMs),
      value: valueOf(one),
      words: wordsOf(one),
      marked: isMarked?.(one) ?? false,
    }));
  return html`<div class="charts">
${barChart({
  title: "CU on average",
  summary: `At most ${largest} CU on average in a quarter of an hour, in the last 24 hours`,
  bars: bars(sizeOf, (one) => `${sizeOf(one)} CU`),
  counts: false,
})}
${barChart({
  title: "Connections at most",
  summary: `At most ${counted(most, "connection")} at one time in the last 24 hours`,
  bars: bars(
    ({ peak }) => peak,
    ({ peak }) => counted(peak, "connection"),
  ),
  counts: true,
})}
${barChart({
  title: "Active, in percent; a dot is a wake",
  summary: `Active for ${counted(hours, "hour")} of the last 24, woken ${counted(wakes, "time")}`,
  bars: bars(shareOf, stateInWords, (one) => one.wakes > 0),
  counts: true,
})}</div>`;

  function stateInWords(one: Period): string {
    const share = shareOf(one);
    const state = share === 0 ? "idle" : share === 100 ? "active" : `active for ${share} % of the time`;
    return one.wakes === 0 ? state : `${state}, woken ${counted(one.wakes, "time")}`;
  }
}
