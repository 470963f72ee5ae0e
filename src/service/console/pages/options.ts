import { computeUnitSizes, largestAutoscalingSize } from "../../../api/compute-units.ts";
import { defaultSuspend, defaultSuspendSeconds, neverSuspend } from "../../../api/scale-to-zero.ts";
import { largestFreeSize } from "../../computes/limits.ts";
import { type Html, html } from "../html.ts";
import { suspensionInWords } from "../labels.ts";
import { option } from "./parts.ts";

/** All sizes, grouped by what they require; the API decides whether one is allowed. */
export function sizeOptions(chosen: number, free: boolean): Html {
  const sized = (size: number) => html`<option${size === chosen && html` selected`}>${size}</option>`;
  const among = (least: number, most: number) =>
    computeUnitSizes.filter((size) => size > least && size <= most).map(sized);
  const reached = free ? largestFreeSize : largestAutoscalingSize;
  return html`${among(0, reached)}
${free && html`<optgroup label="Needs a paid plan">${among(reached, largestAutoscalingSize)}</optgroup>`}
<optgroup label="${free ? "Paid plan, fixed only" : "Fixed only"}">${among(largestAutoscalingSize, 56)}</optgroup>`;
}

/** Seconds offered beside the default, never, and the present value. */
const offered = [60, 900, 1800, 3600, 86_400, 604_800];

/** The option for these seconds: 300 and the default are the same. */
export function suspensionValue(seconds: number): number {
  return seconds === defaultSuspendSeconds ? defaultSuspend : seconds;
}

export function suspensionOptions(chosen: number, free: boolean): Html {
  const value = suspensionValue(chosen);
  const all = [defaultSuspend, ...offered, neverSuspend];
  const known = all.includes(value) || !(value > 0) ? all : [value, ...all];
  const words = (seconds: number) =>
    `${suspensionInWords(seconds)}${free && seconds === neverSuspend ? ", needs a paid plan" : ""}`;
  return html`${known.map((seconds) => option(seconds, words(seconds), seconds === value))}`;
}
