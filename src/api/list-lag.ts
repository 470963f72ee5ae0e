/**
 * Lists may lag behind what the service has answered for this long, in milliseconds. So a list shows what was answered
 * if it began that much later, and lists agree on a fact if the first and the last that show it are that far apart.
 */
export const mostLagMs = 10_000;
