/** Lists may lag behind what the service has answered for this long, in milliseconds. */
export const mostLagMs = 10_000;
