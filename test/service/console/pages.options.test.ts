import { describe, expect, it } from "vitest";
import { sizeOptions, suspensionOptions, suspensionValue } from "../../../src/service/console/pages/options.ts";

/** The options of a select: the value of each, with its text where that is another, and a star where it is chosen. */
function optionsOf(html: string): string[] {
  return [...html.matchAll(/<option(?: value="([^"]+)")?( selected)?>([^<]+)/g)].map(
    ([, value, selected, text = ""]) => `${value === undefined ? text : `${value} ${text}`}${selected ? " *" : ""}`,
  );
}

describe("the sizes of a form", () => {
  const groupsOf = (free: boolean) =>
    [
      ...`<optgroup label="">${sizeOptions(2, free).toString()}`.matchAll(
        /<optgroup label="([^"]*)">([^]*?)(?=<optgroup|$)/g,
      ),
    ].map(([, label, html = ""]) => {
      const sizes = optionsOf(html);
      return [label, sizes[0], sizes.at(-1), sizes.length];
    });

  it("sizes are grouped by what autoscaling reaches on a paid plan", () => {
    expect(groupsOf(false)).toEqual([
      ["", "0.25", "16", 18],
      ["Fixed only", "18", "56", 20],
    ]);
  });

  it("sizes are grouped by what needs a paid plan on the free one", () => {
    expect(groupsOf(true)).toEqual([
      ["", "0.25", "2 *", 4],
      ["Needs a paid plan", "3", "16", 14],
      ["Paid plan, fixed only", "18", "56", 20],
    ]);
  });

  it("one size is chosen: the compute's own", () => {
    expect(optionsOf(sizeOptions(0.5, false).toString()).filter((one) => one.endsWith("*"))).toEqual(["0.5 *"]);
  });
});

describe("the choices of scale to zero", () => {
  const offered = [
    "0 after 5 minutes",
    "60 after 1 minute",
    "900 after 15 minutes",
    "1800 after 30 minutes",
    "3600 after 1 hour",
    "86400 after 1 day",
    "604800 after 7 days",
    "-1 off",
  ];
  const chosen = (value: number) => offered.map((one) => (one.startsWith(`${value} `) ? `${one} *` : one));

  it.each([0, 60, 604_800, -1])("the choices have %i chosen where the compute has it", (value) => {
    expect(optionsOf(suspensionOptions(value, false).toString())).toEqual(chosen(value));
  });

  it("the choices begin with the compute's own value where that is another", () => {
    expect(optionsOf(suspensionOptions(90, false).toString())).toEqual(["90 after 90 seconds *", ...offered]);
  });

  it.each([Number.NaN, -5])("no value that a form made up is offered, such as %d", (value) => {
    expect(optionsOf(suspensionOptions(value, false).toString())).toEqual(offered);
  });

  it("the default is chosen for its own number of seconds", () => {
    expect([300, 0, 60].map(suspensionValue)).toEqual([0, 0, 60]);
    expect(optionsOf(suspensionOptions(300, false).toString())).toEqual(chosen(0));
  });

  it("off alone is said to need a paid plan, on the free one", () => {
    expect(optionsOf(suspensionOptions(0, true).toString())).toEqual(
      chosen(0).map((one) => (one === "-1 off" ? "-1 off, needs a paid plan" : one)),
    );
  });
});
