// Loaded before the operator's own code into its process: its wall clock jumps ahead on SIGUSR2 and back on SIGHUP, as
// that of a machine whose time is set, while all timers and the monotonic clock go on.

const stepMs = 3_600_000;
const wallClock = Date.now.bind(Date);
let offsetMs = 0;

Date.now = () => wallClock() + offsetMs;
process.on("SIGUSR2", () => {
  offsetMs += stepMs;
});
process.on("SIGHUP", () => {
  offsetMs -= stepMs;
});
