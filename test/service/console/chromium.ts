import { type Browser, chromium } from "playwright-core";
import { programPath } from "../../support/debian.ts";

/** A browser in which nothing happens but what the test does. It begins with an empty profile. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: await programPath({
      purpose: "The tests of the console need a Chromium",
      variable: "CHROMIUM",
      path: "/usr/bin/chromium",
      package: "chromium",
    }),
    // From a cold disk, beside others that start.
    timeout: 180_000,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Pages of other sites are on this machine too.
      "--host-resolver-rules=MAP *.test 127.0.0.1",
    ],
  });
}
