// Waits until the next look at something that no event tells, in milliseconds: four, for whatever is waited for.

/** For what is expected at once, as a list that shows what an answer said. */
export const soonMs = 2000;

/** For what another object or process does next. */
export const shortlyMs = 10_000;

/** For what an event or an operation should have told long ago. */
export const seldomMs = 600_000;

/** For what only a person, or time, changes. */
export const hourlyMs = 3_600_000;
