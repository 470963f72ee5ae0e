const year = "[0-9]{4}";
const leapYear = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
const days = "(0[1-9]|1[0-9]|2[0-8])";
const date = `(${year}-((0[13578]|1[02])-(${days}|29|30|31)|(0[469]|11)-(${days}|29|30)|02-${days})|${leapYear}-02-29)`;
const clock = "([01][0-9]|2[0-3]):[0-5][0-9]";

/** A time in RFC 3339, on a day that the calendar has: JavaScript reads February 31 as March 3. */
export const rfc3339 = new RegExp(`^${date}T${clock}:[0-5][0-9]([.][0-9]+)?(Z|[+-]${clock})$`);

const inAnyCase = new RegExp(rfc3339.source, "i");

/** A time in RFC 3339, in milliseconds of the wall clock; `undefined` if the text is none. */
export function timeOf(text: string): number | undefined {
  return inAnyCase.test(text) ? Date.parse(text) : undefined;
}
