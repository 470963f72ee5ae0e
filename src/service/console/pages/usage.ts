import { hourMs, usageByHour } from "../../computes/meter.ts";
import type { Period } from "../../store/periods.ts";
import type { Project } from "../../store/projects.ts";
import { type Bar, barChart } from "../chart.ts";
import { type Html, html } from "../html.ts";
import { counted, cuHours, hundredths, timeOfDay, usedInWords } from "../labels.ts";
import type { Visit } from "../visit.ts";

const shownHours = 24;

/** Usage of a project in the last day, by the hour: compute units, and the number of active computes. */
export function usageCharts({ context, at }: Visit, project: Project): Html {
  const hours = usageByHour(context, project, shownHours, at);
  const used = hours.map(({ computeMs }) => cuHours(computeMs));
  const total = hundredths(used.reduce((sum, one) => sum + one, 0));
  const peak = Math.max(...hours.map((hour) => hour.peak));
  return html`<div class="charts">
${barChart({
  title: "CU hours",
  summary: `${counted(total, "CU hour")} in the last ${shownHours} hours`,
  bars: hours.map((hour) => bar(hour, cuHours(hour.computeMs), usedInWords(hour.computeMs))),
  counts: false,
})}
${barChart({
  title: "Active computes",
  summary: `At most ${counted(peak, "compute")} active at one time in the last ${shownHours} hours`,
  bars: hours.map((hour) => bar(hour, hour.peak, counted(hour.peak, "compute"))),
  counts: true,
})}</div>`;
}

function bar({ index }: Period, value: number, words: string): Bar {
  return { label: timeOfDay(index * hourMs), value, words };
}
